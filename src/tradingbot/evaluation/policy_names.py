"""Names that `tradingbot backtest` knows, told without torch: the unknown is refused at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.plugins.reference import (
    ORACLE_NAMES,
    RULE_NAMES,
    WITHOUT_PARAMETERS,
    declared_strategies,
    find_strategy,
    read_reference,
)
from tradingbot.runs import list_runs


def is_run(text: str) -> bool:
    """Tell whether a text names no rule, oracle or strategy, and hence a run.

    Raises:
        ConfigError: If parameters are not NAME=VALUE.
    """
    reference = read_reference(text)
    known = (*RULE_NAMES, *ORACLE_NAMES, *declared_strategies())
    return not reference.is_import and reference.name not in known


def runs_among(names: Sequence[str]) -> list[str]:
    """Return the names that are runs'."""
    return [name for name in names if is_run(name)]


def require_known_rules(names: Sequence[str]) -> None:
    """Refuse names and parameters that no rule, oracle or strategy has.

    Raises:
        ConfigError: Naming the closest one.
    """
    known = (*RULE_NAMES, *ORACLE_NAMES, *declared_strategies())
    for name in names:
        if is_run(name):
            remedy = suggest(name, known)
            raise ConfigError("policy must be a known one", was=repr(name), remedy=remedy)
        find_strategy(name)
        _require_parameters(name)


def _require_parameters(text: str) -> None:
    """Refuse parameters that a rule of the package does not have, where torch need not be asked."""
    from tradingbot.agents.baselines.price_rules import PRICE_RULES
    from tradingbot.plugins.declaration import configure

    reference = read_reference(text)
    if reference.name in PRICE_RULES:
        configure(PRICE_RULES[reference.name], reference.parameters, f"rule {reference.name}")
    elif reference.name in (*ORACLE_NAMES, *WITHOUT_PARAMETERS):
        configure(None, reference.parameters, f"rule {reference.name}")


def require_known_policies(names: Sequence[str], root: Path, *, has_market: bool) -> None:
    """Refuse unknown names of policies.

    Args:
        names: Runs (id, its beginning, or folder), rules, strategies of plugins, `module:object`.
        root: Folder of the runs.
        has_market: A market to trade on is named beside them.

    Raises:
        ConfigError: If a name is neither, a strategy cannot be imported, there is nothing to trade
            on, or a run is asked to trade another market than its own.
    """
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
    if not names or not (has_market or runs):
        rule = "a backtest must have a run, or a rule and a market to trade on"
        remedy = "Add --dataset or --market, or name a run"
        raise ConfigError(rule, was="neither" if not names else "rules alone", remedy=remedy)
