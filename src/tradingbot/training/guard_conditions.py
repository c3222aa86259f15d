"""Where limits of the flight recorder and settings of part of a learner act.

Read by `setting_conditions`. A limit on what a run does not have can never be passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tradingbot.training.config import TrainConfig

_HORIZON = 120
"""Steps of an environment that `guards.distinct_actions` counts in; see `guards.execution`."""
Acts = Callable[[TrainConfig], bool]


def _is_hybrid(config: TrainConfig) -> bool:
    return config.learner.name == "hybrid"


def _evolves(config: TrainConfig) -> bool:
    return "es" in config.learner.acting_sections


def _steps_of_update(config: TrainConfig) -> int:
    return config.learner.spec.steps_of_update(config.learner.settings)


def _hierarchical(config: TrainConfig) -> Any:
    return getattr(config.learner, "hierarchical_sac")  # noqa: B009 - sections are no fields


GUARD_RULES: tuple[tuple[tuple[str, ...], Acts, str], ...] = (
    (
        ("actor_lag",),
        lambda c: hasattr(c.learner.settings, "actors"),
        "learner.name must be impala",
    ),
    (
        ("one_option", "one_option_critical"),
        lambda c: c.learner.spec.takes_options,
        "learner.name must be hierarchical_sac: no other has options",
    ),
    (
        ("one_action_critical", "repeat_share", "noise_largest", "noise_gap", "undecided"),
        lambda c: c.environment.kind != "portfolio",
        "environment.kind must not be portfolio: of weights nearly all are small and the same; "
        "guards.one_sleeve says how much of the capital may lie in one sleeve",
    ),
    (
        ("one_sleeve",),
        lambda c: c.environment.kind == "portfolio",
        "environment.kind must be portfolio: no other task has sleeves",
    ),
    (("distinct_members",), _evolves, "learner.name must be es or hybrid: no other has members"),
    (
        ("stuck_episodes",),
        lambda c: c.environment.kind == "curriculum",
        "environment.kind must be curriculum",
    ),
    (("goal_success",), lambda c: c.environment.kind == "goal", "environment.kind must be goal"),
    (
        ("intrinsic_share", "intrinsic_share_critical"),
        lambda c: c.curiosity.mix > 0.0,
        "curiosity.mix must be above 0",
    ),
    (("one_objective",), lambda c: c.objectives.enabled, "objectives.enabled must be true"),
    (
        ("one_objective",),
        lambda c: c.guards.one_objective < c.objectives.max_weight,
        "objectives.max_weight must be above it: no objective weighs more",
    ),
    (
        ("distinct_actions",),
        lambda c: _steps_of_update(c) >= _HORIZON,
        f"updates must have {_HORIZON} steps of an environment or more, in which actions are "
        "counted (learner.NAME.rollout_steps or steps_per_update)",
    ),
)
"""Keys of `guards`, where they act, and what must be so for that."""
_HIERARCHICAL = "learner.hierarchical_sac."
_LOW_LEVEL = ("actor", "critic", "learning_rate", "target_normalised_entropy")
LEARNER_RULES: tuple[tuple[tuple[str, ...], Acts, str], ...] = (
    (
        tuple(f"learner.es.{key}" for key in ("actor", "act_levels", "squash_gain")),
        lambda c: not _is_hybrid(c),
        "learner.name must be es: in a hybrid the learner by gradients says what acts",
    ),
    (
        tuple(_HIERARCHICAL + key for key in _LOW_LEVEL),
        lambda c: _hierarchical(c).reach > 0.0,
        f"{_HIERARCHICAL}reach must be above 0: at 0 there is no low level",
    ),
    (
        ("options.scalp_bars",),
        lambda c: c.options.scalp_bars <= c.options.timeout_bars,
        "options.timeout_bars must be as long: every option ends then",
    ),
    (
        ("options.entry_bars",),
        lambda c: c.options.entry_bars <= c.options.timeout_bars,
        "options.timeout_bars must be as long: every option ends then",
    ),
    (
        ("curiosity.warm_up",),
        lambda c: c.curiosity.warm_up < c.budget.steps_per_agent,
        "budget.steps_per_agent must be above it: no bonus would be paid",
    ),
    (
        ("shaping.warm_up",),
        lambda c: c.shaping.warm_up < c.budget.steps_per_agent,
        "budget.steps_per_agent must be above it: nothing would be paid",
    ),
)
"""Dotted keys, where they act, and what must be so for that."""
