"""What a trial is judged on, and in which order trials that were trained again are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.tiny_training import tiny_config
from fixtures.tiny_tuning import SETTINGS, tiny_study
from tradingbot.tuning import best_trials, training_trial
from tradingbot.tuning.session import tune
from tradingbot.tuning.training_trial import trial_config
from tradingbot.tuning.trial_record import TrialResult, TuningTrial


@pytest.fixture(scope="module")
def seen() -> list[tuple[Any, Any]]:
    """Bars of every evaluation in a trial, beside the validation part."""
    return []


@pytest.fixture(scope="module")
def results(
    seen: list[tuple[Any, Any]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[TrialResult, ...]:
    whole = training_trial.scores_on

    def watched(bars: Any, setup: Any, data: Any) -> Any:
        seen.append((bars, data.split.validation))
        return whole(bars, setup, data)

    few = replace(SETTINGS, trials=2, together=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_trial, "scores_on", watched)
        return tune(tiny_study(settings=few), tmp_path_factory.mktemp("seen")).results


def test_trials_are_judged_on_the_first_half_of_validation_alone(
    results: tuple[TrialResult, ...], seen: list[tuple[Any, Any]]
) -> None:
    assert len(seen) >= len(results)
    for bars, validation in seen:
        middle = (validation.start + validation.stop) // 2
        assert (bars.start, bars.stop) == (validation.start, middle)


@pytest.mark.parametrize(("evaluations", "every"), [(2, 3), (3, 2), (6, 1), (9, 1)])
def test_trial_is_looked_at_as_often_as_is_asked_for(evaluations: int, every: int) -> None:
    settings = replace(SETTINGS, evaluations=evaluations)
    half = trial_config(tiny_config(), settings, TuningTrial(0, (), (1,)))  # of twelve updates

    assert half.validation.every_updates == every


def test_trials_trained_again_are_told_best_first(
    results: tuple[TrialResult, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = [replace(each, state="finished", score=1.0) for each in results]
    scores = iter([0.5, 2.0])

    def train(name: str, *_: object) -> Any:
        record = SimpleNamespace(config_sha256="")
        result = SimpleNamespace(best_mean_sharpe=next(scores))
        return SimpleNamespace(id=name, record=record), result

    monkeypatch.setattr(best_trials, "train_named", train)
    request = tiny_study(settings=replace(SETTINGS, top=2))

    found = best_trials.retrain_best(request, trials, tmp_path, lambda _: None)

    assert [each.score for each in found] == [2.0, 0.5]
    assert [each.trial.spec.number for each in found] == [1, 0]
