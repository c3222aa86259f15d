"""Waves of a study: what its trials learn on, how it is cut and gone on with, and who may make it.

Trials end at once here, with curves that their settings say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.tiny_tuning import SETTINGS, skip_training, stamps_of, tiny_study
from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.runs.lock import hold_lock
from tradingbot.training.session import SessionCallbacks
from tradingbot.tuning import best_trials, session
from tradingbot.tuning.joint_trials import run_trials
from tradingbot.tuning.pruning import CurvePruner
from tradingbot.tuning.session import LOCK_FILE, TuneCallbacks, tune
from tradingbot.tuning.training_trial import SeedTraining, TrialBench, TrialProgress, trial_config
from tradingbot.tuning.trial_record import TrialResult, TuningTrial

GAIN = "learner.direct.squash_gain"
ALONE = replace(SETTINGS, trials=12, wave=4, together=1, random_trials=4, pruner="median")


def end_by_settings(
    bench: TrialBench,
    specs: Sequence[TuningTrial],
    open_pruner: Callable[[TuningTrial], CurvePruner],
    *_: object,
) -> list[TrialResult]:
    """End each trial with a curve that only its settings and its pruner decide."""
    found = []
    for spec in specs:
        pruner, curve, gives_up = open_pruner(spec), list[tuple[int, float]](), False
        while len(curve) < bench.settings.evaluations and not gives_up:
            curve.append((len(curve) + 1, len(curve) * float(dict(spec.params)[GAIN])))
            gives_up = pruner.gives_up(curve)
        digest = trial_config(bench.config, bench.settings, spec).config_hash
        state, steps = ("pruned" if gives_up else "finished"), len(curve)
        found.append(
            TrialResult(
                *(spec, state, curve[-1][1], tuple(curve), steps, 0.1, digest),  # type: ignore[arg-type]
                notes=pruner.notes,
            )
        )
    return found


@pytest.mark.parametrize("cut_after", [1, 6])
def test_study_cut_within_a_wave_ends_as_one_that_was_not(
    cut_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "run_trials", end_by_settings)
    monkeypatch.setattr(session, "retrain_best", lambda *_: [])
    request, ended = tiny_study(settings=ALONE), list[str]()
    stops = TuneCallbacks(note=ended.append, interrupted=lambda: len(ended) > cut_after)
    whole = tune(request, tmp_path / "whole")

    with pytest.raises(InterruptionError):
        tune(request, tmp_path / "cut", callbacks=stops)
    kept = session.open_study(request, tmp_path / "cut").results()
    again = tune(request, tmp_path / "cut")

    assert len(kept) == cut_after
    assert again.results == whole.results
    assert "pruned" in {each.state for each in whole.results[4:]}


def test_trials_learn_on_the_symbols_that_are_asked_for(tmp_path: Path) -> None:
    few = replace(tiny_study(), symbols=("SPY",))

    assert session._open_bench(few, tmp_path).data.world.symbols == ("SPY",)
    assert session._open_bench(tiny_study(), tmp_path).data.world.symbols == ("SPY", "AAPL")


def test_trainings_of_a_trial_learn_with_its_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, curves = list[int | None](), list[list[float]]()
    begin, new_curve = TrialProgress.begin, TrialProgress.new_curve

    def watched(trial: TrialProgress, seed: int, shared: Path | None) -> SeedTraining:
        made = begin(trial, seed, shared)
        begun.append(made.config.seed)
        return made

    def kept(trial: TrialProgress) -> list[float]:
        curves.append(new_curve(trial))
        return curves[-1]

    monkeypatch.setattr(TrialProgress, "begin", watched)
    monkeypatch.setattr(TrialProgress, "new_curve", kept)
    bench = session._open_bench(tiny_study(settings=replace(SETTINGS, seeds=3)), tmp_path)
    never: Any = SimpleNamespace(notes={}, gives_up=lambda _curve: False)

    run_trials(bench, [TuningTrial(0, (), (1, 2, 3))], lambda _spec: never)

    assert begun == [1, 2, 3]
    assert len({tuple(curve) for curve in curves}) == 3


def test_study_that_another_process_makes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_training(monkeypatch)
    request = tiny_study(settings=replace(SETTINGS, trials=2))
    tune(request, tmp_path)

    with hold_lock(request.folder(tmp_path) / LOCK_FILE, "study"):
        before = stamps_of(tmp_path)
        with pytest.raises(ConfigError, match="study must not be in use, was in use by process"):
            tune(request, tmp_path)

    assert stamps_of(tmp_path) == before


def test_trainings_of_the_best_and_of_what_was_tuned_are_told_of_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "run_trials", end_by_settings)
    training, seen = SessionCallbacks(interrupted=lambda: True), list[tuple[str, object]]()

    def train(name: str, _config: object, _workspace: Path, callbacks: object) -> Any:
        seen.append((name, callbacks))
        if name.endswith("-preset"):
            raise InterruptionError(name)
        result = SimpleNamespace(best_mean_sharpe=1.0)
        return SimpleNamespace(id=name, record=SimpleNamespace(config_sha256="")), result

    monkeypatch.setattr(best_trials, "train_named", train)
    request = replace(tiny_study(settings=replace(SETTINGS, trials=1)), compares=True)

    with pytest.raises(InterruptionError):
        tune(request, tmp_path, callbacks=TuneCallbacks(training=training))

    assert seen == [("first-trial-0", training), ("first-preset", training)]
