"""Names that `tradingbot backtest` knows, told without torch: the unknown is refused at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.domain.errors import ConfigError, require_known, suggest
from tradingbot.plugins.reference import (
    ALLOCATION_NAMES,
    ALLOCATION_PREFIX,
    MODEL_PREFIX,
    ORACLE_NAMES,
    RULE_NAMES,
    WITHOUT_PARAMETERS,
    declared_strategies,
    find_strategy,
    read_reference,
)
from tradingbot.runs import find_run, list_runs
from tradingbot.runs.finding import is_portfolio
from tradingbot.supervised.model_names import models_folder, require_model

if TYPE_CHECKING:
    from tradingbot.data.store import Dataset


def is_run(text: str) -> bool:
    """Tell whether a text names no rule, oracle, strategy or model, and hence a run.

    Raises:
        ConfigError: If parameters are not NAME=VALUE.
    """
    reference = read_reference(text)
    known = (*RULE_NAMES, *ORACLE_NAMES, *declared_strategies())
    is_other = reference.is_import or reference.model is not None
    is_other = is_other or reference.allocation is not None
    return not is_other and reference.name not in known


def is_allocation(text: str) -> bool:
    """Tell whether a text names a rule that divides capital among sleeves: `allocation:NAME`."""
    return text.startswith(ALLOCATION_PREFIX)


def is_model(text: str) -> bool:
    """Tell whether a text names a supervised model, as `model:NAME`."""
    return text.startswith(MODEL_PREFIX)


def model_reference(text: str) -> tuple[str, float | None]:
    """Return the name and the threshold of P(up) of a model; None where none is given.

    Raises:
        ConfigError: If there is another parameter, or the threshold is not in [0, 1].

    Example:
        >>> model_reference("model:trees:threshold=0.4")
        ('trees', 0.4)
    """
    reference = read_reference(text)
    given = {**reference.parameters}
    threshold = given.pop("threshold", None)
    if given:
        rule, (name, *_) = f"parameter of {reference.name} must be threshold", given
        raise ConfigError(rule, was=repr(name), remedy=f"Write e.g. {reference.name}:threshold=0.4")
    is_share = isinstance(threshold, int | float) and 0.0 <= threshold <= 1.0
    if threshold is not None and not is_share:
        rule = f"threshold of {reference.name} must lie in [0, 1]"
        raise ConfigError(rule, was=repr(threshold), remedy="P(up) is a share: write e.g. 0.4")
    return str(reference.model), None if threshold is None else float(threshold)


def require_models(names: Sequence[str], workspace: Path) -> None:
    """Refuse models that are not there, and parameters that none has.

    Raises:
        ConfigError: Naming the closest one.
    """
    for name in names:
        if is_model(name):
            require_model(models_folder(workspace), model_reference(name)[0])


def require_models_fit(
    names: Sequence[str], dataset: Dataset, workspace: Path, first_day: date | None
) -> None:
    """Refuse models that cannot trade a dataset; no tensor is read.

    Args:
        names: Of policies; those of models are asked about.
        dataset: To be traded, with a panel.
        workspace: Where panels and models are.
        first_day: Of the backtest; that of the dataset where none is given.

    Raises:
        DataError: If features differ, or bars may be among those that a model was fitted on.
        StorageError: If a manifest is missing or damaged.
    """
    models = [model_reference(name)[0] for name in names if is_model(name)]
    if not models:
        return
    from tradingbot.features.panel_manifest import read_manifest as read_panel
    from tradingbot.features.pipeline import panel_of
    from tradingbot.supervised import model_manifest

    panel, where = read_panel(panel_of(dataset, workspace)), f"dataset {dataset.id[:8]}"
    columns = (*panel.features, *panel.covariates, *panel.regimes)
    for name in models:
        manifest = model_manifest.read_manifest(models_folder(workspace), name)
        model_manifest.require_features(manifest, columns, where)
        if manifest.data.dataset_sha256 != panel.dataset_sha256:
            begins = dataset.manifest.first_closed_at.date()
            later = max(begins, first_day or begins)
            model_manifest.require_later_bars(manifest, later, where)


def require_models_later(
    names: Sequence[str],
    workspace: Path,
    market: Mapping[str, object],
    first_day: date | None,
    generated_from: date,
) -> None:
    """Refuse models that may have been fitted on bars of a generated market; none is generated.

    Args:
        names: Of policies; those of models are asked about.
        workspace: Where models are.
        market: Name, universe and seed. A model of the same three may have been fitted on these
            very bars: whether it was is told once they are generated.
        first_day: Of the backtest; that of the market where none is given.
        generated_from: First day of the market.

    Raises:
        DataError: Naming the days.
        StorageError: If a manifest is missing or damaged.
    """
    from tradingbot.supervised import model_manifest

    for name in (model_reference(name)[0] for name in names if is_model(name)):
        manifest = model_manifest.read_manifest(models_folder(workspace), name)
        own = manifest.config.get("market", {})
        if manifest.config.get("dataset") or any(own.get(k) != v for k, v in market.items()):
            where = f"synthetic market {market['name']}"
            later = max(generated_from, first_day or generated_from)
            model_manifest.require_later_bars(manifest, later, where)


def runs_among(names: Sequence[str]) -> list[str]:
    """Return the names that are runs'."""
    return [name for name in names if is_run(name)]


