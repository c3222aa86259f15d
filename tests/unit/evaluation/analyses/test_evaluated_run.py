"""A run as the subject of an evaluation: its backtest is what training's own judge saw."""

from __future__ import annotations

import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.sealed_runs import edit_json, reseal
from fixtures.tiny_training import tiny_config
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError, StorageError
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.analyses.health import measure_health
from tradingbot.evaluation.analyses.training_facts import gather_training_facts
from tradingbot.evaluation.backtest import PolicyUnderTest, sleeve_config
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.learning.playing import play
from tradingbot.market.costs import CostProfile
from tradingbot.runs import RunDirectory, latest_good
from tradingbot.runs.ledger import LEDGER_FILE
from tradingbot.runs.verification import file_problems
from tradingbot.training.preparation import prepare_training_setup
from tradingbot.training.session import begin_run
from tradingbot.training.trial_ledger import require_counted

UNSHRUNK: dict[str, object] = {"validation__shrink": False}
LEARNERS: dict[str, dict[str, object]] = {
    "ppo continuous with shorts": {
        **UNSHRUNK,
        "learner__name": "ppo",
        "learner__ppo__rollout_steps": 16,
        "task__rules__action__space": "continuous",
        "task__rules__limits__allow_short": True,
    },
    "ppo codes": {
        **UNSHRUNK,
        "learner__name": "ppo",
        "learner__ppo__rollout_steps": 16,
        "task__rules__action__space": "discrete",
    },
}


def selected_wealth(subject: EvaluatedRun) -> np.ndarray:
    """Play the selected weights on the test part through tensors: (S + 1, N)."""
    setup = prepare_training_setup(subject.config, subject.data, seed=5)
    checkpoint, _ = latest_good(subject.run, to_resume=False, label="selected")
    assert checkpoint is not None
    for name, network in setup.learner.networks().items():
        stored = {
            key.removeprefix(f"{name}."): tensor
            for key, tensor in checkpoint.agent.items()
            if key.startswith(f"{name}.")
        }
        network.load_state_dict(stored)
    trained_on, bars = setup.learner.task, subject.bars("test")
    assert isinstance(trained_on, PopulationTask)
    whole = evaluation_task(
        subject.data.world,
        setup.env,
        first_bar=bars.start,
        last_bar=bars.stop - 1,
        dtype=torch.float64,
    )
    task = trained_on.dress(whole)
    return play(task, setup.learner.act, task.episode_bars).wealth[..., 0].double().numpy()


@pytest.mark.parametrize("name", ["direct targets", *LEARNERS])
def test_backtest_equals_the_task_of_training_bar_for_bar(
    subject: EvaluatedRun, tmp_path: Path, name: str
) -> None:
    opened = subject
    if name in LEARNERS:
        begin_run(tiny_config(**LEARNERS[name]), tmp_path, name="it")
        opened = open_evaluated_run("it", tmp_path)

    found = opened.backtest("test")

    np.testing.assert_allclose(found.equity, selected_wealth(opened), rtol=2e-6)
    assert (found.turnover_frac > 0.0).mean() > 0.02
    part = json.loads((opened.run.path / "result.json").read_text())["parts"][-1]
    assert (found.first_day, found.last_day) == (part["first_day"], part["last_day"])
    assert found.n_bars == part["bars"]


def test_costs_and_delay_are_those_asked_for(subject: EvaluatedRun) -> None:
    usual = subject.backtest("test")
    dear = subject.backtest("test", costs=CostProfile(commission_frac=50e-4))
    late = subject.backtest("test", delay_bars=2)

    assert usual.costs == subject.env.costs
    assert dear.portfolio[-1] < usual.portfolio[-1]
    assert np.array_equal(late.action[0], usual.action[0])
    assert not np.array_equal(late.equity, usual.equity)
    assert (late.equity[:3] == 1.0).all()


def test_parts_are_those_of_the_split_and_ranges_are_taken(subject: EvaluatedRun) -> None:
    split = subject.data.split
    validation = subject.backtest("validation")
    some = subject.backtest(IndexRange(split.test.start, split.test.start + 20))

    assert validation.closed_at[-1] == subject.data.world.closed_at[split.validation.stop - 1]
    assert some.n_bars == 19
    with pytest.raises(DataError, match="both in the data"):
        subject.backtest(IndexRange(split.test.start, subject.data.world.n_bars + 5))
    with pytest.raises(DataError, match="one after it"):
        subject.backtest(IndexRange(split.test.start, split.test.start + 1))


def test_baselines_trade_the_same_bars(subject: EvaluatedRun) -> None:
    world = subject.data.world
    hold, flat = subject.backtest_all(
        [PolicyUnderTest(name, baseline(name, world)) for name in ("buy_and_hold", "flat")],
        env=sleeve_config(subject.env.costs),
    )

    assert np.array_equal(hold.closed_at, subject.backtest().closed_at)
    assert (flat.equity == 1.0).all()
    assert hold.position_frac.mean() > 0.9


