"""Where limits of the flight recorder and settings of part of a learner act.

Read by `setting_conditions`. A limit on what a run does not have can never be passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tradingbot.learning.guards.config import RESPONSES, Response
from tradingbot.training.config import TrainConfig

_HORIZON = 120
"""Steps of an environment that `guards.distinct_actions` counts in; see `guards.execution`."""
Acts = Callable[[TrainConfig], bool]
_FIRST = ("on_warning", "on_critical", "by_rule")
"""Keys of `guards.interventions` that say what a verdict is answered with first."""


def _is_hybrid(config: TrainConfig) -> bool:
    return config.learner.name == "hybrid"


def _evolves(config: TrainConfig) -> bool:
    return "es" in config.learner.acting_sections


def _steps_of_update(config: TrainConfig) -> int:
    return config.learner.spec.steps_of_update(config.learner.settings)


def _hierarchical(config: TrainConfig) -> Any:
    return getattr(config.learner, "hierarchical_sac")  # noqa: B009 - sections are no fields


def _tells_entropy(config: TrainConfig) -> bool:
    return config.learner.spec.tells_entropy


def _asked(config: TrainConfig) -> set[Response]:
    """Return the responses that verdicts begin with, none beyond the strongest that is allowed."""
    rules = config.guards.interventions
    most = RESPONSES.index(rules.strongest)
    first = (rules.on_warning, rules.on_critical, *(response for _, response in rules.by_rule))
    return {RESPONSES[min(RESPONSES.index(each), most)] for each in first}


def _goes_as_far_as(response: Response) -> Acts:
    return lambda c: RESPONSES.index(c.guards.interventions.strongest) >= RESPONSES.index(response)


def _pauses(config: TrainConfig) -> bool:
    # Where a pause is the strongest response, what does not help ends there too.
    return "pause" in _asked(config) or config.guards.interventions.strongest == "pause"


GUARD_RULES: tuple[tuple[tuple[str, ...], Acts, str], ...] = (
    (
        ("actor_lag",),
        lambda c: hasattr(c.learner.settings, "actors"),
        "learner.name must be impala",
    ),
    (
        ("actor_lag",),
        lambda c: getattr(c.learner.settings, "asynchronous", True) or c.guards.actor_lag < 1.0,
        "learner.impala.asynchronous must be true: every actor else is one update behind, no more",
    ),
    (
        ("low_entropy", "low_entropy_critical", "entropy_fall", "entropy_fall_updates"),
        _tells_entropy,
        "learner.name must be one that tells an entropy: direct draws no lots",
    ),
    (
        ("interventions.pause_steps",),
        _pauses,
        "guards.interventions.on_critical must be pause, or by_rule ask for one: nothing does",
    ),
    (
        ("interventions.boost_factor", "interventions.max_boost"),
        lambda c: bool({"boost_entropy", "pause"} & _asked(c)),
        "guards.interventions.strongest must be boost_entropy or more, and a response one that "
        "boosts: none does",
    ),
    (
        ("interventions.cooldown_steps", *(f"interventions.{key}" for key in _FIRST)),
        _goes_as_far_as("boost_entropy"),
        "guards.interventions.strongest must be more than warn",
    ),
    (
        ("interventions.roll_back_share", "interventions.roll_back_entropy"),
        _goes_as_far_as("roll_back"),
        "guards.interventions.strongest must be roll_back or halt: below them only weights that "
        "are not finite take a run back, whatever their agents' number",
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
_LIMIT_OF = {
    "ACTORS_LAG": "actor_lag",
    "CURRICULUM_STUCK": "stuck_episodes",
    "ENTROPY_FALLS": "entropy_fall",
    "GOALS_MISSED": "goal_success",
    "INTRINSIC_DOMINATES": "intrinsic_share",
    "LOW_ENTROPY": "low_entropy",
    "ONE_OBJECTIVE": "one_objective",
    "ONE_OPTION": "one_option",
    "ONE_SLEEVE": "one_sleeve",
    "POPULATION_COLLAPSED": "distinct_members",
}
"""Code of a rule that not every run can break → its limit in `guards`."""


def rules_can_fire(config: TrainConfig) -> bool:
    """Tell whether every rule that `by_rule` names can find anything in such a run."""
    return not _silent(config)


def cannot_fire(config: TrainConfig) -> str:
    """Say which rule cannot, and what must be so for it to."""
    code, needs = _silent(config)[0]
    return f"{code} can never be told: {needs}"


def _silent(config: TrainConfig) -> list[tuple[str, str]]:
    return [
        (code, needs)
        for code, _ in config.guards.interventions.by_rule
        for keys, acts, needs in GUARD_RULES
        if _LIMIT_OF.get(code) in keys and not acts(config)
    ]


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
