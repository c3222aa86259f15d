"""What binds a campaign to its beginning: what it asked for, its bars, and its one process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixtures.tiny_campaign import tiny_campaign
from tradingbot.campaign.beginning import begin_campaign
from tradingbot.campaign.session import walk_campaign
from tradingbot.campaign.status import LOCK_FILE, StatusBoard
from tradingbot.data.ingest import ingest
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError
from tradingbot.features.pipeline import synthetic_source
from tradingbot.runs.lock import hold_lock
from tradingbot.training.config_files import override_config
from tradingbot.training.session import begin_run


@pytest.mark.parametrize(
    "change",
    [
        {"accept": ("SPLIT_JUMP",)},
        {"evaluation_options": (("seeds.count", 3),)},
        {"tune_trials": 7},
        {"evaluation": "quick"},
        {"master": "master"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_anything_that_results_follow_from_is_refused_when_it_changes(
    change: dict[str, object], tmp_path: Path
) -> None:
    own = tiny_campaign()
    folder = own.folder(tmp_path)
    folder.mkdir(parents=True)
    StatusBoard(folder, begin_campaign(own, tmp_path, "data")[0]).write()
    (tmp_path / "tuning" / "tiny-tuning").mkdir(parents=True)  # it learned something
    assert begin_campaign(own, tmp_path, "data")

    with pytest.raises(ConfigError, match="data and settings that it began with"):
        walk_campaign(tiny_campaign(**change), tmp_path, until="data")


def test_second_process_is_refused(tmp_path: Path) -> None:
    folder = tiny_campaign().folder(tmp_path)
    folder.mkdir(parents=True)
    with (
        hold_lock(folder / LOCK_FILE, "campaign"),
        pytest.raises(ConfigError, match="campaign must not be in use"),
    ):
        walk_campaign(tiny_campaign(), tmp_path, until="data")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that knows its bars, and a run of the name of its prototype."""
    workspace = tmp_path_factory.mktemp("begun")
    walk_campaign(tiny_campaign(), workspace, until="data")
    begin_run(tiny_campaign().config, workspace, name="tiny-prototype")
    return workspace


@pytest.mark.parametrize("learned", ["prototype", "tuning"])
def test_replaced_bars_are_refused_after_any_learning(
    learned: str, begun: Path, tmp_path: Path
) -> None:
    workspace, own = shutil.copytree(begun, tmp_path / "w"), tiny_campaign()
    if learned == "tuning":
        shutil.rmtree(workspace / "runs")
        (workspace / "tuning" / "tiny-tuning").mkdir(parents=True)
    assert begin_campaign(own, workspace, "data")  # on the bars that it began with
    other = override_config(own.config, {"market.seed": 99, "dataset": None})
    ingest(synthetic_source(other.market), BarStore(workspace), name="tiny-market")

    with pytest.raises(ConfigError, match="bars that it began with"):
        begin_campaign(own, workspace, "data")
    if learned == "prototype":
        (own.folder(workspace) / "status.json").unlink()  # the run says it by itself
        with pytest.raises(ConfigError, match="bars that it began with"):
            begin_campaign(own, workspace, "data")
