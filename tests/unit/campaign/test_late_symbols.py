"""Symbols that were listed late get no agent, are named, and may be asked for all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import tradingbot as tb
from fixtures.tiny_campaign import OPTIONS, tiny_campaign
from tradingbot.campaign.data_phase import find_late_symbols
from tradingbot.campaign.phases import CampaignWalk, walk_data
from tradingbot.campaign.request import CampaignRequest, campaign_config
from tradingbot.campaign.session import WalkedCampaign, walk_campaign
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.data.sources.files import FileImport
from tradingbot.data.splits import IndexRange

LATE = "CCC"


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tb.generate_bars(symbols=["AAA", "BBB", LATE], start="2025-03-03", seed=3).frame
    closes = made["closed_at"].unique().sort()
    listed = closes[int(0.5 * len(closes))]
    kept = made.filter((pl.col("symbol") != LATE) | (pl.col("closed_at") >= listed))
    file = tmp_path_factory.mktemp("late") / "bars.csv"
    shown = kept.rename({"closed_at": "timestamp"})
    shown.select("timestamp", "symbol", "open", "high", "low", "close", "volume").write_csv(file)
    return file


def request_of(bars: Path, *symbols: str) -> CampaignRequest:
    options = {k: v for k, v in OPTIONS.items() if not k.startswith("market.")}
    options["symbols"] = list(symbols)
    config = campaign_config("quick", options, "late", generates=False)
    given = FileImport(path=bars, stamps="close")
    return replace(tiny_campaign("late"), config=config, bars=given, generates=False)


@pytest.fixture(scope="module")
def walked(bars: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[WalkedCampaign, Path]:
    workspace = tmp_path_factory.mktemp("late_campaign")
    return walk_campaign(request_of(bars), workspace, until="architecture", go_on=True), workspace


def test_late_symbols_are_named_and_get_no_agent(
    walked: tuple[WalkedCampaign, Path], bars: Path
) -> None:
    status, workspace = walked[0].status, walked[1]

    assert status.phase("data").words.endswith(f"fewer than 50% of the training bars: {LATE}")
    assert "all 2 agents" in status.phase("architecture").words
    walk = CampaignWalk(request_of(bars), PhaseTools(workspace, *[lambda *_: False] * 3))
    walk_data(walk)
    assert walk.symbols == walk.config().symbols == ("AAA", "BBB")


def test_late_symbol_that_is_asked_for_is_kept(
    walked: tuple[WalkedCampaign, Path], bars: Path
) -> None:
    asked = request_of(bars, "AAA", LATE)
    walk = CampaignWalk(asked, PhaseTools(walked[1], *[lambda *_: False] * 3))

    found = walk_data(walk)

    assert walk.symbols == ("AAA", LATE)
    assert LATE not in found.words


def test_bars_of_training_alone_say_who_is_late() -> None:
    class Listed:
        """Ten bars of four symbols, six of them of training."""

        manifest = SimpleNamespace(symbols=("always", "left", "late", "early"))

        def numpy(self, name: str) -> np.ndarray:
            assert name == "valid"
            there = {"always": range(10), "left": range(6), "late": range(4, 10), "early": range(2)}
            return np.array([[bar in there[each] for bar in range(10)] for each in there])

    found = find_late_symbols(Listed(), IndexRange(0, 6))  # type: ignore[arg-type]
    assert found == ("late", "early")
