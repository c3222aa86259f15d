"""What is known to be impossible is refused before the ledger counts it or anything is made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fixtures.sealed_runs import reseal
from fixtures.tiny_evaluation import tiny_evaluation
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError, StorageError, UserError
from tradingbot.evaluation.analyses import evaluated_run as subject_module
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec
from tradingbot.evaluation.analyses.retraining.training import retraining_analysis
from tradingbot.evaluation.pipeline.session import ANALYSES_FOLDER, EvaluationRequest, evaluate_run
from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import LEDGER_FILE
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data

RUN = "tiny"
Change = Callable[[TrainingData], TrainingData]


@pytest.fixture
def workspace(evaluated_workspace: Path, tmp_path: Path) -> Path:
    """A copy that a test may break."""
    folder = tmp_path / "workspace"
    shutil.copytree(evaluated_workspace, folder)
    return folder


def refuse(
    workspace: Path, error: type[UserError], words: str, request: EvaluationRequest | None = None
) -> UserError:
    """Evaluate; return why not, and see that nothing was counted or made."""
    before = (workspace / LEDGER_FILE).read_bytes()

    with pytest.raises(error, match=words) as caught:
        evaluate_run(request or EvaluationRequest(RUN, tiny_evaluation()), workspace)

    assert (workspace / LEDGER_FILE).read_bytes() == before
    assert not list(workspace.rglob(f"{ANALYSES_FOLDER}/*.json"))
    return caught.value


def run_folder(workspace: Path) -> Path:
    return workspace / "runs" / RUN


@pytest.fixture
def on_data(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Let runs be opened on changed data of the same name."""

    def change_to(change: Change) -> None:
        def opened(config: TrainConfig, workspace: Path) -> TrainingData:
            return change(open_data(config, workspace))

        monkeypatch.setattr(subject_module, "open_data", opened)

    return change_to


def unusable(part: str) -> Change:
    def change(data: TrainingData) -> TrainingData:
        bars: IndexRange = getattr(data.split, part)
        usable = data.world.usable.copy()
        usable[:, bars.start : bars.stop] = False
        return replace(data, world=replace(data.world, usable=usable))

    return change


def shorter(part: str, bars: int) -> Change:
    def change(data: TrainingData) -> TrainingData:
        selected: IndexRange = getattr(data.split, part)
        cut = IndexRange(selected.stop - bars, selected.stop)
        return replace(data, split=replace(data.split, **{part: cut}))

    return change


def test_missing_run_is_refused(workspace: Path) -> None:
    refuse(workspace, ConfigError, "id of one run", EvaluationRequest("nope", tiny_evaluation()))


def test_run_whose_ledger_is_of_another_workspace_is_refused(workspace: Path) -> None:
    (workspace / LEDGER_FILE).write_bytes(b"")

    refuse(workspace, StorageError, "ledger")


def test_run_that_is_not_finished_is_refused(workspace: Path) -> None:
    run = RunDirectory.open(run_folder(workspace))
    run.write_status("halted", at=datetime.now(UTC), update=3, steps=9, reason="NaN")

    refuse(workspace, ConfigError, "finished to be evaluated")


def test_run_on_other_data_is_refused(workspace: Path) -> None:
    data = json.loads((run_folder(workspace) / "run.json").read_text())["data"]
    reseal(run_folder(workspace), data={**data, "data_sha256": "0" * 64})

    refuse(workspace, ConfigError, "data that it learned from")


@pytest.mark.parametrize("part", ["validation", "test"])
def test_period_without_a_usable_bar_is_refused(
    workspace: Path, on_data: Callable[[Change], None], part: str
) -> None:
    on_data(unusable(part))

    refuse(workspace, DataError, "usable bar")


@pytest.mark.parametrize(("part", "bars"), [("validation", 8), ("test", 16)])
def test_part_with_too_few_bars_is_refused(
    workspace: Path, on_data: Callable[[Change], None], part: str, bars: int
) -> None:
    on_data(shorter(part, bars))

    found = refuse(workspace, DataError, f"{part} must have {bars + 1} usable bars")

    assert found.remedy


def test_parts_of_just_enough_bars_are_judged(
    workspace: Path, on_data: Callable[[Change], None]
) -> None:
    on_data(lambda data: shorter("validation", 9)(shorter("test", 17)(data)))

    found = evaluate_run(EvaluationRequest(RUN, tiny_evaluation()), workspace)

    assert [part.bars for part in found.dossier.parts] == [8, 16]
    assert "momentum" not in {row.policy for row in found.dossier.test.policies}
    caveats = found.dossier.header.caveats
    assert [each for each in caveats if "momentum is left out of test: it needs 1,764" in each]


def test_damaged_result_and_journal_are_refused(workspace: Path) -> None:
    journal = RunDirectory.open(run_folder(workspace)).journal_path("recorder")
    whole = journal.read_bytes()
    journal.write_bytes(b"{\n" + whole)
    refuse(workspace, StorageError, "recorder.jsonl")
    reseal(run_folder(workspace))
    refuse(workspace, StorageError, "line 1 is no JSON")
    journal.write_bytes(whole)

    (run_folder(workspace) / "result.json").write_text("{")
    reseal(run_folder(workspace))
    refuse(workspace, StorageError, "readable result")


@pytest.mark.parametrize(
    ("analysis", "options", "words"),
    [
        ("walk_forward", {"walk_forward__window_days": 400}, "for a window of 400"),
        ("walk_forward", {"walk_forward__validation_share_frac": 0.01}, "validation must have"),
        ("regimes", {"regimes__trend_bars": 100_000}, "regime's past"),
        ("ablation", {"ablation__variants": []}, "must have a variant"),
    ],
)
def test_named_piece_that_is_impossible_is_refused_with_the_reason(
    workspace: Path, analysis: str, options: dict[str, Any], words: str
) -> None:
    config = tiny_evaluation(analysis, **options)

    found = refuse(
        workspace,
        DataError,
        f"analysis {analysis}",
        EvaluationRequest(RUN, config, must_have=(analysis,)),
    )

    assert words in str(found.was)


def test_results_that_cannot_be_put_anywhere_are_refused(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    refuse(
        workspace,
        StorageError,
        "file",
        EvaluationRequest(RUN, tiny_evaluation(), out=tmp_path / "file" / "in"),
    )


def test_training_that_is_refused_was_not_tried(workspace: Path, subject: EvaluatedRun) -> None:
    before = (workspace / LEDGER_FILE).read_bytes()
    order = RetrainingSpec(
        seed=9,
        steps_share_frac=0.2,
        changes=(("learner.direct.learning_rate.first", 0.01),),
        last_days=("2025-08-15", "2025-09-05", "2025-09-19"),
        windows=(("2025-09-13", "2025-09-14"),),  # a weekend
    )

    with pytest.raises(DataError, match="window must have two bars"):
        retraining_analysis(order).measure(AnalysisInputs(subject))

    assert (workspace / LEDGER_FILE).read_bytes() == before
