"""TPE beside random search: the same trials in number, market, settings and seeds.

A market with a planted signal, four settings of direct gradients over ranges so wide that most of
them learn nothing. Each study is made by either sampler with the same root seed; what it found is
the best score on the first half of validation, and what that setting earns on test with a training
seed of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tradingbot.data.sources.source import Progress
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.networks.threads import torch_threads
from tradingbot.training.agent_scores import scores_on
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.tuning.joint_trials import run_trials
from tradingbot.tuning.optuna_study import OptunaStudy
from tradingbot.tuning.pruning import CurvePruner
from tradingbot.tuning.request import Sampler, TuneSettings
from tradingbot.tuning.search_parameter import SearchParameter
from tradingbot.tuning.search_space import SearchSpace
from tradingbot.tuning.training_trial import TrialBench, TrialProgress
from tradingbot.tuning.trial_record import TrialResult, TuningTrial, best_first
from tradingbot_benchmarks.record import BenchRecord

TRIALS, SEEDS = 25, 8
OPTIONS: dict[str, object] = {
    "market.start": "2022-10-01",
    "market.params.kappa": 0.3,
    "budget.n_envs": 8,
    "budget.steps_per_agent": 1920,  # 15 updates
    "guards.probe_every": 0,
}
SPACE = SearchSpace(
    ("wide",),
    (
        SearchParameter("learner.direct.learning_rate.first", 1e-6, 1.0, "log"),
        SearchParameter("learner.direct.weight_decay", 1e-6, 10.0, "log"),
        SearchParameter("learner.direct.squash_gain", 0.01, 100.0, "log"),
        SearchParameter("learner.direct.deviation_penalty", 1e-3, 100.0, "log"),
    ),
)
_SAMPLERS: tuple[Sampler, ...] = ("tpe", "random")
_DRAWS = 10_000
_FRESH_SEED = 90_001


@dataclass(frozen=True)
class FoundSetting:
    """What one study found."""

    score: float
    """Best mean alpha Sharpe of a finished trial on the first half of validation."""
    test: float
    """Mean alpha Sharpe on test of that setting, trained with another seed."""


def measure_samplers(
    progress: Progress, *, seeds: Sequence[int] = range(SEEDS), trials: int = TRIALS
) -> dict[Sampler, list[FoundSetting]]:
    """Make a study by each sampler with every root seed."""
    config = load_train_config("quick", OPTIONS)
    found: dict[Sampler, list[FoundSetting]] = {name: [] for name in _SAMPLERS}
    with TemporaryDirectory() as folder, torch_threads(1):
        data = open_data(config, Path(folder))
        for count, seed in enumerate(seeds):
            for place, sampler in enumerate(_SAMPLERS):
                done = count * len(_SAMPLERS) + place
                progress(done, len(seeds) * len(_SAMPLERS), sampler)
                settings = TuneSettings(
                    trials=trials,
                    sampler=sampler,
                    steps_share_frac=1.0,
                    pruner="none",
                    evaluations=2,
                    seed=seed,
                )
                bench = TrialBench(config, settings, data, Path(folder))
                name = f"{sampler}-{seed}"
                found[sampler].append(_search(bench, f"sqlite:///{folder}/{name}.db", name))
    return found


def _search(bench: TrialBench, storage: str, name: str) -> FoundSetting:
    settings = bench.settings
    study = OptunaStudy(name, storage, SPACE, settings)
    results: list[TrialResult] = []
    for wave in range(settings.n_waves):

        def open_pruner(spec: TuningTrial, before: list[TrialResult] = results) -> CurvePruner:
            return CurvePruner(spec, list(before), SPACE, settings)

        results += run_trials(bench, study.choose(wave, results), open_pruner)
    best = best_first(results)[0]
    return FoundSetting(best.score or 0.0, _test_score(bench, best.spec, open_pruner))


def _test_score(
    bench: TrialBench, spec: TuningTrial, open_pruner: Callable[[TuningTrial], CurvePruner]
) -> float:
    """Train a setting with a seed of its own, and score it on the test part."""
    fresh = replace(spec, seeds=(_FRESH_SEED,))
    training = TrialProgress(bench, fresh, open_pruner(fresh)).begin(_FRESH_SEED, None)
    training.run()
    scores = scores_on(bench.data.split.test, training.setup, bench.data)
    return float(scores["alpha_sharpe"].mean())


def sampler_records(found: dict[Sampler, list[FoundSetting]]) -> list[BenchRecord]:
    """Return the ratio of what both found, on validation and on test, with intervals."""
    return [
        _record("tune_vs_random", found, "score", "best score, first half of validation"),
        _record("tune_vs_random_test", found, "test", "alpha Sharpe of the setting on test"),
    ]


def _record(
    name: str, found: dict[Sampler, list[FoundSetting]], field: str, words: str
) -> BenchRecord:
    tpe, plain = (
        np.array([getattr(each, field) for each in found[sampler]]) for sampler in _SAMPLERS
    )
    if plain.mean() <= 0.0:
        note = f"no ratio of {tpe.mean():.2f} to {plain.mean():.2f}: random search found no gain"
        return BenchRecord(name, nan, "ratio", note=note)
    ratio = _ratio_interval(tpe, plain)
    gain = float(np.mean(tpe > plain))
    note = (
        f"TPE ÷ random search, mean of {len(tpe)} studies of equal budget and root seeds; {words}: "
        f"{tpe.mean():.2f} and {plain.mean():.2f}; 95 % [{ratio.low:.2f}, {ratio.high:.2f}] over "
        f"studies; TPE above in {gain:.0%}; synthetic market planted, κ 0.3, 2 agents, costs alpaca"
    )
    return BenchRecord(name, ratio.estimate, "ratio", 1.0, "random search", ratio.estimate, note)


def _ratio_interval(tpe: np.ndarray, plain: np.ndarray) -> Interval:
    """Bootstrap the ratio of means over pairs of studies."""
    draw = stream(0, "bench", "tuning").integers(0, len(tpe), (_DRAWS, len(tpe)))
    ratios = tpe[draw].mean(1) / plain[draw].mean(1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return Interval(float(tpe.mean() / plain.mean()), float(low), float(high))
