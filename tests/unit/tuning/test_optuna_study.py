"""Choosing is a function of what is kept; what is kept is whole, and once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_tuning import SETTINGS, tiny_space
from tradingbot.domain.errors import ConfigError
from tradingbot.tuning.optuna_study import OptunaStudy
from tradingbot.tuning.pruning import CurvePruner
from tradingbot.tuning.request import TuneSettings
from tradingbot.tuning.trial_record import TrialResult, TuningTrial, best_first


def open_study(folder: Path, settings: TuneSettings = SETTINGS, name: str = "s") -> OptunaStudy:
    return OptunaStudy(name, f"sqlite:///{folder / 'study.db'}", tiny_space(), settings)


def result_of(trial: TuningTrial, score: float, *curve: float) -> TrialResult:
    points = tuple(enumerate(curve or (score,), start=1))
    return TrialResult(trial, "finished", score, points, 48, 0.5, "hash")


def test_kept_trial_comes_back_as_it_was_from_a_new_connection(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    made = result_of(study.choose(0, ())[1], 0.25, 0.1, 0.25)
    study.keep(made)

    assert open_study(tmp_path).results() == [replace(made, notes={})]


def test_trial_that_is_kept_twice_is_there_once(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    made = result_of(study.choose(0, ())[0], 0.25)

    study.keep(made)
    study.keep(replace(made, score=9.0))

    assert [each.score for each in study.results()] == [0.25]


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_wave_depends_on_seed_and_what_came_before_alone(tmp_path: Path, sampler: str) -> None:
    settings = replace(SETTINGS, sampler=sampler)
    study = open_study(tmp_path, settings)
    first = study.choose(0, ())
    before = [result_of(trial, float(trial.number)) for trial in first]

    assert open_study(tmp_path, settings).choose(0, ()) == first
    assert study.choose(1, before) == study.choose(1, before)
    assert study.choose(1, before) != study.choose(2, before)
    worse = [replace(each, score=-(each.score or 0.0)) for each in before]
    learns = study.choose(1, worse) != study.choose(1, before)
    assert learns == (sampler == "tpe")
    other = open_study(tmp_path, replace(settings, seed=1))
    assert other.choose(0, ()) != first


def test_each_seed_of_a_trial_is_another(tmp_path: Path) -> None:
    (first, second) = open_study(tmp_path, replace(SETTINGS, seeds=3)).choose(0, ())

    assert len(set(first.seeds)) == 3
    assert second.seeds == first.seeds


def test_last_wave_of_a_longer_study_begins_as_that_of_a_shorter_one(tmp_path: Path) -> None:
    short, long = replace(SETTINGS, trials=3), replace(SETTINGS, trials=4)

    (only,) = open_study(tmp_path, short).choose(1, ())

    assert open_study(tmp_path, long).choose(1, ())[0] == only


def test_chosen_values_lie_in_the_space(tmp_path: Path) -> None:
    study = open_study(tmp_path, replace(SETTINGS, trials=40, wave=40))
    for trial in study.choose(0, ()):
        for parameter in tiny_space().parameters:
            assert parameter.low <= float(dict(trial.params)[parameter.key]) <= parameter.high


def test_what_a_study_began_with_is_written_down_once(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    study.note("one", {"data": "a"}, {"seed": 1})
    study.keep(result_of(study.choose(0, ())[0], 0.25))
    open_study(tmp_path).note("two", {"data": "b"}, {"seed": 2})

    known = open_study(tmp_path).known
    assert (known.identity, known.facts, known.asked) == ("one", {"data": "a"}, {"seed": 1})
    assert known.trials == 1


def test_trial_of_a_study_that_was_begun_anew_meanwhile_is_not_kept(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    study.note("one", {"data": "a"}, {})
    open_study(tmp_path).note("two", {"data": "b"}, {})

    with pytest.raises(ConfigError, match="begun anew with other settings"):
        study.keep(result_of(study.choose(0, ())[0], 0.25))

    assert not study.results()


def test_importance_names_the_setting_that_decides(tmp_path: Path) -> None:
    study = open_study(tmp_path, replace(SETTINGS, trials=14, wave=14))
    key = "learner.direct.squash_gain"
    for trial in study.choose(0, ()):
        study.keep(result_of(trial, float(dict(trial.params)[key])))

    shares = study.importance()

    assert max(shares, key=lambda name: shares[name]) == key
    assert sum(shares.values()) == pytest.approx(1.0)


def test_median_pruner_gives_up_what_is_below_the_waves_before(tmp_path: Path) -> None:
    settings = replace(SETTINGS, trials=8, wave=4)
    study = open_study(tmp_path, settings)
    before = [result_of(trial, 1.0, 0.5, 1.0) for trial in study.choose(0, ())]
    trial = study.choose(1, before)[0]

    def pruner() -> CurvePruner:
        return CurvePruner(trial, before, tiny_space(), settings)

    poor, good = pruner(), pruner()
    assert not poor.gives_up([(1, 0.0)])  # the first point says little
    assert poor.gives_up([(1, 0.0), (2, 0.2)])
    assert not good.gives_up([(1, 0.6)])
    assert not good.gives_up([(1, 0.6), (2, 1.1)])
    never = CurvePruner(trial, before, tiny_space(), replace(settings, pruner="none"))
    assert not never.gives_up([(1, -9.0)])


def test_hyperband_gives_up_some_of_many_equal_curves_and_keeps_the_best(tmp_path: Path) -> None:
    settings = replace(SETTINGS, trials=30, wave=1, pruner="hyperband", evaluations=9)
    study, before = open_study(tmp_path, settings), list[TrialResult]()
    for number in range(20):
        trial = replace(study.choose(0, ())[0], number=number)
        pruner = CurvePruner(trial, before, tiny_space(), settings)
        curve: list[tuple[int, float]] = []
        pruned = False
        for step in range(1, 10):
            curve.append((step, float(-number)))
            pruned = pruner.gives_up(curve)
            if pruned:
                break
        made = result_of(trial, float(-number), *(score for _, score in curve))
        state = "pruned" if pruned else "finished"
        before.append(replace(made, state=state, notes=pruner.notes))

    assert before[0].state == "finished"
    assert 5 <= sum(each.state == "pruned" for each in before) < 20


def test_best_first_orders_finished_trials_alone(tmp_path: Path) -> None:
    trials = open_study(tmp_path, replace(SETTINGS, trials=4, wave=4)).choose(0, ())
    results = [result_of(trial, score) for trial, score in zip(trials, (1, 3, 3, 9), strict=True)]
    results[3] = replace(results[3], state="pruned")

    assert [each.spec.number for each in best_first(results)] == [1, 2, 0]
