"""`tradingbot runs list | show | compare | verify`, and help of all verbs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from fixtures.small_runs import NOW, content, make_run
from tradingbot.app import runs_view
from tradingbot.app.cli.application import run as run_command
from tradingbot.runs import Journal, RunDirectory, save_checkpoint


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace without datasets."""
    return tmp_path / "workspace"


@pytest.fixture
def first(workspace: Path) -> RunDirectory:
    """A finished run."""
    run = make_run(workspace / "runs", "first")
    with Journal(run.journal_path("metrics")) as journal:
        journal.append({"event": "Updated", "sequence": 1, "metrics": {"loss/policy": [9.0, 9.0]}})
        journal.append({"event": "Updated", "sequence": 2, "metrics": {"loss/policy": [1.0, 2.0]}})
    with Journal(run.journal_path("evaluations")) as journal:
        journal.append({"sequence": 2, "scores": {"sharpe": [0.5, 1.5]}})
    save_checkpoint(run, "last", 1, content(1.0, metrics={"score": 0.5}))
    save_checkpoint(run, "final", 2, content(2.0, metrics={"score": 1.0}, labels=("last",)))
    verdicts = ("agent AAA: 97 % HOLD",)
    run.write_status("finished", at=NOW, update=2, steps=200, verdicts=verdicts)
    return run


@pytest.fixture
def second(workspace: Path, first: RunDirectory) -> RunDirectory:
    """Another, with another configuration and the same weights."""
    config = {"ppo": {"epochs": 9}, "symbols": ["AAA", "BBB"]}
    run = make_run(workspace / "runs", "second", config=config, seed=8)
    save_checkpoint(run, "final", 2, content(2.0, metrics={"score": 1.0}))
    run.write_status("halted", at=NOW, update=2, steps=200, reason="collapse")
    return run


def test_list_names_state_and_score_of_every_run(call, first, second) -> None:
    rows = call("runs", "list", "--json").document

    assert [(row["id"], row["state"], row["score"]) for row in rows] == [
        ("first", "finished", 1.0),
        ("second", "halted", 1.0),
    ]
    assert rows[0]["created_at"] == "2026-01-05T12:30:00+00:00"
    table = call("runs", "list").out
    assert "first" in table
    assert "toy, synthetic" in table


def test_list_scores_no_run_whose_agents_all_stay_out(
    call, first, monkeypatch: pytest.MonkeyPatch
) -> None:
    def result_with(*trading: str) -> None:
        result = SimpleNamespace(trading_agents=trading)
        monkeypatch.setattr(runs_view, "result_of", lambda _: result)

    result_with("AAA")
    (row,) = call("runs", "list", "--json").document
    assert (row["score"], row["trading_agents"], row["agents"]) == (1.0, 1, 2)
    assert "1 of 2" in call("runs", "list").out

    result_with()
    (row,) = call("runs", "list", "--json").document
    assert (row["score"], row["trading_agents"], row["agents"]) == (None, 0, 2)
    assert "0 of 2" in call("runs", "list").out


def test_show_names_every_agent(call, workspace) -> None:
    many = tuple(f"S{number:03}" for number in range(30))
    make_run(workspace / "runs", "thirty", data={"agents": many})

    shown = call("runs", "show", "thirty").out

    assert all(name in shown for name in many)


def test_list_of_nothing_says_how_to_begin(call, workspace: Path) -> None:
    answer = call("runs", "list")

    assert answer.code == 0
    assert f"begin one with: tradingbot --workspace {workspace} train" in answer.err
    assert call("runs", "list", "--json").document == []


def test_list_shows_a_damaged_run_beside_the_others(call, first, second) -> None:
    (second.path / "run.json").write_text("{")

    rows = {row["id"]: row for row in call("runs", "list", "--json").document}

    assert rows["second"]["state"] == "damaged"
    assert "run.json" in rows["second"]["problem"]
    assert rows["first"]["problem"] is None


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("run.json", None, "run.json: No such file"),
        ("run.json", "{", "run.json: content: Invalid JSON"),
        ("status.json", None, "status.json: No such file"),
    ],
)
def test_run_without_readable_record_is_listed_and_verify_says_what_is_wrong(
    call, first, file: str, text: str | None, reason: str
) -> None:
    path = first.path / file
    path.unlink() if text is None else path.write_text(text)

    (row,) = call("runs", "list", "--json").document
    assert (row["id"], row["state"]) == ("first", "damaged")
    assert row["problem"].startswith(reason)
    answer = call("runs", "verify", "first")
    assert answer.code == 1
    assert f"run is damaged: {reason}" in answer.out
    assert "2 of 2 checkpoints are whole" in answer.out
    assert call("runs", "verify", "fir", "--json").document["problems"][0].startswith(reason)
    shown = call("runs", "show", "first")
    assert shown.code != 0
    assert file in shown.err
    assert "id of one run" not in shown.err


