"""Every reward term, in the order in which they are stacked and logged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.rewards.term import RewardTerm
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
    """Return every term by name, in order."""
    return MappingProxyType(_TERMS)


def register(term: RewardTerm) -> RewardTerm:
    """Add a term of your own, after the others.

    Raises:
        ConfigError: If another term has that name.
    """
    if _TERMS.setdefault(term.name, term) is not term:
        raise ConfigError(
            "a reward term must have a name of its own", was=term.name, remedy="Rename it"
        )
    return term


def reward_term(name: str) -> RewardTerm:
    """Find a term by name.

    Raises:
        ConfigError: If there is none, with a suggestion.
    """
    if name not in _TERMS:
        raise ConfigError(
            "a reward term must be registered", was=repr(name), remedy=suggest(name, _TERMS)
        )
    return _TERMS[name]
