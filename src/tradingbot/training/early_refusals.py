"""What is wrong with a training that is asked for, as far as it can be told without torch.

Everything here is checked again, and more, where it is used; importing what uses it takes seconds.
Each check imports what it needs itself: the first mistake is told before polars is imported, where
it has nothing to do with data.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.configuration.part_names import (
    require_cost_rates,
    require_costs,
    require_encoder,
    require_private,
    require_reward,
    require_reward_options,
    require_reward_terms,
)
from tradingbot.domain.errors import (
    DataError,
    UserError,
    suggest,
)
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.supervised.model_names import NO_MODEL, models_folder, require_model, split_models
from tradingbot.training.config import TaskSection, TrainConfig
from tradingbot.training.environment_rules import require_sleeve_rule

if TYPE_CHECKING:
    from tradingbot.data.store import Dataset


def refuse_early(
    config: TrainConfig, workspace: Path, name: str | None = None, *, symbols_of: str = ""
) -> None:
    """Refuse a training whose data, parts, name or place are not there.

    Args:
        config: Of a run that is to begin.
        workspace: Where it will be.
        name: Its id; None: one is made.
        symbols_of: Preset or file that says which symbols get an agent; empty where an option does.

    Raises:
        UserError: Saying what is not as it must be, and what to do.
    """
    if name is not None:
        from tradingbot.runs.names import require_new_name

        require_new_name(workspace / "runs", name)
    refuse_parts_early(config)
    if config.encoder.transfer_from is not None:
        _require_source(config.encoder.transfer_from, workspace)
    if config.environment.kind == "portfolio":
        _require_sleeves(config.environment.portfolio.sleeves, workspace)
    if config.task.probabilities != NO_MODEL:
        for model in split_models(config.task.probabilities):
            require_model(models_folder(workspace), model)
    refuse_data_early(config, workspace, symbols_of)
    from tradingbot.data.atomic import require_writable
    from tradingbot.training.tracking import require_trackers

    require_writable(workspace)
    require_trackers(config)


def refuse_parts_early(config: TrainConfig) -> None:
    """Refuse names of costs, rewards, private numbers and encoders that there are not.

    Raises:
        UserError: Naming the setting.
    """
    task: TaskSection = config.task
    require_costs(task.costs, "task.costs")
    require_cost_rates(task.cost_rates, "task.cost_rates")
    require_reward(task.reward, "task.reward")
    require_reward_terms(task.reward_weights, "task.reward_weights")
    require_reward_options(task.reward_options, "task.reward_options")
    require_private(task.private, "task.private")
    require_encoder(config.encoder.preset, "encoder.preset")


def _require_sleeves(sleeves: str, workspace: Path) -> None:
    """Refuse sleeves that neither a rule of the package nor a run of accounts can trade."""
    from tradingbot.plugins.reference import RUN_PREFIX
    from tradingbot.runs import find_run
    from tradingbot.runs.finding import require_single_accounts

    require_sleeve_rule(sleeves)
    if sleeves.startswith(RUN_PREFIX):
        require_single_accounts(find_run(workspace / "runs", sleeves.removeprefix(RUN_PREFIX)))


def _require_source(reference: str, workspace: Path) -> None:
    """Refuse a run or a model to take an encoder of that is not there."""
    from tradingbot.plugins.reference import MODEL_PREFIX
    from tradingbot.runs import find_run

    if reference.startswith(MODEL_PREFIX):
        require_model(models_folder(workspace), reference.removeprefix(MODEL_PREFIX))
    else:
        find_run(workspace / "runs", reference)


def require_certified(
    dataset: Dataset, workspace: Path, name: str, feature_set: FeatureSet = "default"
) -> None:
    """Refuse a dataset whose panel is not built or not proved; no tensor is read.

    Raises:
        UserError: With the command that builds or proves it, by the name that was given.
    """
    from tradingbot.features.panel_manifest import read_certificate
    from tradingbot.features.pipeline import panel_of

    try:
        read_certificate(panel_of(dataset, workspace, feature_set))
    except UserError as e:
        chosen = name if feature_set == "default" else f"{name} --features {feature_set}"
        remedy = (e.remedy or "").replace(dataset.id, chosen)
        raise type(e)(e.rule, was=e.was, where=e.where, remedy=remedy) from e


def refuse_data_early(config: TrainConfig, workspace: Path, symbols_of: str = "") -> None:
    """Refuse a dataset or market that is not there, and symbols that it does not have.

    Args:
        config: Of a run that is to begin.
        workspace: Where it will be.
        symbols_of: See `refuse_early`.

    Raises:
        UserError: Saying which.
    """
    if config.dataset is not None:
        from tradingbot.data.store import BarStore

        dataset = BarStore(workspace).open(config.dataset)
        known = dataset.manifest.symbols
        require_certified(dataset, workspace, config.dataset, config.features)
    else:
        from tradingbot.data.synthetic.registry import market, parse_params
        from tradingbot.data.universes import load_universe

        parse_params(market(config.market.name), config.market.params)
        known = load_universe(config.market.universe).symbols
    for symbol in config.symbols:
        if symbol not in known:
            said = f"symbols, which {symbols_of} says" if symbols_of else "symbols"
            raise DataError(
                "symbols that get an agent must be in the data",
                was=repr(symbol),
                where=said,
                remedy=f"Take all of the data with --set symbols=[], or some with --symbols. "
                f"{suggest(symbol, known)}",
            )
