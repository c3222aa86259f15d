"""Every reward term, in the order in which they are stacked and logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, make_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.domain.extension import add_extension, extension_values
from tradingbot.market.maths import Maths, T
from tradingbot.plugins.declaration import DeclaredReward
from tradingbot.plugins.failing import plugin_error
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import OBJECTIVES, Bounds, RewardTerm
from tradingbot.rewards.terms import (
    cost,
    differential_sharpe,
    diversity,
    drawdown,
    hold,
    intrinsic_action,
    log_growth,
    pnl,
    repeat,
    sharpe,
    sizing,
    time_efficiency,
)

_TERMS: dict[str, RewardTerm] = {
    module.TERM.name: module.TERM
    for module in (
        pnl,
        cost,
        time_efficiency,
        sharpe,
        drawdown,
        sizing,
        hold,
        diversity,
        repeat,
        intrinsic_action,
        log_growth,
        differential_sharpe,
    )
}


def registered_terms() -> Mapping[str, RewardTerm]:
    """Return every term by name, in order; those of plugins and programs after the package's.

    Raises:
        ConfigError: If a declared term has the name of one of the package's.
    """
    declared = extension_values("reward_term", _TERMS)
    own = {
        name: each if isinstance(each, RewardTerm) else _term(each)
        for name, each in declared.items()
    }
    return MappingProxyType({**_TERMS, **own})


def register(term: RewardTerm) -> RewardTerm:
    """Add a term of your own, after the others.

    Raises:
        ConfigError: If another term has that name.
    """
    known = registered_terms().get(term.name)
    if known is not None and known is not term:
        raise ConfigError(
            "a reward term must have a name of its own", was=term.name, remedy="Rename it"
        )
    if known is None:
        add_extension("reward_term", term.name, term)
    return term


def reward_term(name: str) -> RewardTerm:
    """Find a term by name.

    Raises:
        ConfigError: If there is none, with a suggestion.
    """
    known = registered_terms()
    if name not in known:
        raise ConfigError(
            "a reward term must be registered", was=repr(name), remedy=suggest(name, known)
        )
    return known[name]


@cache
def _term(declared: DeclaredReward) -> RewardTerm:
    """Make a declared term one of ours; its options are the keyword parameters of its function."""

    def formula(step: RewardInputs[T], options: Any, xp: Maths[T]) -> T:
        try:
            return declared.formula(step, xp, **asdict(options))  # type: ignore[no-any-return]
        except Exception as e:
            raise plugin_error(f"reward term {declared.name} must be computed", e) from e

    bounds = Bounds(declared.low, declared.high)
    fields = [(name, type(value), value) for name, value in declared.options.items()]
    options = make_dataclass(
        f"{declared.name}_options",
        fields,
        frozen=True,
        namespace={"bounds": property(lambda _: bounds)},
    )
    objective = declared.objective
    if objective not in OBJECTIVES:
        raise ConfigError(
            f"objective must be one of {', '.join(OBJECTIVES)}",
            was=repr(objective),
            where=f"reward term {declared.name}",
        )
    return RewardTerm(declared.name, declared.version, formula, options, objective)
