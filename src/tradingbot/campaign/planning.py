"""From what was asked for to a campaign: which dataset, which preset; no torch is imported.

A name is that of a stored dataset first, else that of a training preset, whose market is generated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tradingbot.campaign.master_phase import require_portfolio
from tradingbot.campaign.request import NO_MASTER, CampaignRequest, campaign_config
from tradingbot.configuration.files import known_presets
from tradingbot.data.atomic import require_writable
from tradingbot.data.quality.registry import require_error_codes
from tradingbot.data.sources.files import FileImport
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import require_known
from tradingbot.evaluation.gates.gates_file import load_gates, read_benches
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import DEFAULT_PRESET, load_train_config
from tradingbot.training.early_refusals import refuse_early

MASTER_PRESET = "master"
_GENERATED = "-market"
"""What a generated dataset is called after the campaign's name."""
_SEED = 0
"""Of a campaign for which neither options nor preset name one."""


@dataclass(frozen=True)
class CampaignOptions:
    """A campaign as it was asked for."""

    name: str
    subject: str | None
    """Dataset or preset."""
    preset: str | None
    bars: FileImport | None
    options: Mapping[str, object]
    """Keys and values laid over the preset."""
    evaluation: str = "full"
    evaluation_options: Mapping[str, object] | None = None
    accept: tuple[str, ...] = ()
    tune_trials: int = 0
    master: str = MASTER_PRESET
    gates: str = "product"
    benches: tuple[Path, ...] = ()


def plan_campaign(asked: CampaignOptions, workspace: Path) -> CampaignRequest:
    """Find dataset and preset, and refuse what can be refused without torch.

    Raises:
        UserError: Saying what is not as it must be, and what to do.
    """
    accept = require_error_codes(asked.accept)
    dataset, preset, generates = _choose_data(asked, workspace)
    options = dict(asked.options)
    config = campaign_config(preset, options, dataset, generates=generates)
    if config.seed is None:  # a campaign that goes on must have the seed that it began with
        options["seed"] = _SEED
        config = campaign_config(preset, options, dataset, generates=generates)
    _refuse_early(asked, config, workspace, generates=generates)
    if asked.tune_trials:
        _refuse_tuning_early(config, options)
    own = asked.evaluation_options or {}
    load_evaluate_config(asked.evaluation, own, {key: f"--evaluate {key}" for key in own})
    load_gates(asked.gates)
    read_benches(asked.benches)
    if asked.master not in (MASTER_PRESET, NO_MASTER):
        require_portfolio(load_train_config(asked.master), asked.master)
    require_writable(workspace)
    return CampaignRequest(
        name=asked.name,
        config=config,
        preset=preset,
        options=tuple(options.items()),
        bars=asked.bars,
        generates=generates,
        accept=accept,
        evaluation=asked.evaluation,
        evaluation_options=tuple(own.items()),
        gates=asked.gates,
        benches=asked.benches,
        tune_trials=asked.tune_trials,
        master=asked.master,
    )


def _choose_data(asked: CampaignOptions, workspace: Path) -> tuple[str, str, bool]:
    """Return the dataset, the preset, and whether its market is generated."""
    known, stored = known_presets("training"), BarStore(workspace).names()
    named = asked.subject if asked.subject in known else None
    preset = asked.preset or named or DEFAULT_PRESET
    if asked.bars is not None or (asked.subject is not None and asked.subject in stored):
        return asked.subject or asked.name, preset, False
    if asked.subject is not None and named is None:
        rule = "what is run must be a stored dataset or a training preset"
        require_known(asked.subject, [*stored, *known], rule)
    return f"{asked.name}{_GENERATED}", preset, True


def _refuse_tuning_early(config: TrainConfig, options: Mapping[str, object]) -> None:
    """Refuse a search that cannot be made, or would overrule what was said."""
    from tradingbot.campaign.tuning_phase import space_of
    from tradingbot.tuning.optuna_study import require_optuna
    from tradingbot.tuning.space_check import refuse_tuned, require_tunable

    space = space_of(config)
    refuse_tuned(options, space)
    require_tunable(config, space)
    require_optuna()


def _refuse_early(
    asked: CampaignOptions, config: TrainConfig, workspace: Path, *, generates: bool
) -> None:
    """Refuse parts of the training that are not there; its panel may come into being later."""
    unread: dict[str, object] = {}
    if not generates:
        unread = {"symbols": ()}  # what bars hold is known when they are read
    if not generates and asked.bars is None:
        symbols = BarStore(workspace).open(config.dataset or "").manifest.symbols
        for symbol in config.symbols:
            require_known(symbol, symbols, "symbols that get an agent must be in the data")
    bare = config.model_copy(update={"dataset": None, **unread})
    refuse_early(bare, workspace)