@pytest.mark.parametrize("damage", ["edited", "missing"])
def test_verify_reads_every_file_that_the_run_recorded(call, first, damage: str) -> None:
    files = ("run.json", "metrics.jsonl", "evaluations.jsonl")
    first.store_status(first.finished_status(files, at=NOW, update=2, steps=200))
    assert call("runs", "verify", "first").code == 0
    journal = first.journal_path("metrics")
    if damage == "edited":
        journal.write_text(journal.read_text().replace("9.0", "8.0"))
    else:
        journal.unlink()

    answer = call("runs", "verify", "first", "--json")

    assert (answer.code, answer.document["whole"]) == (1, False)
    said = {"edited": "metrics.jsonl: other content", "missing": "metrics.jsonl: missing"}[damage]
    assert answer.document["problems"] == [said]
    assert f"run is damaged: {said}" in call("runs", "verify", "first").out
    shown = call("runs", "show", "first")
    assert (shown.code, "as training left them" in shown.err) == (2, True)


def test_verify_compares_journals_of_an_unfinished_run_with_its_checkpoint(call, second) -> None:
    with Journal(second.journal_path("metrics")) as journal:
        journal.append({"update": 1})
        save_checkpoint(second, "last", 3, content(3.0, journals={"metrics": journal.mark()}))
        journal.append({"update": 2})  # after the checkpoint: cut off when the run is resumed
    assert call("runs", "verify", "second").code == 0

    second.journal_path("metrics").write_text("")

    assert call("runs", "verify", "second", "--json").document["problems"] == [
        "metrics.jsonl: 13 bytes short"
    ]


def test_list_breaks_no_run_id(call, workspace) -> None:
    name = "20260105-123000-direct-0123456789-with-a-long-name-of-many-words-in-it-1234"
    make_run(workspace / "runs", name)

    assert name in call("runs", "list").out


def test_run_whose_process_is_gone_is_called_killed(call, workspace) -> None:
    run = make_run(workspace / "runs", "gone")

    assert call("runs", "list", "--json").document[0]["state"] == "killed"
    with run.hold():
        assert call("runs", "list", "--json").document[0]["state"] == "running"


def test_show_tells_everything_for_people_and_machines(call, first) -> None:
    answer = call("runs", "show", "fir")

    for text in ("finished", first.record.config_sha256[:12], "d" * 12, "none", "00000002-final"):
        assert text in answer.out
    for text in ("loss/policy", "1.5", "eval/sharpe", "flight recorder: agent AAA: 97 % HOLD"):
        assert text in answer.out
    document = call("runs", "show", "first", "--json").document
    assert document["record"]["config"]["ppo"]["epochs"] == 4
    assert document["metrics"] == {
        "sequence": 2.0, "loss/policy": 1.5, "eval/sequence": 2.0, "eval/sharpe": 1.0
    }  # fmt: skip
    assert [line["labels"] for line in document["checkpoints"]] == [["last"], ["final", "last"]]
    assert document["result"] is None


def test_compare_names_what_differs_and_whether_weights_are_equal(call, first, second) -> None:
    document = call("runs", "compare", "first", "second", "--json").document

    assert document["config"] == ["ppo.epochs: 4 → 9"]
    assert document["facts"] == {"seed": [7, 8], "state": ["finished", "halted"]}
    assert document["metrics"]["loss/policy"] == [1.5, None]
    assert document["weights_are_equal"] is True
    assert "equal, bit for bit" in call("runs", "compare", "first", "second").out


def test_compare_of_equal_runs_prints_no_empty_table(call, first) -> None:
    answer = call("runs", "compare", "first", "first")

    assert "Configuration: is the same" in answer.out
    assert "Facts that differ: none" in answer.out
    assert "note:" not in answer.out


def test_compare_notes_that_runs_are_at_different_updates(call, first, second) -> None:
    second.write_status("halted", at=NOW, update=1, steps=100)
    note = "first is at update 2, second at update 1: their figures are not of one moment"

    assert f"note: {note}" in call("runs", "compare", "first", "second").out
    assert call("runs", "compare", "first", "second", "--json").document["note"] == note


def test_compare_finds_other_weights(call, first, second) -> None:
    save_checkpoint(second, "final", 3, content(3.0))

    assert "weights: different" in call("runs", "compare", "first", "second").out


def test_verify_finds_the_damaged_one_and_leaves_with_one(call, first) -> None:
    assert call("runs", "verify", "first").code == 0
    path = first.checkpoints / "00000001-last" / "training.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))

    answer = call("runs", "verify", "first", "--json")

    assert answer.code == 1
    assert answer.document["whole"] is False
    problems = {line["name"]: line["problem"] for line in answer.document["checkpoints"]}
    assert problems["00000002-final"] is None
    assert "another hash" in problems["00000001-last"]
    assert "1 of 2 checkpoints are whole" in call("runs", "verify", "first").out


@pytest.mark.parametrize("verb", ["show", "verify"])
def test_unknown_run_is_one_line_with_a_suggestion(call, first, verb: str) -> None:
    answer = call("runs", verb, "frist")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert "Did you mean 'first'?" in answer.err


@pytest.mark.parametrize("name", ["model.zip", "model.pt", "model.pkl"])
def test_model_file_of_another_program_is_refused(call, tmp_path: Path, name: str) -> None:
    torch.save({"w": torch.ones(1)}, tmp_path / name)

    answer = call("runs", "verify", str(tmp_path / name))

    assert answer.code == 2
    assert "can run code" in answer.err
    assert answer.err.count("\n") == 1


def test_help_of_every_verb_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("list", "show", "compare", "verify", "migrate"):
        assert run_command(["runs", verb, "--help"]) == 0
        assert f"Example: tradingbot runs {verb}" in capsys.readouterr().out
