from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from fixtures.sealed_runs import edit_json, reseal
from tradingbot.app.cli.application import run
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.training_facts import gather_training_facts
from tradingbot.evaluation.dossier.training_facts import AuxiliaryAccuracy
from tradingbot.runs import RunDirectory


@pytest.fixture
def alone(subject: EvaluatedRun, tmp_path: Path) -> EvaluatedRun:
    """The run in a workspace of its own, which may be changed."""
    folder = Path(shutil.copytree(subject.run.path, tmp_path / "runs" / subject.run.path.name))
    return replace(subject, run=RunDirectory.open(folder), workspace=tmp_path)


def of_universe(subject: EvaluatedRun, name: str) -> EvaluatedRun:
    market = subject.config.market.model_copy(update={"universe": name})
    return replace(subject, config=subject.config.model_copy(update={"market": market}))


def test_facts_of_a_sound_run_on_a_generated_market(alone: EvaluatedRun) -> None:
    facts = gather_training_facts(alone)

    assert (facts.updates, facts.updates_not_finite) == (12, 0)
    assert facts.over_budget == ()
    assert facts.is_scaler_of_train is None  # the run keeps no scaler
    assert facts.auxiliary_accuracy_frac is None  # there is no encoder
    assert facts.equal_runs == 0


def test_symbols_of_the_universe_that_have_no_bars_are_listed(alone: EvaluatedRun) -> None:
    facts = gather_training_facts(of_universe(alone, "us143"))

    absent = [
        name for name in load_universe("us143").symbols if name not in alone.data.whole.symbols
    ]
    assert facts.universe_symbols == 143
    assert facts.symbols_without_bars == tuple(absent)
    assert 0 < len(absent) < 143


def test_universe_that_is_not_there_any_more_has_no_symbols(alone: EvaluatedRun) -> None:
    assert gather_training_facts(of_universe(alone, "gone.csv")).universe_symbols == 0


def of_dataset(subject: EvaluatedRun, name: str) -> EvaluatedRun:
    config = subject.config.model_copy(update={"dataset": name})
    return of_universe(replace(subject, config=config), "us143")  # of the preset: says nothing


def test_dataset_has_the_universe_that_its_manifest_names(alone: EvaluatedRun) -> None:
    days = ["--start", "2025-09-01", "--end", "2025-09-20", "--universe", "prototype10"]
    wanted = ["data", "generate", "--name", "made", "--market", "planted", *days]
    assert run(["--workspace", str(alone.workspace), *wanted]) == 0

    facts = gather_training_facts(of_dataset(alone, "made"))

    assert (facts.universe, facts.universe_symbols) == ("prototype10", 10)
    assert facts.symbols_without_bars == ()


def test_dataset_that_names_no_universe_has_none_to_cover(alone: EvaluatedRun) -> None:
    bars = pl.DataFrame(
        {
            "symbol": ["AAA"] * 3,
            "timestamp": [datetime(2025, 9, 3, hour, 30, tzinfo=UTC) for hour in (14, 15, 16)],
            **{name: [10.0, 11.0, 12.0] for name in ("open", "high", "low", "close")},
            "volume": [100.0] * 3,
        }
    )
    bars.write_parquet(alone.workspace / "bars.parquet")
    wanted = ["data", "import", str(alone.workspace / "bars.parquet"), "--name", "read"]
    assert run(["--workspace", str(alone.workspace), *wanted]) == 0

    for name in ("read", "gone"):
        facts = gather_training_facts(of_dataset(alone, name))
        assert (facts.universe, facts.universe_symbols) == ("", 0)
        assert facts.symbols_without_bars == ()


@pytest.mark.parametrize(("anew", "is_equal"), [("a" * 64, True), ("b" * 64, False)])
def test_scaler_that_is_not_of_the_train_part_is_told(
    alone: EvaluatedRun, anew: str, is_equal: bool
) -> None:
    stored = alone.run.record.data.model_copy(update={"normaliser_sha256": "a" * 64})
    record = alone.run.record.model_copy(update={"data": stored})
    identity = alone.data.identity.model_copy(update={"normaliser_sha256": anew})
    changed = replace(
        alone,
        run=replace(alone.run, record=record),
        data=replace(alone.data, identity=identity),
    )

    assert gather_training_facts(changed).is_scaler_of_train is is_equal


