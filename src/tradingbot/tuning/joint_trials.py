"""Trials beside each other: those whose shapes agree learn as one tensor program.

Every trial keeps a trainer, a flight recorder and a pruner of its own, in a thread of its own; only
the update of the weights is made for all of them at once, when all that still learn have asked for
it. Which trials are put together depends on their settings alone, never on time or processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.learning.direct.joint import JointDirect, can_join
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.learner import Update
from tradingbot.tuning.pruning import CurvePruner
from tradingbot.tuning.training_trial import (
    SeedTraining,
    Trained,
    TrialBench,
    TrialProgress,
)
from tradingbot.tuning.trial_record import TrialResult, TuningTrial

OpenPruner = Callable[[TuningTrial], CurvePruner]


def run_trials(
    bench: TrialBench,
    specs: Sequence[TuningTrial],
    open_pruner: OpenPruner,
    progress: Progress = ignore_progress,
    shared: Path | None = None,
) -> list[TrialResult]:
    """Train every seed of some trials; one that is given up is not begun with a further seed.

    Args:
        bench: Data and configuration.
        specs: What is tried.
        open_pruner: Returns what is asked after each evaluation of a trial.
        progress: Told of steps.
        shared: Folder of pre-trained encoders that trials of one study share.

    Raises:
        UserError: If a configuration cannot be trained on these bars.
    """
    trials = [TrialProgress(bench, spec, open_pruner(spec)) for spec in specs]
    for seed in specs[0].seeds if specs else ():
        begun = [trial.begin(seed, shared) for trial in trials if trial.goes_on]
        for group in group_trainings(begun):
            began = time.perf_counter()
            for training, done in zip(group, _train_together(group, progress), strict=True):
                training.trial.add(done)
                training.trial.took_s += (time.perf_counter() - began) / len(group)
    return [trial.result() for trial in trials]


def group_trainings(trainings: Sequence[SeedTraining]) -> list[list[SeedTraining]]:
    """Put trainings together that can be one tensor program, in the order given."""
    groups: list[list[SeedTraining]] = []
    for training in trainings:
        home = next((group for group in groups if _fit(group[0], training)), None)
        if home is None:
            groups.append([training])
        else:
            home.append(training)
    return groups


def _fit(first: SeedTraining, other: SeedTraining) -> bool:
    mine, theirs = first.setup.learner, other.setup.learner
    return (
        isinstance(mine, Direct)
        and isinstance(theirs, Direct)
        and first.config.task == other.config.task
        and first.config.environment == other.config.environment
        and first.config.budget == other.config.budget
        and can_join(mine, theirs)
    )


def _train_together(group: Sequence[SeedTraining], progress: Progress) -> list[Trained]:
    if len(group) == 1:
        return [group[0].run(progress)]
    learners = [each.setup.learner for each in group]
    meeting = UpdateMeeting([each for each in learners if isinstance(each, Direct)])
    ended: list[Trained | Exception | None] = [None] * len(group)

    def train(place: int) -> None:
        try:
            ended[place] = group[place].run(progress)
        except Exception as e:
            ended[place] = e
        finally:
            meeting.leave(place)

    threads = [threading.Thread(target=train, args=(place,)) for place in range(len(group))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in ended:
        if isinstance(each, Exception):
            raise each
    return [each for each in ended if isinstance(each, Trained)]


class UpdateMeeting:
    """Where learners meet before each update; the last to come makes it for all."""

    def __init__(self, learners: Sequence[Direct]) -> None:
        """Let the updates of these learners be made here."""
        self._learners = dict(enumerate(learners))
        self._ready, self._waiting = threading.Condition(), set[int]()
        self._made: dict[int, Update | Exception] = {}
        self._joint: dict[tuple[int, ...], JointDirect] = {}
        for place, learner in self._learners.items():
            learner.learn_with(partial(self.arrive, place))

    def arrive(self, place: int) -> Update:
        """Wait for all that still learn, and return what the update made of this learner."""
        with self._ready:
            self._waiting.add(place)
            self._make_if_all_are_here()
            self._ready.wait_for(lambda: place in self._made)
            made = self._made.pop(place)
        if isinstance(made, Exception):
            raise made
        return made

    def leave(self, place: int) -> None:
        """Make further updates without this learner."""
        with self._ready:
            self._learners.pop(place, None)
            self._make_if_all_are_here()

    def _make_if_all_are_here(self) -> None:
        """Make the update where none is missing; the last learner to come or leave does."""
        if not self._learners or self._waiting != set(self._learners):
            return
        places = tuple(sorted(self._waiting))
        self._waiting.clear()
        try:
            made: Sequence[Update | Exception] = self._update(places)
        except Exception as e:
            made = [e] * len(places)
        self._made |= dict(zip(places, made, strict=True))
        self._ready.notify_all()

    def _update(self, places: tuple[int, ...]) -> tuple[Update, ...]:
        if places not in self._joint:
            self._joint = {places: JointDirect([self._learners[each] for each in places])}
        return self._joint[places].update()