def _require_allocations(names: Sequence[str], portfolios: Sequence[str]) -> None:
    """Refuse unknown allocation rules, and any without a portfolio run whose sleeves they divide.

    Raises:
        ConfigError: Naming the closest rule, or what is missing.
    """
    for name in filter(is_allocation, names):
        reference = read_reference(name)
        require_known(str(reference.allocation), ALLOCATION_NAMES, "allocation rule must be known")
        if reference.parameters:
            rule = "an allocation rule must stand without parameters"
            raise ConfigError(rule, was=repr(name), remedy=f"Write {reference.name}")
        if not portfolios:
            rule = "an allocation rule must stand beside a portfolio run, whose sleeves it divides"
            remedy = "Name a run of environment.kind: portfolio, or leave the rule out"
            raise ConfigError(rule, was=repr(name), remedy=remedy)


def require_known_rules(names: Sequence[str]) -> None:
    """Refuse names and parameters that no rule, oracle or strategy has.

    Raises:
        ConfigError: Naming the closest one.
    """
    known = (*RULE_NAMES, *ORACLE_NAMES, *declared_strategies())
    for name in names:
        if is_run(name) or is_model(name) or is_allocation(name):
            remedy = suggest(name, known)
            raise ConfigError("policy must be a known one", was=repr(name), remedy=remedy)
        find_strategy(name)
        _require_parameters(name)
    _require_distinct(names)


def _require_distinct(names: Sequence[str], root: Path | None = None) -> None:
    """Refuse a policy that is named twice, in whatever words: its rows would be the same.

    Args:
        names: As they were given.
        root: Folder of the runs, whose ids may be cut short; None where no run can be named.
    """
    seen: dict[tuple[str, str], str] = {}
    ids = [folder.name for folder in list_runs(root)] if root is not None else []
    for name in names:
        reference = read_reference(name)
        key = (reference.name, repr(sorted(map(str, reference.parameters.items()))))
        if root is not None and is_run(name) and name not in ids:
            begun = [each for each in ids if each.startswith(name)]
            key = (begun[0] if len(begun) == 1 else name, key[1])
        if key in seen:
            was = repr(name) if seen[key] == name else f"{seen[key]!r} and {name!r}"
            rule = "a policy must be named once"
            raise ConfigError(rule, was=was, remedy="Leave one of them out")
        seen[key] = name


def _require_parameters(text: str) -> None:
    """Refuse parameters that a rule of the package does not have, where torch need not be asked."""
    from tradingbot.agents.baselines.price_rules import PRICE_RULES
    from tradingbot.agents.baselines.residual_reversal import ReversalConfig
    from tradingbot.plugins.declaration import configure

    reference = read_reference(text)
    rules = {**PRICE_RULES, "residual_reversal": ReversalConfig()}
    if reference.name in rules:
        configure(rules[reference.name], reference.parameters, f"rule {reference.name}")
    elif reference.name in (*ORACLE_NAMES, *WITHOUT_PARAMETERS):
        configure(None, reference.parameters, f"rule {reference.name}")


def require_known_policies(names: Sequence[str], root: Path, *, has_market: bool) -> None:
    """Refuse unknown names of policies.

    Args:
        names: Runs (id, its beginning, or folder), rules, strategies of plugins, `module:object`,
            `model:NAME`.
        root: Folder of the runs, in a workspace.
        has_market: A market to trade on is named beside them.

    Raises:
        ConfigError: If a name is neither, a strategy cannot be imported, there is nothing to trade
            on, or a run is asked to trade another market than its own.
    """
    require_models(names, root.parent)
    _require_distinct(names, root)
    runs, known = runs_among(names), [folder.name for folder in list_runs(root)]
    rules = [*RULE_NAMES, *ORACLE_NAMES, *declared_strategies()]
    for name in names:
        find_strategy(name)  # imports and parameters are refused here
        _require_parameters(name)
    for name in runs:
        is_known = "/" in name or any(each.startswith(name) for each in known)
        if has_market and is_known:
            rule = "a run must be backtested on its own data; rules alone trade another market"
            raise ConfigError(rule, was=repr(name), remedy="Leave --dataset and --market out")
        if not is_known:
            rule = "policy must be a run or a known rule"
            remedy = suggest(name, [*known, *rules])
            raise ConfigError(rule, was=repr(name), where=f"runs of {root}", remedy=remedy)
    _require_allocations(names, [name for name in runs if is_portfolio(find_run(root, name))])
    if not names or not (has_market or runs or any(map(is_model, names))):
        rule = "a backtest must have a run, or a rule and a market to trade on"
        remedy = "Add --dataset or --market, or name a run or a model"
        raise ConfigError(rule, was="neither" if not names else "rules alone", remedy=remedy)
