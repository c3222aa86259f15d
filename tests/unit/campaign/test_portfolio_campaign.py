"""A campaign with a master: it is evaluated, its gates are measured, and the verdict is its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_campaign import TINY_MASTER, tiny_campaign
from tradingbot.campaign.master_phase import master_config
from tradingbot.campaign.session import WalkedCampaign, walk_campaign
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.pipeline.stored_dossier import read_dossier
from tradingbot.training.named_run import train_named


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("campaign")


@pytest.fixture(scope="module")
def walked(workspace: Path) -> WalkedCampaign:
    preset = workspace / "tiny_master.yaml"
    preset.write_text(TINY_MASTER)
    return walk_campaign(tiny_campaign(master=str(preset)), workspace, go_on=True)


def test_gates_of_the_master_and_of_the_end_are_measured_on_the_portfolio(
    walked: WalkedCampaign, workspace: Path
) -> None:
    status, run = walked.status, workspace / "runs" / "tiny-master"
    master, final = status.phase("master"), status.phase("final")

    assert status.state == "finished"
    assert (master.run, final.run) == ("tiny-master", "")
    assert [gate.gate for gate in master.gates] == [
        *("master/over_fixed", "master/sharpe", "master/drawdown"),
        *("master/not_all_in", "master/not_all_cash"),
    ]
    assert {gate.outcome for gate in master.gates} <= {"pass", "fail"}
    dossier = read_dossier(run)
    assert dossier.allocation is not None
    measured = {gate.metric: gate.measured for gate in (*master.gates, *final.gates)}
    assert measured["master_most_cash_frac"] == dossier.allocation.most_cash_frac
    assert measured["sharpe_annual"] == dossier.test.policies[0].sharpe_annual.estimate
    assert [row.agent for row in dossier.test.agents] == ["portfolio"]
    required = [gate for gate in final.gates if gate.is_required]
    assert required
    assert all(gate.outcome in ("pass", "fail") for gate in required)
    assert "the portfolio of run tiny-master" in final.words


def test_verdict_is_that_of_the_portfolio(walked: WalkedCampaign) -> None:
    status = walked.status
    assert status.verdict in ("GO", "CONDITIONAL", "NO-GO")
    assert status.phase("final").words.startswith(f"{status.verdict}: {status.headline}")
    assert "tiny-master" in walked.page.read_text()


def test_campaign_that_is_walked_again_judges_as_before_and_counts_nothing(
    walked: WalkedCampaign, workspace: Path
) -> None:
    """The master is a trial as well: no phase before it may be judged with it afterwards."""
    ledger = (workspace / "ledger.jsonl").read_bytes()
    files = {path: path.read_bytes() for path in workspace.glob("runs/*/evaluation/dossier.json")}

    asked = tiny_campaign(master=str(workspace / "tiny_master.yaml"))
    again = walk_campaign(asked, workspace, go_on=True)

    assert [each.gates for each in again.status.phases] == [
        each.gates for each in walked.status.phases
    ]
    assert again.status.verdict == walked.status.verdict
    assert (workspace / "ledger.jsonl").read_bytes() == ledger
    assert len(files) == 2
    assert all(path.read_bytes() == content for path, content in files.items())


def test_preset_of_the_master_that_was_edited_is_refused_and_its_run_is_not_taken(
    walked: WalkedCampaign, workspace: Path
) -> None:
    preset, asked = workspace / "tiny_master.yaml", tiny_campaign(master="master")
    before = (walked.folder / "status.json").read_bytes()
    preset.write_text(TINY_MASTER.replace("[8]", "[4]"))
    try:
        with pytest.raises(ConfigError, match="files of presets as they were"):
            walk_campaign(tiny_campaign(master=str(preset)), workspace)
        config = master_config(replace(asked, master=str(preset)), ())
        with pytest.raises(ConfigError, match="settings and data it is asked for") as refusal:
            train_named("tiny-master", config, workspace)
    finally:
        preset.write_text(TINY_MASTER)

    assert "hidden" in str(refusal.value)
    assert (walked.folder / "status.json").read_bytes() == before
