"""What settings of a learner and the budget have to do with each other.

Schedules count steps, and so does the budget: one that is written apart from the other lets a
learner go on at rate 0, or end in the middle of its decay.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tradingbot.configuration.conflicts import place_conflict
from tradingbot.configuration.files import place_of
from tradingbot.configuration.yaml_reader import KeyPath, Place
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.schedules import Schedule
from tradingbot.training.config import BudgetSection, TrainConfig

FOLLOWS_BUDGET = "budget"
"""What `over` of a schedule says to end with the budget; `60 % of budget` ends before."""
_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?) ?% of budget")
FEWEST_UPDATES = 2
_RATE = "learning_rate"


def resolve_schedules(values: Mapping[str, Any]) -> dict[str, Any]:
    """Write the number of steps where a schedule of a learner follows the budget.

    `over: budget` does, and so does a schedule that is made to move, and a learning rate that moves
    anyway, of which no `over` is said.

    Args:
        values: Of a configuration, not yet checked; what is malformed is left as it is.
    """
    learner = values.get("learner", {})
    if not isinstance(learner, Mapping):
        return dict(values)
    sections = {name: learner.get(name, {}) for name in known_learners()}
    steps = _steps(values.get("budget"))
    resolved = {
        name: _resolve(_with_lengths(section, learner_spec(name).config()), steps)
        for name, section in sections.items()
        if isinstance(section, Mapping)
    }
    return {**values, "learner": {**learner, **resolved}}


def check_budget(
    config: TrainConfig, places: Mapping[KeyPath, Place] = MappingProxyType({})
) -> None:
    """Refuse a budget in which nothing, or nothing towards the end, is learned.

    Args:
        config: Of a run that is to begin or to be changed.
        places: Where values were written, as far as it is known.

    Raises:
        ConfigError: If there are too few updates, environments cannot be divided among actors, a
            replay is too small, or the learning rate is 0 before the end.
    """
    _check_shares(config, places)
    _check_updates(config, places)
    _check_replay(config, places)
    _check_turns(config, places)
    _check_rate(config, places)


def steps_in_update(config: TrainConfig) -> int:
    """Return the steps of an agent, in all its environments, that an update takes."""
    return config.learner.spec.steps_of_update(config.learner.settings) * config.budget.n_envs


def _check_shares(config: TrainConfig, places: Mapping[KeyPath, Place]) -> None:
    """Refuse, before any data are opened, what learners that divide environments refuse later."""
    n_envs = config.budget.n_envs
    for name, words in (("actors", "actors"), ("paired_envs", "paired environments")):
        count = getattr(config.learner.settings, name, 1)
        if n_envs % count:
            path = ("learner", config.learner.name, name)
            dotted = ".".join(path)
            raise ConfigError(
                f"{dotted} must divide budget.n_envs",
                was=f"{count} {words} for {n_envs} environments",
                where=place_conflict(places, [path, ("budget", "n_envs")]),
                remedy=f"Set e.g. {dotted}={n_envs}",
            )


def _check_updates(config: TrainConfig, places: Mapping[KeyPath, Place]) -> None:
    spec, settings, budget = config.learner.spec, config.learner.settings, config.budget
    name, counted = spec.name, getattr(settings, "wrapped", spec)  # a hybrid's learner by gradients
    keys = counted.update_fields or (counted.steps_per_update,)
    paths = [("learner", counted.name, key) for key in keys]
    dotted = [".".join(path) for path in paths]
    in_update = steps_in_update(config)
    steps_key = ("budget", "steps_per_agent")
    updates = -(-budget.steps_per_agent // in_update)
    if updates < FEWEST_UPDATES:
        raise ConfigError(
            f"budget.steps_per_agent must be enough for {FEWEST_UPDATES} updates",
            was=f"{budget.steps_per_agent}, where an update takes {in_update} "
            f"({' and '.join(dotted)} × budget.n_envs)",
            where=place_conflict(places, [steps_key, *paths, ("budget", "n_envs")]),
            remedy=f"Give more than {in_update} steps, or lower {', '.join(dotted)} or "
            "budget.n_envs",
        )
    warm_up = getattr(settings, spec.warm_up) if spec.warm_up else 0
    if warm_up >= budget.steps_per_agent:
        warm = f"learner.{name}.{spec.warm_up}"
        raise ConfigError(
            f"{warm} must be below budget.steps_per_agent",
            was=f"{warm_up} of {budget.steps_per_agent} steps: nothing would be learned",
            where=place_conflict(places, [tuple(warm.split(".")), steps_key]),
            remedy=f"Lower {warm}, or give more than {warm_up} steps",
        )


def _check_replay(config: TrainConfig, places: Mapping[KeyPath, Place]) -> None:
    """Refuse a replay that forgets before anything is learned from it."""
    settings, name = config.learner.settings, config.learner.name
    if hasattr(settings, "wrapped"):  # a hybrid's learner by gradients
        settings, name = settings.gradient, settings.wrapped.name
    kept = getattr(settings, "buffer_size", None)
    if kept is None:
        return
    key = f"learner.{name}.buffer_size"
    needs = {
        f"learner.{name}.warm_up": settings.warm_up,
        f"learner.{name}.batch_size": settings.batch_size,
        "budget.n_envs": config.budget.n_envs,
    }
    largest = max(needs, key=lambda each: needs[each])
    if kept >= needs[largest]:
        return
    raise ConfigError(
        f"{key} must hold a batch, a step of all environments, and all that is collected before "
        "anything is learned",
        was=f"{kept}, where {largest} is {needs[largest]}",
        where=place_conflict(places, [tuple(each.split(".")) for each in (key, largest)]),
        remedy=f"Set {key}={needs[largest]} or more, or lower {largest}",
    )


def _check_turns(config: TrainConfig, places: Mapping[KeyPath, Place]) -> None:
    """Refuse a hybrid whose first turn by gradients lasts as long as the budget."""
    turns, steps = getattr(config.learner.settings, "turns", None), config.budget.steps_per_agent
    if turns is None or turns.gradient_steps < steps:
        return
    dotted, steps_key = f"learner.{config.learner.name}.gradient_steps", "budget.steps_per_agent"
    keys = [tuple(key.split(".")) for key in (dotted, steps_key, "learner.name")]
    raise ConfigError(
        f"{dotted} must be below {steps_key}",
        was=f"{turns.gradient_steps} of {steps} steps: nothing would evolve",
        where=place_conflict(places, keys),
        remedy=f"Set e.g. {dotted}={max(steps // 2, 1)}, or give more than "
        f"{turns.gradient_steps} steps",
    )


def _check_rate(config: TrainConfig, places: Mapping[KeyPath, Place]) -> None:
    name, steps = config.learner.name, config.budget.steps_per_agent
    rate = getattr(config.learner.settings, _RATE, None)
    if not isinstance(rate, Schedule):
        return
    key = ("learner", name, _RATE)
    dotted = ".".join(key)
    if max(rate.first, 0.0 if rate.kind == "constant" else rate.last) == 0.0:
        where = place_conflict(places, [(*key, "first"), (*key, "last")]) or place_of(places, key)
        remedy = f"Set e.g. {dotted}.first=0.0003"
        raise ConfigError("a learning rate must be above 0", was="0", where=where, remedy=remedy)
    end = rate.hold + rate.over
    if rate.kind != "constant" and rate.last == 0.0 and end < steps:
        rule = "a learning rate that falls to 0 must last as long as the budget"
        where = place_conflict(places, [(*key, "over"), ("budget", "steps_per_agent")])
        remedy = f"Set {dotted}.over={FOLLOWS_BUDGET}, or a last rate above 0"
        raise ConfigError(rule, was=f"0 from step {end} of {steps}", where=where, remedy=remedy)


def _steps(section: object) -> int:
    usual = BudgetSection().steps_per_agent
    steps = section.get("steps_per_agent", usual) if isinstance(section, Mapping) else usual
    return steps if isinstance(steps, int) and steps >= 1 else usual


def _with_lengths(section: Mapping[str, Any], usual: object) -> dict[str, Any]:
    """Let schedules follow the budget if they move and nothing else is said.

    A learning rate may move by default, by steps that no other budget has. Of other schedules those
    are meant that are constant by default: they have no length that was meant for a change.

    Args:
        section: Settings of a learner, or of a part of it.
        usual: The defaults of the same.
    """
    found = dict(section)
    for field in dataclasses.fields(usual):  # type: ignore[arg-type]
        default, given = getattr(usual, field.name), section.get(field.name)
        if field.name == _RATE and given is None:
            given = {}
        if not isinstance(given, Mapping):
            continue
        if not isinstance(default, Schedule):
            if dataclasses.is_dataclass(default):
                found[field.name] = _with_lengths(given, default)
        elif _has_no_length(given, default, is_rate=field.name == _RATE):
            hold = given.get("hold", default.hold)
            found[field.name] = {**given, "hold": hold, "over": FOLLOWS_BUDGET}
    return found


def _has_no_length(given: Mapping[str, Any], default: Schedule, *, is_rate: bool) -> bool:
    """Tell whether a schedule moves and no length of it is said."""
    moves = given.get("kind", default.kind) != "constant"
    return moves and "over" not in given and (is_rate or default.kind == "constant")


def _resolve(values: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """Replace `over: budget`, or a share of it, in a section and in those below it."""
    resolved = {
        key: _resolve(value, steps) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }
    share, hold = _share(resolved.get("over")), resolved.get("hold", 0)
    if share is not None:
        end = round(share * steps)
        resolved["over"] = max(end - hold, 1) if isinstance(hold, int) else max(end, 1)
    return resolved


def _share(over: object) -> float | None:
    """Return the share of the budget at which a schedule ends; None where it says no such thing."""
    if over == FOLLOWS_BUDGET:
        return 1.0
    found = _SHARE.fullmatch(over) if isinstance(over, str) else None
    share = 0.0 if found is None else float(found[1]) / 100.0
    return share if 0.0 < share <= 1.0 else None
