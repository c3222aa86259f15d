"""Where settings act, and what must be so for that: read by `inert_settings`."""

from __future__ import annotations

from collections.abc import Callable

from tradingbot.domain.errors import join_choices
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.direct.config import DEVIATIONS_OF_BEFORE, DirectConfig
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.training.condition import Condition
from tradingbot.training.config import TrainConfig
from tradingbot.training.guard_conditions import (
    GUARD_RULES,
    LEARNER_RULES,
    cannot_fire,
    rules_can_fire,
)
from tradingbot.training.schedule_conditions import schedule_conditions
from tradingbot.training.tool_conditions import TOOLS

_RELABELLING = ("sac", "hierarchical_sac")
"""Learners that can relabel goals."""


def _has_encoder(config: TrainConfig) -> bool:
    return config.encoder.preset != "row"


def pretrains(config: TrainConfig) -> bool:
    """Tell whether an encoder is pre-trained when the run begins."""
    encoder = config.encoder
    return _has_encoder(config) and encoder.pretrain and encoder.transfer_from is None


def _not_beside(config: TrainConfig) -> str:
    """Say what must be so for auxiliary tasks to be learned beside the agents; empty: it is."""
    if not (_has_encoder(config) and config.encoder.trainable):
        return "encoder.trainable must be true and encoder.preset not row: no encoder learns"
    able = [name for name in known_learners() if learner_spec(name).takes_auxiliary]
    name = config.learner.name
    return "" if name in able else f"learner.name must be {join_choices(able)}, is {name}"


def _space(config: TrainConfig) -> str:
    return config.task.rules.action.space


def _ppo(config: TrainConfig) -> PPOConfig:
    found: PPOConfig = getattr(config.learner, "ppo")  # noqa: B009 - sections are no fields
    return found


def _direct(config: TrainConfig) -> DirectConfig:
    found: DirectConfig = getattr(config.learner, "direct")  # noqa: B009 - sections are no fields
    return found


def _of_learner(name: str) -> Condition:
    return Condition(
        (f"learner.{name}.",),
        lambda config: name in config.learner.acting_sections,
        lambda config: f"learner.name must be {name}, is {config.learner.words}",
        is_alternative=True,
    )


def _of_relabelling(name: str) -> Condition:
    return Condition(
        (f"learner.{name}.hindsight.n_goals",),
        lambda config: getattr(config.learner, name).hindsight.strategy != "off",
        _says(f"learner.{name}.hindsight.strategy must not be off"),
    )


def _of_environment(kind: str) -> Condition:
    return Condition(
        (f"environment.{kind}.",),
        lambda config: config.environment.kind == kind,
        lambda config: f"environment.kind must be {kind}, is {config.environment.kind}",
        is_alternative=True,
    )


def _says(words: str) -> Callable[[TrainConfig], str]:
    return lambda _: words


