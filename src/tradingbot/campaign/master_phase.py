"""Phase master: one agent over the agents of the full run, on the same bars, parts and scale."""

from __future__ import annotations

from tradingbot.campaign.request import CampaignRequest
from tradingbot.domain.errors import ConfigError
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config
from tradingbot.training.sleeve_settings import data_settings

_SLEEVES = "environment.portfolio.sleeves"


def master_config(request: CampaignRequest, symbols: tuple[str, ...]) -> TrainConfig:
    """Return the configuration of the master: its preset, over the agents and data of a campaign.

    Args:
        request: The campaign.
        symbols: Of its full run; none: all.

    Raises:
        ConfigError: If the preset is unknown, or cannot have the agents of a run as sleeves.
    """
    own = request.config
    options = {
        **data_settings(own),
        "symbols": list(symbols),
        "task.costs": own.task.costs,
        "task.cost_rates": dict(own.task.cost_rates),
        "task.rules.limits.allow_short": own.task.rules.limits.allow_short,
        "seed": own.seed,
        "device": own.device,
        _SLEEVES: f"run:{request.run_name('full')}",
    }
    return require_portfolio(load_train_config(request.master, options), request.master)


def require_portfolio(config: TrainConfig, preset: str) -> TrainConfig:
    """Refuse a preset of the master that is no portfolio's.

    Raises:
        ConfigError: Saying what it trains.
    """
    if config.environment.kind != "portfolio":
        raise ConfigError(
            "preset of the master must have environment.kind: portfolio",
            was=config.environment.kind,
            where=preset,
            remedy="Use --master master, a preset that extends it, or --master none",
        )
    return config
