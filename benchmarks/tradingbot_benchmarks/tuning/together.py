"""Trials as one tensor program beside the same trials one by one: equal first, then timed."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from tradingbot.data.sources.source import Progress
from tradingbot.learning.direct.learner import Direct
from tradingbot.networks.threads import torch_threads
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.tuning.joint_trials import group_trainings, run_trials
from tradingbot.tuning.pruning import CurvePruner
from tradingbot.tuning.request import TuneSettings
from tradingbot.tuning.search_space import SearchSpace, load_space
from tradingbot.tuning.training_trial import TrialBench, TrialProgress
from tradingbot.tuning.trial_record import TrialResult, TuningTrial
from tradingbot_benchmarks.record import BenchRecord

TRIALS = 5
_OPTIONS: dict[str, object] = {"guards.probe_every": 0}
_TOLERANCE = 1e-2
"""Of a score: an order more or less at a rounded level moves it."""


def measure_together(progress: Progress) -> list[BenchRecord]:
    """Return how many times less processor time trials take together than alone.

    Raises:
        AssertionError: If both do not come to the same scores, or do not share a program.
    """
    config = load_train_config("quick", _OPTIONS)
    settings = TuneSettings(trials=TRIALS, steps_share_frac=1.0, evaluations=2, pruner="none")
    space = load_space(["direct"])
    with TemporaryDirectory() as folder, torch_threads(1):
        data: TrainingData = open_data(config, Path(folder))
        bench = TrialBench(config, settings, data, Path(folder))
        trials = [_trial(space, place) for place in range(TRIALS)]

        def open_pruner(spec: TuningTrial) -> CurvePruner:
            return CurvePruner(spec, [], space, settings)

        begun = [TrialProgress(bench, each, open_pruner(each)).begin(0, None) for each in trials]
        assert len(group_trainings(begun)) == 1
        assert all(isinstance(each.setup.learner, Direct) for each in begun)
        progress(0, 2, "trials alone")
        run_trials(bench, trials[:1], open_pruner)  # warm
        began = time.process_time()
        alone = [run_trials(bench, [each], open_pruner)[0] for each in trials]
        alone_s, began = time.process_time() - began, time.process_time()
        progress(1, 2, "trials together")
        together = run_trials(bench, trials, open_pruner)
        together_s = time.process_time() - began
    _require_equal(alone, together)
    note = (
        f"processor time of {TRIALS} whole trials on one core, evaluations included, of 2 agents "
        "(preset quick): one by one ÷ as one tensor program; scores agree"
    )
    ratio = alone_s / together_s
    return [BenchRecord("trials_together", together_s, "s", alone_s, "one by one", ratio, note)]


def _trial(space: SearchSpace, place: int) -> TuningTrial:
    """Return a trial a fifth further along every range."""
    share = place / (TRIALS - 1)
    params = tuple(
        (each.key, each.low * (each.high / each.low) ** share) for each in space.parameters
    )
    return TuningTrial(place, params, (0,))


def _require_equal(alone: list[TrialResult], together: list[TrialResult]) -> None:
    for mine, theirs in zip(alone, together, strict=True):
        assert mine.state == theirs.state
        scores = torch.tensor([(mine.score or 0.0), (theirs.score or 0.0)])
        assert torch.allclose(scores[:1], scores[1:], rtol=_TOLERANCE, atol=_TOLERANCE), scores
