"""Where parts of a schedule act: a constant has no last number, and what moves needs two.

Read by `setting_conditions`, of the schedules of every learner of the catalogue.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.schedules import Schedule
from tradingbot.training.condition import Condition
from tradingbot.training.config import TrainConfig


def schedule_conditions() -> Iterator[Condition]:
    """Yield where the parts of every learner's schedules act."""
    for name in known_learners():
        for path in _schedules(learner_spec(name).config()):
            yield from _of_schedule(name, path)


def _of_schedule(name: str, path: tuple[str, ...]) -> Iterator[Condition]:
    dotted = ".".join(("learner", name, *path))

    def found(config: TrainConfig) -> Schedule | None:
        """Return the schedule where the learner trains; sections of others are alternatives."""
        value: Any = getattr(config.learner, name)
        for key in path:
            value = getattr(value, key)
        return value if name in config.learner.acting_sections else None

    def moves(config: TrainConfig) -> bool:
        schedule = found(config)
        return schedule is None or schedule.kind != "constant"

    def is_moot(config: TrainConfig) -> bool:
        schedule = found(config)
        return schedule is None or schedule.first == schedule.last

    def goes_somewhere(config: TrainConfig) -> bool:
        schedule = found(config)
        return schedule is None or schedule.kind == "constant" or schedule.first != schedule.last

    must_move = f"{dotted}.kind must be linear or cosine: a constant keeps its first number"
    must_differ = f"{dotted}.first and last must differ"
    lengths = (f"{dotted}.hold", f"{dotted}.over")
    yield Condition((f"{dotted}.last",), lambda c: moves(c) or is_moot(c), lambda _: must_move)
    yield Condition(lengths, moves, lambda _: must_move, is_alternative=True)
    yield Condition((f"{dotted}.kind",), goes_somewhere, lambda _: must_differ)


def _schedules(settings: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all schedules in settings."""
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if isinstance(value, Schedule):
            yield (*path, field.name)
        elif dataclasses.is_dataclass(value):
            yield from _schedules(value, (*path, field.name))