@pytest.mark.parametrize(("encoder", "count"), [(6_000_000, 1), (0, 0), (None, None)])
def test_budget_that_is_broken_is_told_and_a_run_without_counts_tells_nothing(
    alone: EvaluatedRun, encoder: int | None, count: int | None
) -> None:
    counts = {} if encoder is None else {**alone.run.record.parameters, "encoder": encoder}
    record = alone.run.record.model_copy(update={"parameters": counts})

    found = gather_training_facts(replace(alone, run=replace(alone.run, record=record)))

    assert (None if found.over_budget is None else len(found.over_budget)) == count


def test_update_that_left_nan_is_counted(alone: EvaluatedRun) -> None:
    journal = alone.run.journal_path("metrics")
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    rows[3]["metrics"]["guard/finite"] = 0.0
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reseal(alone.run.path)

    facts = gather_training_facts(alone)

    assert (facts.updates, facts.updates_not_finite) == (12, 1)


@pytest.mark.parametrize(("kind", "passed"), [("curriculum", 2), ("population", None)])
def test_stages_passed_are_those_of_the_agent_that_came_least_far_at_the_last_update(
    alone: EvaluatedRun, kind: str, passed: int | None
) -> None:
    journal = alone.run.journal_path("metrics")
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    for row, stages in zip(rows[-3:], ([0, 0], [1, 5], [2, 5]), strict=True):
        row["metrics"]["curriculum/stage"] = stages
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = alone.config.environment.model_copy(update={"kind": kind})
    config = alone.config.model_copy(update={"environment": environment})
    with pytest.raises(StorageError):  # an edited journal measures nothing
        gather_training_facts(replace(alone, config=config))
    reseal(alone.run.path)

    assert gather_training_facts(replace(alone, config=config)).curriculum_stages_passed == passed


def test_accuracy_is_told_of_each_task_beside_its_base_rate_at_the_last_score(
    alone: EvaluatedRun,
) -> None:
    held_out = "pretrain/held_out"
    rows = [
        {f"{held_out}/regime/accuracy": 0.1},
        {
            f"{held_out}/regime/accuracy": 0.8,
            f"{held_out}/volume_class/accuracy": 0.4,
            f"{held_out}/volume_class/accuracy_low": 0.38,
            f"{held_out}/volume_class/base_accuracy": 0.35,
            f"{held_out}/regime/base_accuracy": 0.79,
            f"{held_out}/regime/accuracy_low": 0.77,
        },
        {"pretrain/train/loss": 1.0},
    ]
    journal = alone.run.journal_path("preparation")
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reseal(alone.run.path)

    facts = gather_training_facts(alone)

    assert facts.auxiliary_accuracy_frac == 0.4  # a mean would be lifted by a trivial class
    assert facts.auxiliary_tasks == (
        AuxiliaryAccuracy("regime", 0.8, 0.77, 0.79),
        AuxiliaryAccuracy("volume_class", 0.4, 0.38, 0.35),
    )
    assert [each.beats_base for each in facts.auxiliary_tasks] == [False, True]


@pytest.mark.parametrize(
    ("weights", "seed", "found"),
    [("same", 5, (1, 0)), ("other", 5, (1, 1)), ("other", 6, (0, 0)), ("none yet", 5, (0, 0))],
)
def test_runs_that_asked_for_the_same_training_are_compared_by_their_weights(
    alone: EvaluatedRun, weights: str, seed: int, found: tuple[int, int]
) -> None:
    path = Path(shutil.copytree(alone.run.path, alone.run.path.parent / "again"))
    if weights == "other":
        edit_json(path / "result.json", final_weights_sha256="f" * 64)
    reseal(path, id="again", seeds={"root": seed})
    if weights == "none yet":
        (path / "result.json").unlink()
        again = RunDirectory.open(path)
        again.write_status("interrupted", at=datetime.now(UTC), update=3, steps=9)

    facts = gather_training_facts(alone)

    assert (facts.equal_runs, facts.equal_runs_that_differ) == found


@pytest.mark.parametrize("damage", ["edited", "missing"])
def test_equal_run_whose_result_cannot_be_trusted_is_one_that_differs(
    alone: EvaluatedRun, damage: str
) -> None:
    path = Path(shutil.copytree(alone.run.path, alone.run.path.parent / "again"))
    reseal(path, id="again")
    if damage == "edited":
        edit_json(path / "result.json", decision="as it was learned, and more")
    else:
        (path / "result.json").unlink()

    facts = gather_training_facts(alone)

    assert (facts.equal_runs, facts.equal_runs_that_differ) == (1, 1)
