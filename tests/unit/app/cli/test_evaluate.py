"""`tradingbot evaluate`: bad input is one line and exit code 2; good input leaves a dossier."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fixtures.tiny_evaluation import make_run, tiny_evaluation_arguments
from tradingbot.app.cli.application import run
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses import evaluated_run as subject_module
from tradingbot.evaluation.pipeline.analysis_names import OPTIONAL
from tradingbot.evaluation.pipeline.stored_dossier import read_dossier
from tradingbot.executors import workers
from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import Entry, Kind, Ledger
from tradingbot.runs.receipt import write_receipts
from tradingbot.training.trial_ledger import data_key


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


def judge(workspace: Path) -> int:
    return run(["--workspace", str(workspace), "gates", "tiny", "--json"])


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
    before = {path: path.stat().st_mtime_ns for path in (folder / "analyses").iterdir()}
    ledger = Ledger(evaluated).entries()

    assert evaluate(evaluated, "tiny") == 0

    assert {path: path.stat().st_mtime_ns for path in (folder / "analyses").iterdir()} == before
    # No trial is counted again, and the same dossier is not noted again.
    assert Ledger(evaluated).entries() == ledger
    said = capsys.readouterr()
    assert said.out.startswith(("NO-GO", "CONDITIONAL"))
    assert f"Report: {folder / 'report.html'}" in said.out


def test_analyses_asked_for_one_by_one_keep_what_was_made_before(
    evaluated: Path, tmp_path: Path
) -> None:
    workspace = Path(shutil.copytree(evaluated, tmp_path / "copy"))

    def made_with(*options: str) -> tuple[set[str], str]:
        assert evaluate(workspace, "tiny", "--jobs", "1", *options) == 0
        dossier = read_dossier(workspace / "runs" / "tiny")
        return {*OPTIONAL} - {*dict(dossier.left_out)}, dossier.header.command

    assert made_with("--analyses", "regimes")[0] == {"regimes"}
    both, command = made_with("--analyses", "ensemble")
    assert both == {"regimes", "ensemble"}
    assert "--analyses regimes,ensemble" in command
    other = ("--set", "regimes.trend_bars=30")
    assert made_with("--analyses", "ensemble", *other)[0] == {"ensemble"}


def test_json_is_one_document_and_out_takes_the_results(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(evaluated, "tiny", "--json", "--out", str(tmp_path / "out")) == 0

    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["page"] == str(tmp_path / "out" / "report.html")
    assert document["dossier"]["header"]["run"] == "tiny"
    assert judge(evaluated) == 0  # by the dossier of the run's own folder, which is as it was
    assert (tmp_path / "out" / "dossier.json").is_file()


def test_memo_judges_by_the_gates_of_the_file_that_is_named(
    evaluated: Path, tmp_path: Path
) -> None:
    own, out = tmp_path / "own.yaml", tmp_path / "out"
    own.write_text(
        "gates:\n  - {name: edge/own, words: Net return per bar, metric: edge_bps_per_bar,"
        ' comparison: ">", target: 0.125, judged_by: low, required: true}\n'
    )

    assert evaluate(evaluated, "tiny", "--gates", str(own), "--out", str(out)) == 0

    memo = json.loads((out / "memo.json").read_text())
    assert [(each["gate"], each["target"]) for each in memo["gates"]] == [
        ("edge/own", "> 0.125 at the low end")
    ]
    assert str(own) in memo["headline"]


def test_jobs_are_the_processes_that_make_what_is_missing(
    evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, asked = Path(shutil.copytree(evaluated, tmp_path / "copy")), list[int]()
    shutil.rmtree(workspace / "runs" / "tiny" / "evaluation" / "analyses")

    def refuse(_: object, count: int) -> None:
        asked.append(count)
        raise ConfigError("processes must not be started here", was=count)

    monkeypatch.setattr(workers, "ProcessExecutor", refuse)
    for jobs in ("2", "3"):
        assert evaluate(workspace, "tiny", "--jobs", jobs) == 2

    assert asked == [2, 3]


def test_gates_judge_what_the_evaluation_left_and_measured(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert judge(evaluated) == 0
    gates = {each["gate"]: each for each in json.loads(capsys.readouterr().out)["gates"]}

    stored = json.loads((evaluated / "runs/tiny/evaluation/memo.json").read_text())["gates"]
    assert {each["gate"]: each["outcome"] for each in stored} == {
        name: each["outcome"] for name, each in gates.items()
    }
    assert gates["architecture/nan"]["measured"] == 0.0
    assert gates["architecture/parameters"]["outcome"] == "pass"
    assert gates["data/scaler"]["reason"].startswith("the market was generated in memory")
    assert gates["prototype/reproducible"]["outcome"] == "not measured"
    assert gates["F production/onnx"]["outcome"] == "not measured"  # it asks for a benchmark
    assert "F production/breakers" not in gates  # no record of drills reaches the gates


def sha256_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def note(workspace: Path, kind: Kind, name: str, config_hash: str) -> Entry:
    data = data_key(RunDirectory.open(workspace / "runs" / "tiny").record.data)
    return Ledger(workspace).begin(
        kind, data=data, run=name, config_hash=config_hash, at=datetime.now(UTC)
    )


@pytest.mark.parametrize(
    "damage", ["changed", "unnoted", "of another run", "before the run", "earlier"]
)
def test_gates_refuse_a_dossier_that_is_not_the_one_the_evaluation_left(
    evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    workspace = Path(shutil.copytree(evaluated, tmp_path / "copy"))
    file = workspace / "runs" / "tiny" / "evaluation" / "dossier.json"
    ledger = workspace / "ledger.jsonl"
    if damage == "changed":
        file.write_text(file.read_text().replace('"is_healthy": ', '"is_healthy":  ', 1))
    elif damage == "unnoted":
        lines = ledger.read_text().splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if '"kind":"dossier"' in line)
        ledger.write_text("".join(lines[:first]))
    elif damage == "of another run":
        file.write_bytes(file.read_bytes() + b"\n")
        note(workspace, "dossier", "tiny2", sha256_of(file))
    elif damage == "before the run":  # of one that had its name
        ledger.unlink()
        note(workspace, "dossier", "tiny", sha256_of(file))
        began = note(workspace, "training", "tiny", "c" * 64)
        seal = RunDirectory.open(file.parents[1]).status().sha256
        Ledger(workspace).finish(
            began, 0.0, alpha_sharpe_per_bar=0.0, at=datetime.now(UTC), record_sha256=seal
        )
        write_receipts(file.parents[1], (began.receipt,))
    else:
        selected = file.read_bytes()
        assert evaluate(workspace, "tiny", "--jobs", "1", "--analyses", "regimes") == 0
        assert file.read_bytes() != selected
        file.write_bytes(selected)
    capsys.readouterr()

    assert judge(workspace) == 2

    (said,) = capsys.readouterr().err.splitlines()
    assert "must be the file that its evaluation left" in said
    assert str(file) in said
    assert json.loads(said)["error"].endswith(" evaluate tiny.")
    is_unknown = damage in ("unnoted", "before the run")
    assert ("no hash of it there" if is_unknown else "changed since") in said
    assert evaluate(workspace, "tiny", "--jobs", "1") == 0  # what it says to do works
    assert judge(workspace) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent"], "run must be the id of one run"),
        (["tiny", "--preset", "quik"], "Did you mean 'quick'?"),
        (["tiny", "--preset", "absent.yaml"], "absent.yaml"),
        (["tiny", "--set", "seeds.cout=3"], "Did you mean 'count'?"),
        (["tiny", "--set", "seeds.count"], "--set must be NAME=VALUE"),
        (["tiny", "--analyses", "seds"], "Did you mean 'seeds'?"),
        (["tiny", "--analyses", "seeds,"], "--analyses must be names"),
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
    told = tiny_evaluation_arguments("walk_forward")
    options = ["walk_forward.window_days=900" if "window_days" in each else each for each in told]

    said = complain(
        capsys, evaluated, "tiny", *options, "--analyses", "walk_forward", "--jobs", "1"
    )

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
    assert "train --resume tiny" in said
    # What it says to do works, also for a run that has ended.
    assert run(["--workspace", str(workspace), "train", "--resume", "tiny"]) == 0
    assert evaluate(workspace, "tiny", "--jobs", "1") == 0
    dossier = read_dossier(workspace / "runs" / "tiny")
    assert dossier.statistics.n_trials == 1  # its entry is found again where the ledger has it


def test_equity_that_is_no_number_is_refused(
    evaluated: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = Path(shutil.copytree(evaluated, tmp_path / "copy"))
    shutil.rmtree(workspace / "runs" / "tiny" / "evaluation")
    honest = subject_module.EvaluatedRun.backtest

    def broken(*given: Any, **named: Any) -> Any:
        played = honest(*given, **named)
        played.equity[3, 1] = np.nan
        return played

    monkeypatch.setattr(subject_module.EvaluatedRun, "backtest", broken)
    options = tiny_evaluation_arguments()

    said = complain(capsys, workspace, "tiny", *options, "--jobs", "1")

    assert "equity must be a number at every bar, was nan" in said
    assert "AAPL" in said


def test_several_runs_make_one_table_of_phases(
    evaluated: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps([{"name": "her_success_gain", "value": 0.9}]))
    asked = ["--workspace", str(evaluated), "gates", "--phase", "A=tiny", "--phase", "B=tiny"]

    capsys.readouterr()

    assert run([*asked, "--bench", str(file), "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judge(evaluated) == 0

    single = {each["gate"]: each for each in json.loads(capsys.readouterr().out)["gates"]}
    wanted = [name for name in single if name.startswith(("A continuous/", "B hierarchy/"))]
    assert [each["result"]["gate"] for each in judged] == wanted
    for each in judged:
        name = each["result"]["gate"]
        if name == "B hierarchy/hindsight":
            assert (each["run"], each["result"]["outcome"]) == (None, "pass")
        else:
            assert each["run"]["run"] == "tiny"
            figures = ("measured", "outcome", "target")
            assert [each["result"][key] for key in figures] == [
                single[name][key] for key in figures
            ]

    assert run(asked) == 0
    said = capsys.readouterr().out
    assert "A continuous/entropy" in said
    assert "seed 5, 2 agents, 192 steps each; synthetic market" in said


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("--phase", "H=tiny"), "a phase must be one of the gates, was H"),
        (("--phase", "A"), "--phase must be PHASE=RUN"),
        (("--phase", "A=other"), "other"),
        (("tiny", "--phase", "A=tiny"), "phases name their runs"),
        (("--all", "--phase", "A=tiny"), "phases name their runs"),
    ],
)
def test_phases_that_cannot_be_judged_are_refused(
    evaluated: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], rule: str
) -> None:
    assert run(["--workspace", str(evaluated), "gates", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert rule in lines[0]
