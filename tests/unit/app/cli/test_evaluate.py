"""`tradingbot evaluate`: bad input is one line and exit code 2; good input leaves a dossier."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fixtures.tiny_evaluation import make_run, tiny_evaluation_arguments
from tradingbot.app.cli.application import run
from tradingbot.app.evaluation import subject as subject_module
from tradingbot.app.gates_view import read_dossier
from tradingbot.runs import RunDirectory


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run that was evaluated once; not to be changed."""
    workspace = tmp_path_factory.mktemp("evaluated")
    make_run(workspace)
    assert evaluate(workspace, "tiny", "--jobs", "1") == 0
    return workspace


def evaluate(workspace: Path, *arguments: str) -> int:
    reference, *rest = arguments
    options = tiny_evaluation_arguments()
    return run(["--workspace", str(workspace), "evaluate", reference, *options, *rest])


def complain(capsys: pytest.CaptureFixture[str], workspace: Path, *arguments: str) -> str:
    capsys.readouterr()
    assert run(["--workspace", str(workspace), "evaluate", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_dossier_memo_tables_and_page_are_there(evaluated: Path) -> None:
    folder = evaluated / "runs" / "tiny" / "evaluation"

    dossier = read_dossier(folder.parent)
    assert dossier.header.run == "tiny"
    assert dossier.header.synthetic
    assert dossier.header.command.startswith("tradingbot evaluate tiny --preset quick")
    assert "commission" in dossier.header.costs
    assert dict(dossier.left_out)["seeds"] == "not asked for"
    assert json.loads((folder / "memo.json").read_text())["verdict"] in ("CONDITIONAL", "NO-GO")
    assert "<html" in (folder / "report.html").read_text()
    with (folder / "tables" / "policies.csv").open() as file:
        rows = list(csv.DictReader(file))
    agents = next(row for row in rows if (row["part"], row["policy"]) == ("test", "agents"))
    assert float(agents["net_bps_per_bar_low"]) == dossier.test.policies[0].net_bps_per_bar.low


def test_second_evaluation_makes_nothing_again_and_says_the_verdict_first(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = evaluated / "runs" / "tiny" / "evaluation"
    before = {path: path.stat().st_mtime_ns for path in (folder / "pieces").iterdir()}
    ledger = (evaluated / "ledger.jsonl").read_bytes()

    assert evaluate(evaluated, "tiny") == 0

    assert {path: path.stat().st_mtime_ns for path in (folder / "pieces").iterdir()} == before
    assert (evaluated / "ledger.jsonl").read_bytes() == ledger
    said = capsys.readouterr()
    assert said.out.startswith(("NO-GO", "CONDITIONAL"))
    assert f"Report: {folder / 'report.html'}" in said.out


def test_json_is_one_document_and_out_takes_the_results(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(evaluated, "tiny", "--json", "--out", str(tmp_path / "out")) == 0

    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["page"] == str(tmp_path / "out" / "report.html")
    assert document["dossier"]["header"]["run"] == "tiny"
    assert (tmp_path / "out" / "dossier.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent"], "run must be the id of one run"),
        (["tiny", "--preset", "quik"], "Did you mean 'quick'?"),
        (["tiny", "--preset", "absent.yaml"], "absent.yaml"),
        (["tiny", "--set", "seeds.cout=3"], "Did you mean 'count'?"),
        (["tiny", "--set", "seeds.count"], "--set must be NAME=VALUE"),
        (["tiny", "--pieces", "seds"], "Did you mean 'seeds'?"),
        (["tiny", "--pieces", "seeds,"], "--pieces must be names"),
        (["tiny", "--gates", "prodct"], "Did you mean 'product'?"),
        (
            ["tiny", "--pieces", "ablation", "--set", "ablation.variants=[encoder.preset=nothing]"],
            "nothing",
        ),
        (["tiny", "--jobs", "0"], "--jobs"),
    ],
)
def test_mistake_is_one_line(
    evaluated: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in complain(capsys, evaluated, *arguments)


def test_window_longer_than_the_data_is_refused_where_it_is_asked_for(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*tiny_evaluation_arguments("walk_forward"), "--set", "walk_forward.window_days=900"]

    said = complain(capsys, evaluated, "tiny", *options, "--pieces", "walk_forward", "--jobs", "1")

    assert "days for a window of 900" in said


def test_file_of_another_program_is_refused(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.zip"
    file.write_bytes(b"PK\x03\x04")

    assert "folder that tradingbot wrote" in complain(capsys, evaluated, str(file))


def test_run_that_did_not_finish_is_refused(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Path(shutil.copytree(evaluated, tmp_path / "copy"))
    unfinished = RunDirectory.open(workspace / "runs" / "tiny")
    unfinished.write_status("interrupted", at=datetime.now(UTC), update=3, steps=48)

    assert "must be finished to be evaluated" in complain(capsys, workspace, "tiny")


@pytest.mark.parametrize("is_ledger_gone", [True, False])
def test_run_that_is_not_in_the_ledger_is_refused_until_it_is_counted(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_ledger_gone: bool
) -> None:
    workspace = Path(shutil.copytree(evaluated, tmp_path / "copy"))
    (workspace / "runs" / "tiny" / "ledger.json").unlink()
    if is_ledger_gone:
        (workspace / "ledger.jsonl").unlink()

    said = complain(capsys, workspace, "tiny", *tiny_evaluation_arguments(), "--jobs", "1")

    assert "must have its training in the ledger of trials" in said
    assert "tradingbot train --resume tiny" in said
    # What it says to do works, also for a run that has ended.
    assert run(["--workspace", str(workspace), "train", "--resume", "tiny"]) == 0
    assert evaluate(workspace, "tiny", "--jobs", "1") == 0
    dossier = read_dossier(workspace / "runs" / "tiny")
    assert dossier.statistics.n_trials == (1 if is_ledger_gone else 2)


def test_equity_that_is_no_number_is_refused(
    evaluated: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = Path(shutil.copytree(evaluated, tmp_path / "copy"))
    shutil.rmtree(workspace / "runs" / "tiny" / "evaluation")
    honest = subject_module.Subject.backtest

    def broken(*given: Any, **named: Any) -> Any:
        played = honest(*given, **named)
        played.equity[3, 1] = np.nan
        return played

    monkeypatch.setattr(subject_module.Subject, "backtest", broken)
    options = tiny_evaluation_arguments()

    said = complain(capsys, workspace, "tiny", *options, "--jobs", "1")

    assert "equity must be a number at every bar, was nan" in said
    assert "AAPL" in said
