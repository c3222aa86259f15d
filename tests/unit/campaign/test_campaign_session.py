"""A whole campaign: phases in order, gates judged, stopped, gone on with, found again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_campaign import OPTIONS, tiny_campaign
from tradingbot.app.cli.application import run
from tradingbot.campaign import phases
from tradingbot.campaign.phases import (
    GATES_OF,
    PHASES,
    CampaignWalk,
    PhaseFinding,
    walk_full,
    walk_master,
)
from tradingbot.campaign.request import campaign_config
from tradingbot.campaign.session import CampaignCallbacks, WalkedCampaign, walk_campaign
from tradingbot.campaign.status import LOCK_FILE, PhaseRecord, StatusBoard, read_status
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.data.ingest import ingest
from tradingbot.data.sources.files import FileImport
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, InterruptionError, UserError
from tradingbot.domain.timeframe import BarGrid
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.features.pipeline import synthetic_source
from tradingbot.runs.ledger import Ledger
from tradingbot.runs.lock import hold_lock
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("campaign")


@pytest.fixture(scope="module")
def walked(workspace: Path) -> WalkedCampaign:
    return walk_campaign(tiny_campaign(), workspace, go_on=True)


def test_phases_are_walked_in_order_and_each_says_what_it_found(walked: WalkedCampaign) -> None:
    states = {phase.name: phase.state for phase in walked.status.phases}

    assert list(states) == list(PHASES) == list(GATES_OF)
    assert states["data"] == states["architecture"] == "passed"
    assert states["environment"] == "not measured"
    assert states["prototype"] == states["tuning"] == "left out"
    assert states["full"] == states["final"] == "failed"
    assert all(phase.words for phase in walked.status.phases)
    assert walked.status.state == "finished"
    assert walked.status.verdict == "NO-GO"


def test_campaign_whose_process_died_is_said_to_be_interrupted(
    walked: WalkedCampaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "campaigns" / "cut"
    folder.mkdir(parents=True)
    at_work = replace(walked.status.with_phase(PhaseRecord("full", "running")), state="running")
    StatusBoard(folder, at_work).write()  # what a kill -9 leaves
    command = ["--workspace", str(tmp_path), "run", "cut", "--status"]

    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["is_running"], told["status"]["state"]) == (False, "interrupted")
    states = {phase["name"]: phase["state"] for phase in told["status"]["phases"]}
    assert (states["full"], states["data"]) == ("interrupted", "passed")
    assert run(command) == 0
    shown = capsys.readouterr().out
    assert "No process walks it" in shown
    assert "running" not in shown

    with hold_lock(folder / LOCK_FILE, "campaign"):
        run([*command, "--json"])
    assert json.loads(capsys.readouterr().out)["status"]["state"] == "running"


def test_gates_of_every_phase_are_those_of_the_file(walked: WalkedCampaign) -> None:
    gates = load_gates()
    for phase in walked.status.phases:
        if phase.state != "left out":
            wanted = [gate.name for gate in gates if gate.phase in GATES_OF[phase.name]]
            assert [gate.gate for gate in phase.gates] == wanted
    data = walked.status.phase("data").gates
    assert {gate.metric: gate.measured for gate in data} == {
        "universe_covered_frac": 1.0,
        "causality_certificate": 1.0,
        "scaler_of_train": 1.0,
    }


def test_failed_gate_ends_a_campaign_that_is_not_told_to_go_on(
    walked: WalkedCampaign, workspace: Path
) -> None:
    stopped = walk_campaign(tiny_campaign(), workspace)

    assert stopped.status.state == "stopped at a gate"
    assert stopped.status.phase("full").failed
    assert stopped.status.phase("final").state == "waiting"


def test_same_campaign_again_trains_and_counts_nothing(
    walked: WalkedCampaign, workspace: Path
) -> None:
    record = workspace / "runs" / "tiny-full" / "result.json"
    trained, before = record.stat().st_mtime_ns, (workspace / "ledger.jsonl").read_bytes()

    again = walk_campaign(tiny_campaign(), workspace, go_on=True)

    assert record.stat().st_mtime_ns == trained
    assert (workspace / "ledger.jsonl").read_bytes() == before
    assert _told(again) == _told(walked)


def test_status_file_and_page_say_the_same(walked: WalkedCampaign) -> None:
    read = read_status(walked.folder)

    assert [phase.state for phase in read.phases] == [p.state for p in walked.status.phases]
    page = walked.page.read_text()
    assert "seed 5, costs" in page
    assert "seed 5, costs" in read.terms
    assert "NO-GO" in page
    assert "full/size" in page
    assert "synthetic" in page
    assert json.loads((walked.folder / "readiness.json").read_text())["ready"]


def test_campaign_with_other_settings_under_the_same_name_is_refused(
    walked: WalkedCampaign, workspace: Path
) -> None:
    with pytest.raises(ConfigError, match="data and settings that it began with") as refusal:
        walk_campaign(replace(tiny_campaign(), evaluation="quick"), workspace)

    assert refusal.value.was == "evaluation: required → quick"
    (walked.folder / "asked.json").unlink()  # as a version of before left it
    with pytest.raises(ConfigError, match="data and settings that it began with, was others"):
        walk_campaign(replace(tiny_campaign(), evaluation="quick"), workspace)


def test_until_ends_a_campaign_early(tmp_path: Path) -> None:
    early = walk_campaign(tiny_campaign(), tmp_path, until="architecture")

    assert early.status.state == "finished"
    assert early.status.phase("full").state == "waiting"
    assert early.status.verdict == ""


def test_until_keeps_what_a_finished_campaign_found_later(workspace: Path) -> None:
    whole = walk_campaign(tiny_campaign(), workspace, go_on=True)

    early = walk_campaign(tiny_campaign(), workspace, until="data")

    assert _told(early)[1:] == _told(whole)[1:]
    assert (early.status.verdict, early.status.headline) == (
        *(whole.status.verdict, whole.status.headline),
    )
    assert read_status(early.folder).verdict == "NO-GO"


def test_interrupted_training_is_resumed_by_the_same_campaign(tmp_path: Path) -> None:
    ended: list[PhaseRecord] = []
    stops = CampaignCallbacks(phase=ended.append, interrupted=lambda: len(ended) >= 5)
    with pytest.raises(InterruptionError):
        walk_campaign(tiny_campaign(), tmp_path, go_on=True, callbacks=stops)
    assert read_status(tmp_path / "campaigns" / "tiny").state == "interrupted"

    again = walk_campaign(tiny_campaign(), tmp_path, go_on=True)

    assert again.status.state == "finished"
    kinds = [each.kind for each in Ledger(tmp_path).entries()]
    assert kinds.count("training") == 1


def test_benchmarks_are_judged_where_they_are_given(
    walked: WalkedCampaign, workspace: Path, tmp_path: Path
) -> None:
    file = tmp_path / "simulator.json"
    file.write_text(json.dumps([{"name": "single_env", "value": 9.0}]))

    found = walk_campaign(
        replace(tiny_campaign(), benches=(file,)), workspace, until="environment", go_on=True
    )

    gates = {gate.gate: gate.outcome for gate in found.status.phase("environment").gates}
    assert gates["environment/speed"] == "fail"
    assert gates["environment/step"] == "not measured"


def test_master_that_cannot_be_trained_is_left_out_with_the_reason(
    walked: WalkedCampaign, workspace: Path
) -> None:
    walk = CampaignWalk(
        replace(tiny_campaign(), master="options"),
        PhaseTools(workspace, lambda *_: None, lambda _: None, lambda: False),
    )

    found = walk_master(walk)

    assert walked.status.phase("master").state == "left out"
    assert found.left_out
    assert "environment" in found.words


def test_full_phase_trains_with_what_tuning_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[TrainConfig] = []

    def train(_walk: object, _phase: str, config: TrainConfig, _evaluation: str) -> PhaseFinding:
        trained.append(config)
        return PhaseFinding("trained")

    monkeypatch.setattr(phases, "_train_and_judge", train)
    best = tmp_path / "best.yaml"
    best.write_text("extends: quick\nguards:\n  patience: 9\n")
    tools = PhaseTools(tmp_path, lambda *_: None, lambda _: None, lambda: False)
    for found in (None, best):
        walk_full(CampaignWalk(tiny_campaign(), tools, best=found))

    assert trained[0] == tiny_campaign().config
    assert trained[1].guards.patience == 9 != trained[0].guards.patience


def _told(walked: WalkedCampaign) -> list[PhaseRecord]:
    return [replace(phase, took_s=0.0) for phase in walked.status.phases]


def test_runs_of_other_data_are_not_taken_for_its_own(
    walked: WalkedCampaign, workspace: Path
) -> None:
    """A rerun that dies in its first phase leaves all phases waiting, and runs that are found."""
    for phase in walked.status.phases:
        if (workspace / "runs" / f"tiny-{phase.name}").is_dir():
            break
    else:
        pytest.fail("no phase made a run")
    folder = workspace / "campaigns" / "tiny"
    before = read_status(folder)
    waiting = tuple(PhaseRecord(phase.name) for phase in before.phases)
    StatusBoard(folder, replace(before, phases=waiting, state="interrupted")).write()
    config = campaign_config("quick", OPTIONS, "other-market", generates=True)
    try:
        with pytest.raises(ConfigError, match="must go on with the data"):
            walk_campaign(tiny_campaign(config=config), workspace, until="data")
    finally:
        StatusBoard(folder, before).write()


def test_campaign_whose_bars_were_refused_begins_anew_with_other_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coins.csv"
    closes = [f"2025-01-06T{hour:02}:00:00+00:00,BTC,1,1,1,1,1" for hour in range(24)]
    header = "timestamp,symbol,open,high,low,close,volume"
    file.write_text("\n".join([header, *closes]) + "\n")
    asked = tiny_campaign("coins", generates=False, bars=FileImport(path=file))
    around_the_clock = FileImport(path=file, calendar="24/7", grid=BarGrid.CLOCK)

    with pytest.raises(UserError, match="session grid"):
        walk_campaign(asked, tmp_path, until="data")
    told = read_status(tmp_path / "campaigns" / "coins")
    assert (told.state, told.phase("data").state) == ("refused", "interrupted")
    assert "session grid" in told.refusal
    assert run(["--workspace", str(tmp_path), "run", "coins", "--status"]) == 0
    shown = capsys.readouterr().out
    assert "Refused: " in shown
    assert "the same command goes on" not in shown
    with pytest.raises(UserError) as later:
        walk_campaign(replace(asked, bars=around_the_clock), tmp_path, until="data")
    assert "must go on with the data" not in str(later.value)  # read; 24 bars are too few to learn

    assert BarStore(tmp_path).names()  # from here on the name is that of those bars
    with pytest.raises(UserError, match="session grid"):
        walk_campaign(asked, tmp_path, until="data")


def test_bars_that_were_replaced_under_their_name_are_refused_before_anything_is_written(
    walked: WalkedCampaign, workspace: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(workspace, tmp_path / "w")
    folder = copied / "campaigns" / "tiny"
    other = override_config(tiny_campaign().config, {"market.seed": 99, "dataset": None})
    replaced = ingest(synthetic_source(other.market), BarStore(copied), name="tiny-market")
    before = {each.name: each.read_bytes() for each in folder.iterdir() if each.name != "lock"}

    with pytest.raises(ConfigError, match="bars that it began with") as refusal:
        walk_campaign(tiny_campaign(), copied, until="data")

    assert replaced.dataset.manifest.content_sha256[:12] in str(refusal.value)
    assert before == {
        each.name: each.read_bytes() for each in folder.iterdir() if each.name != "lock"
    }
    (folder / "status.json").unlink()  # its runs say as well what they learned from
    with pytest.raises(ConfigError, match="bars that it began with"):
        walk_campaign(tiny_campaign(), copied, until="data")
    assert not (folder / "status.json").exists()


def test_status_of_a_version_without_terms_is_read(walked: WalkedCampaign, tmp_path: Path) -> None:
    values = json.loads((walked.folder / "status.json").read_text())
    old = {key: each for key, each in values.items() if key not in ("terms", "refusal")}
    (tmp_path / "status.json").write_text(json.dumps(old))

    assert read_status(tmp_path).phases == read_status(walked.folder).phases
