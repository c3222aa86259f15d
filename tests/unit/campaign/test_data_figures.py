"""What the phase of data measures: how much of its universe is there, and its newest bars."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

from fixtures.tiny_campaign import tiny_campaign
from tradingbot.campaign import data_phase
from tradingbot.campaign.data_phase import READINESS_FILE, prepare_data
from tradingbot.campaign.request import CampaignRequest, campaign_config
from tradingbot.data.store import BarStore
from tradingbot.data.universes import load_universe
from tradingbot.executors.executor import ignore_progress
from tradingbot.features import proof_subjects
from tradingbot.features.causality.certificate import CERTIFICATE_FILE
from tradingbot.features.pipeline import synthetic_source


def test_universe_that_is_there_in_part_and_a_gap_in_the_newest_bars(tmp_path: Path) -> None:
    request = partial_request(tmp_path)

    found = prepare_data(request, tmp_path, ignore_progress)

    universe = load_universe(request.config.market.universe).symbols
    assert set(found.symbols) == set(universe[:2])
    assert found.values["universe_covered_frac"] == pytest.approx(2 / len(universe))
    report = json.loads((request.folder(tmp_path) / READINESS_FILE).read_text())
    codes = {each["code"] for each in report["findings"]}
    assert "TRAILING_INCOMPLETE" in codes


def partial_request(workspace: Path) -> CampaignRequest:
    """Two symbols of a universe are stored; the first lacks a bar of its last week."""
    asked = tiny_campaign("part")
    made = synthetic_source(asked.config.market).fetch()
    there = load_universe(asked.config.market.universe).symbols[:2]
    bars = made.bars.filter(pl.col("symbol").is_in(there))
    gap = bars["closed_at"].unique().sort()[-20]
    lacking = (pl.col("symbol") == there[0]) & (pl.col("closed_at") == gap)
    BarStore(workspace).save(bars.filter(~lacking), made.provenance, name="part")
    request = replace(asked, config=campaign_config("quick", {"seed": 5}, "part", generates=False))
    request.folder(workspace).mkdir(parents=True)
    return replace(request, generates=False)


def test_bars_are_fed_to_the_proof_in_a_process_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tiny_campaign("proved")
    alone = prepare_data(asked, tmp_path / "alone", ignore_progress)
    monkeypatch.setattr(data_phase, "_BARS_TO_SHARE", 1)
    monkeypatch.setattr(proof_subjects, "prove_every_bar", _refused)  # in this process

    found = prepare_data(asked, tmp_path / "beside", ignore_progress, jobs=2)

    assert found == alone
    certificates = [
        next((tmp_path / each).rglob(CERTIFICATE_FILE)).read_bytes() for each in ("alone", "beside")
    ]
    assert certificates[0] == certificates[1]


def _refused(*_: object, **__: object) -> NoReturn:
    raise AssertionError("proved here")
