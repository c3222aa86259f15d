"""A whole study: counted, kept, trained again, exported; and the same by several processes."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_tuning import SETTINGS, TRIALS, tiny_study
from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.runs.ledger import Ledger
from tradingbot.training.config_files import load_train_config
from tradingbot.tuning.best_trials import best_config
from tradingbot.tuning.session import TuneCallbacks, TunedStudy, tune
from tradingbot.tuning.training_trial import mean_curve
from tradingbot.tuning.trial_record import TrialResult


def told(results: tuple[TrialResult, ...]) -> list[TrialResult]:
    """Return results without the time that they took."""
    return [replace(each, took_s=0.0) for each in results]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture(scope="module")
def tuned(workspace: Path) -> TunedStudy:
    return tune(tiny_study(), workspace)


def test_every_trial_is_counted_once_before_the_best_are_trained(
    tuned: TunedStudy, workspace: Path
) -> None:
    entries = Ledger(workspace).entries()

    tuning = [each for each in entries if each.kind == "tuning"]
    assert len(tuned.results) == len(tuning) == TRIALS
    assert {each.run for each in tuning} == {"tuning/first"}
    assert len({each.config_hash for each in tuning}) == TRIALS
    kinds = Counter(each.kind for each in entries)
    assert kinds == {"tuning": TRIALS, "training": 1, "result": 1}
    Ledger(workspace).require_receipts()
    receipts = (workspace / "tuning" / "first" / "ledger.json").read_text().splitlines()
    assert len(receipts) == TRIALS


def test_same_command_again_makes_and_counts_nothing(tuned: TunedStudy, workspace: Path) -> None:
    before = (workspace / "ledger.jsonl").read_bytes()

    again = tune(tiny_study(), workspace)

    assert again.results == tuned.results
    assert (workspace / "ledger.jsonl").read_bytes() == before
    assert again.files.evidence == tuned.files.evidence


def test_preset_of_the_best_is_what_was_trained_again(tuned: TunedStudy) -> None:
    assert tuned.files.preset is not None
    text = tuned.files.preset.read_text()
    best, evidence = tuned.retrained[0], tuned.files.evidence

    read = load_train_config(tuned.files.preset, {"seed": best.trial.spec.seeds[0]})

    assert read.config_hash == best_config(tiny_study(), best.trial).config_hash
    for word in (evidence.data_sha256, evidence.ledger_sha256, best.run, "5 trials"):
        assert word in text.replace("\n# ", " ")


def test_tables_and_page_show_every_trial(tuned: TunedStudy) -> None:
    folder = tuned.files.folder
    read = {
        name: json.loads((folder / "tables" / f"{name}.json").read_text())
        for name in ("history", "importance", "slices")
    }

    assert [row["trial"] for row in read["history"]] == list(range(TRIALS))
    finished = [row["score"] for row in read["history"] if row["state"] == "finished"]
    assert read["history"][-1]["best"] == max(finished)
    assert {row["key"] for row in read["importance"]} == {row["key"] for row in read["slices"]}
    page = tuned.files.page.read_text()
    assert all(f"trial {number}:" in page for number in range(TRIALS))
    assert "synthetic" in page


def test_another_study_under_the_same_name_is_refused(tuned: TunedStudy, workspace: Path) -> None:
    other = tiny_study(settings=replace(SETTINGS, seed=1))

    with pytest.raises(ConfigError, match="configuration, space and settings it began with"):
        tune(other, workspace)


def test_interrupted_study_goes_on_to_the_same_trials(tuned: TunedStudy, tmp_path: Path) -> None:
    told_of: list[str] = []

    def note(text: str) -> None:
        told_of.append(text)

    stops = TuneCallbacks(
        note=note, interrupted=lambda: sum("trial" in text for text in told_of) >= 3
    )
    with pytest.raises(InterruptionError):
        tune(tiny_study(), tmp_path, callbacks=stops)
    counted = len(Ledger(tmp_path).entries())

    again = tune(tiny_study(), tmp_path)

    assert counted == 4  # the second wave had begun
    assert told(again.results) == told(tuned.results)
    assert Counter(each.kind for each in Ledger(tmp_path).entries())["tuning"] == TRIALS


def test_study_is_made_longer_by_the_same_name(tuned: TunedStudy, tmp_path: Path) -> None:
    shutil.copytree(tuned.files.folder.parents[1], tmp_path / "w")

    longer = tune(tiny_study(settings=replace(SETTINGS, trials=TRIALS + 1)), tmp_path / "w")

    assert longer.results[:TRIALS] == tuned.results
    assert len(longer.results) == TRIALS + 1


@pytest.mark.slow
def test_processes_find_the_same_as_one(tmp_path: Path) -> None:
    apart = tiny_study(settings=replace(SETTINGS, together=1))

    one, two = tune(apart, tmp_path / "one"), tune(apart, tmp_path / "two", jobs=2)

    assert told(two.results) == told(one.results)


def test_trials_together_score_as_trials_apart(tuned: TunedStudy, tmp_path: Path) -> None:
    first_wave = replace(SETTINGS, trials=2, together=1)

    apart = tune(tiny_study(settings=first_wave), tmp_path)

    for mine, theirs in zip(apart.results, tuned.results, strict=False):
        assert mine.spec == theirs.spec
        assert mine.state == theirs.state
        assert [step for step, _ in mine.curve] == [step for step, _ in theirs.curve]
        assert mine.score == pytest.approx(theirs.score, rel=1e-3)


def test_mean_curve_is_of_the_points_that_all_seeds_have() -> None:
    assert mean_curve([[1.0, 3.0], [3.0]]) == ((1, 2.0),)
    assert mean_curve([[1.0, 3.0], []]) == ((1, 1.0), (2, 3.0))
    assert mean_curve([[]]) == ()
