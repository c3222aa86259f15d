"""Phase master: one agent over the agents of the full run, and what its gates ask for."""

from __future__ import annotations

from datetime import date

from tradingbot.campaign.request import CampaignRequest
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.gates.measurement import Finding
from tradingbot.evaluation.performance.record import AGENTS, HOLD
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config
from tradingbot.training.result_file import TrainResult

NO_MASTER = "none"
_SLEEVES = "environment.portfolio.sleeves"
_DAYS_A_YEAR = 365.25


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
        "dataset": request.dataset,
        "symbols": list(symbols),
        "seed": own.seed,
        "device": own.device,
        _SLEEVES: f"run:{request.run_name('full')}",
    }
    config = load_train_config(request.master, options)
    if config.environment.kind != "portfolio":
        rule = "preset of the master must have environment.kind: portfolio"
        raise ConfigError(rule, was=config.environment.kind, where=request.master)
    return config


def master_figures(result: TrainResult) -> dict[str, Finding]:
    """Return what a master's training says of it on test, under the names of the gates."""
    test = result.parts[-1]
    master, fixed = test.policy(AGENTS), test.policy(HOLD)
    if master is None or fixed is None:
        return {}
    days = (date.fromisoformat(test.last_day) - date.fromisoformat(test.first_day)).days
    years = max(days, 1) / _DAYS_A_YEAR
    gains = [(1.0 + each.total_return_frac) ** (1.0 / years) for each in (master, fixed)]
    cash = "shares of cash are not measured yet: a training keeps none"
    return {
        "master_over_fixed_frac": gains[0] - gains[1],
        "master_sharpe_annual": master.sharpe_annual,
        "master_drawdown_frac": master.max_drawdown_frac,
        "master_most_cash_frac": cash,
        "master_least_cash_frac": cash,
    }