def test_run_that_cannot_be_judged_is_refused(evaluated_workspace: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(ConfigError, match=r"id of one run.*'nope'"):
        open_evaluated_run("nope", tmp_path)
    for name in ("halted", "other", "damaged", "bare"):
        shutil.copytree(evaluated_workspace / "runs" / "tiny", runs / name)

    halted = RunDirectory.open(runs / "halted")
    halted.write_status("halted", at=datetime.now(UTC), update=3, steps=9, reason="NaN everywhere")
    with pytest.raises(ConfigError, match=r"finished to be evaluated, was halted: NaN everywhere"):
        open_evaluated_run("halted", tmp_path)

    data = json.loads((runs / "other" / "run.json").read_text())["data"]
    reseal(runs / "other", data={**data, "data_sha256": "0" * 64})
    with pytest.raises(ConfigError, match=r"data that it learned from.*0{12}"):
        open_evaluated_run("other", tmp_path)

    for weights in (runs / "damaged").rglob("agent.safetensors"):
        weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(StorageError, match="checkpoint"):
        open_evaluated_run("damaged", tmp_path)

    shutil.rmtree(runs / "bare" / "checkpoints")
    with pytest.raises(StorageError, match="checkpoint"):
        open_evaluated_run("bare", tmp_path)


@pytest.fixture
def copy(evaluated_workspace: Path, tmp_path: Path) -> Path:
    """The finished run in a workspace of its own."""
    return Path(shutil.copytree(evaluated_workspace / "runs" / "tiny", tmp_path / "runs" / "tiny"))


READ_BY_VERDICTS = (
    *("run.json", "result.json", "metrics.jsonl", "recorder.jsonl", "evaluations.jsonl"),
    *("preparation.jsonl", "checkpoints/*-selected/manifest.json"),
)


def flip_bit(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        (file, damage)
        for file in READ_BY_VERDICTS
        for damage in ("missing", "longer", "link", "empty", "cut", "bit")
        if file != "preparation.jsonl" or damage in ("missing", "longer", "link")  # it is empty
    ],
)
def test_every_file_that_a_verdict_reads_must_be_as_training_left_it(
    copy: Path, file: str, damage: str
) -> None:
    """T05 and M05 of every file of a run."""
    (path,) = copy.glob(file)
    content = path.read_bytes()
    damages = {
        "empty": b"",
        "cut": content[: len(content) // 2],
        "bit": flip_bit(content) if content else b"",
        "longer": content + b"{}\n",
    }
    path.unlink()
    if damage == "link":
        elsewhere = copy.parent / "elsewhere"
        elsewhere.write_bytes(content)
        path.symlink_to(elsewhere)
    elif damage != "missing":
        path.write_bytes(damages[damage])

    if file == "run.json" and damage in ("missing", "empty", "cut", "bit", "longer"):
        with pytest.raises(StorageError):
            RunDirectory.open(copy)
        return
    problems = file_problems(RunDirectory.open(copy))
    assert [each.split(":")[0] for each in problems] == [str(path.relative_to(copy))]
    with pytest.raises(StorageError, match=f"as training left them, was {path.relative_to(copy)}"):
        open_evaluated_run("tiny", copy.parents[1])


def test_status_that_was_edited_is_refused(copy: Path) -> None:
    edit_json(copy / "status.json", files={})
    with pytest.raises(StorageError, match="edited"):
        open_evaluated_run("tiny", copy.parents[1])


def test_run_sealed_again_after_an_edit_is_refused_by_the_ledger(
    copy: Path, evaluated_workspace: Path
) -> None:
    workspace = copy.parents[1]
    shutil.copy(evaluated_workspace / LEDGER_FILE, workspace)
    require_counted(RunDirectory.open(copy), workspace)

    edit_json(copy / "result.json", trading_agents=[])
    reseal(copy)

    assert file_problems(RunDirectory.open(copy)) == ()
    with pytest.raises(StorageError, match="status that its result in the ledger names"):
        require_counted(RunDirectory.open(copy), workspace)

    content = json.loads((copy / "status.json").read_text()) | {"version": 1, "files": {}}
    (copy / "status.json").write_text(json.dumps({**content, "sha256": ""}))
    with pytest.raises(StorageError, match="status that its result in the ledger names"):
        require_counted(RunDirectory.open(copy), workspace)


def test_journals_of_a_run_of_version_1_are_compared_with_its_checkpoint(copy: Path) -> None:
    content = json.loads((copy / "status.json").read_text()) | {"version": 1}
    del content["files"], content["sha256"]
    (copy / "status.json").write_text(json.dumps(content))
    assert open_evaluated_run("tiny", copy.parents[1]).run.id == "tiny"

    journal = copy / "recorder.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    for damaged in (b"".join(lines[:-1]), b"".join(lines) + lines[-1]):
        journal.write_bytes(damaged)
        with pytest.raises(StorageError, match=r"recorder\.jsonl"):
            open_evaluated_run("tiny", copy.parents[1])


def test_nothing_of_a_run_is_read_for_a_verdict_but_what_is_recorded(
    copy: Path, evaluated_workspace: Path
) -> None:
    """Whatever reads another file one day must record it first."""
    workspace = copy.parents[1]
    shutil.copy(evaluated_workspace / LEDGER_FILE, workspace)
    opened: list[Path] = []
    is_listening = True

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if is_listening and event == "open" and isinstance(arguments[0], str | os.PathLike):
            opened.append(Path(os.fspath(arguments[0])))

    sys.addaudithook(listen)  # for the life of the process: hence the switch
    subject = open_evaluated_run("tiny", workspace)
    gather_training_facts(subject)
    measure_health(AnalysisInputs(subject))
    require_counted(subject.run, workspace)
    is_listening = False

    read = {path.relative_to(copy).as_posix() for path in opened if path.is_relative_to(copy)}
    selected = {each for each in read if each.split("/")[1:2] and "-selected" in each}
    sealed_alone = {"status.json", "ledger.json"}  # by its own hash; by the ledger
    folders = {each for each in read if (copy / each).is_dir()}
    assert {"result.json", "recorder.jsonl", "metrics.jsonl", "run.json"} <= read
    assert read - selected - sealed_alone - folders <= set(subject.run.status().files)
