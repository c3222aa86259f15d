"""Every reward term, in the order in which they are stacked and logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, make_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.domain.extension import add_extension, extension_values
from tradingbot.market.maths import Maths, T
from tradingbot.plugins.declaration import DeclaredReward
from tradingbot.plugins.loading import plugin_error
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import OBJECTIVES, Bounds, Objective, RewardTerm, TermOptions
from tradingbot.rewards.terms import activity, exploration, profit, risk, timing

_PACKAGED: tuple[tuple[Objective, int, Any, type[TermOptions]], ...] = (
    ("profit", 1, profit.pnl, profit.PnlOptions),
    ("profit", 1, profit.cost, profit.CostOptions),
    ("timing", 1, timing.time_efficiency, timing.TimeEfficiencyOptions),
    ("risk", 1, risk.sharpe, risk.SharpeOptions),
    ("risk", 1, risk.drawdown, risk.DrawdownOptions),
    ("risk", 1, risk.sizing, risk.SizingOptions),
    ("activity", 1, activity.hold, activity.HoldOptions),
    ("exploration", 1, exploration.diversity, exploration.DiversityOptions),
    ("activity", 1, activity.repeat, activity.RepeatOptions),
    ("exploration", 1, exploration.intrinsic_action, exploration.IntrinsicActionOptions),
    ("profit", 1, profit.log_growth, profit.LogGrowthOptions),
    ("risk", 1, risk.differential_sharpe, risk.DifferentialSharpeOptions),
    ("profit", 1, profit.roi, profit.RoiOptions),
    ("risk", 1, risk.loss, risk.LossOptions),
    ("activity", 1, activity.frequency, activity.FrequencyOptions),
    ("exploration", 1, exploration.novelty, exploration.NoveltyOptions),
)
"""Objective, version, formula, whose name is the term's, and options."""
_TERMS = {
    formula.__name__: RewardTerm(formula.__name__, version, formula, options, objective)
    for objective, version, formula, options in _PACKAGED
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
    return known[require_known(name, known, "a reward term must be registered")]


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
    title, namespace = f"{declared.name}_options", {"bounds": property(lambda _: bounds)}
    options = make_dataclass(title, fields, frozen=True, namespace=namespace)
    objective = declared.objective
    if objective not in OBJECTIVES:
        rule = f"objective must be one of {', '.join(OBJECTIVES)}"
        raise ConfigError(rule, was=repr(objective), where=f"reward term {declared.name}")
    return RewardTerm(declared.name, declared.version, formula, options, objective)