_ACTION = "task.rules.action."
_CODES = (
    *("entry_fracs", "sell_partial_frac", "add_frac", "max_adds"),
    *("add_min_profit_frac", "max_repeats"),
)
_ADAPTING = ("scale", "max_factor", "floor", "warm_up", "decay")
_GUARD = ("warm_up", "boost", "max_boost", "cooldown", "patience", "halts")
_CONDITIONS: tuple[Condition, ...] = (
    Condition(
        ("task.reward", "task.reward_weights.", "task.reward_options."),
        lambda config: config.learner.spec.learns_reward(config.learner.settings),
        lambda config: (
            f"learner.{config.learner.name}.objective must be reward for the learner to learn from "
            f"it, is {config.learner.settings.objective}"
        ),
    ),
    Condition(
        ("task.reward", "task.reward_weights.", "task.reward_options."),
        lambda config: config.environment.kind not in ("goal", "portfolio"),
        lambda config: (
            f"environment.kind must not be {config.environment.kind}: its reward is paid instead"
        ),
    ),
    Condition(
        ("task.neutral_bars",),
        lambda config: config.environment.kind in ("population", "curriculum"),
        lambda config: (
            f"environment.kind must not be {config.environment.kind}: what its agents aim for has "
            "the market in it"
        ),
    ),
    Condition(
        ("budget.recency",),
        lambda config: config.environment.kind != "portfolio",
        _says("environment.kind must not be portfolio: its episodes begin anywhere"),
    ),
    Condition(
        ("task.private",),
        lambda config: config.environment.kind != "portfolio",
        _says("environment.kind must not be portfolio: its agent sees all accounts"),
    ),
    Condition(
        ("pretraining.",), pretrains, _says("an encoder must be pre-trained: see encoder.preset")
    ),
    Condition(("auxiliary.weight",), lambda config: not _not_beside(config), _not_beside),
    Condition(
        ("auxiliary.",),
        lambda config: config.auxiliary.weight > 0.0,
        _says("auxiliary.weight must be above 0"),
    ),
    *(Condition((f"{tool.section}.",), tool.is_on, _says(tool.turned_on)) for tool in TOOLS),
    *(
        Condition((f"{tool.section}.",), rule.acts, rule.needs)
        for tool in TOOLS
        for rule in tool.rules
    ),
    Condition(
        ("encoder.trainable",), _has_encoder, _says("encoder.preset must have weights, is row")
    ),
    Condition(
        ("cloning.",),
        lambda config: config.cloning.enabled,
        _says("cloning.enabled must be true"),
    ),
    Condition(
        ("scaling.",),
        lambda config: config.dataset is not None,
        _says("a dataset must be learned from: generated markets have a scaler of their own"),
    ),
    Condition(
        ("market.",),
        lambda config: config.dataset is None,
        _says("no dataset must be named: its bars are learned from"),
        is_alternative=True,
    ),
    Condition(
        (
            "task.cost_rates.borrow_frac_per_bar",
            "task.rules.limits.margin_frac",
            "task.rules.account.maintenance_frac",
        ),
        lambda config: config.task.rules.limits.allow_short,
        _says("task.rules.limits.allow_short must be true"),
    ),
    Condition(
        (f"{_ACTION}hold_zone",),
        lambda config: _space(config) == "continuous",
        _says(f"{_ACTION}space must be continuous"),
    ),
    Condition(
        (f"{_ACTION}smoothing_bars", "learner.ppo.min_std"),
        lambda config: _space(config) != "discrete",
        _says(f"{_ACTION}space must be continuous or target"),
    ),
    Condition(
        (*(f"{_ACTION}{key}" for key in _CODES), "guards.executed_gap", "guards.violations"),
        lambda config: _space(config) == "discrete",
        _says(f"{_ACTION}space must be discrete"),
    ),
    Condition(
        tuple(f"learner.ppo.entropy.guard_{key}" for key in _GUARD),
        lambda config: _ppo(config).entropy.guard_entropy > 0.0,
        _says("learner.ppo.entropy.guard_entropy must be above 0"),
    ),
    Condition(
        tuple(f"learner.ppo.entropy.{key}" for key in _ADAPTING),
        lambda config: _ppo(config).entropy.target > 0.0,
        _says("learner.ppo.entropy.target must be above 0"),
    ),
    Condition(
        tuple(f"learner.direct.{key}" for key in ("deviation_penalty", *DEVIATIONS_OF_BEFORE)),
        lambda config: _direct(config).actor.pooling == "partial",
        _says("learner.direct.actor.pooling must be partial"),
    ),
    Condition(
        tuple(f"learner.{name}.hindsight.strategy" for name in _RELABELLING),
        lambda config: config.environment.kind == "goal",
        lambda config: f"environment.kind must be goal, is {config.environment.kind}",
    ),
    *(_of_relabelling(name) for name in _RELABELLING),
    Condition(
        ("environment.goal.credit_range_frac",),
        lambda config: config.environment.goal.reward == "partial",
        _says("environment.goal.reward must be partial"),
    ),
    Condition(
        ("environment.portfolio.joint.",),
        lambda config: config.environment.portfolio.joint.rate > 0.0,
        _says("environment.portfolio.joint.rate must be above 0"),
    ),
    Condition(
        ("environment.curriculum.levels", "environment.curriculum.difficulty."),
        lambda config: config.environment.curriculum.adaptive,
        _says("environment.curriculum.adaptive must be true"),
    ),
    Condition(
        ("options.",),
        lambda config: config.learner.spec.takes_options,
        lambda config: f"learner.name must be hierarchical_sac, is {config.learner.name}",
        is_alternative=True,
    ),
    *(
        Condition(tuple(f"guards.{key}" for key in keys), acts, _says(needs))
        for keys, acts, needs in GUARD_RULES
    ),
    Condition(("guards.interventions.by_rule",), rules_can_fire, cannot_fire),
    *(Condition(keys, acts, _says(needs)) for keys, acts, needs in LEARNER_RULES),
    *(_of_environment(kind) for kind in ("curriculum", "goal", "portfolio")),
)
"""What depends on what, whatever learners there are; see docs/reference/settings.md."""


def setting_conditions() -> tuple[Condition, ...]:
    """Return what depends on what; every learner of the catalogue has a section of its own."""
    own = (_of_learner(name) for name in known_learners())
    return (*_CONDITIONS, *own, *schedule_conditions())
