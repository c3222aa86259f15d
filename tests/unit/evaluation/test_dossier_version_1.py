"""Dossiers that earlier versions wrote are read as today's records."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.example_dossier import example_dossier, example_memo
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.dossier.codec import to_plain
from tradingbot.evaluation.dossier.dossier import DOSSIER_FORMAT
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.performance.record import HOLD, MATCHED_RANDOM, OLD_NAMES
from tradingbot.evaluation.pipeline.stored_dossier import read_dossier
from tradingbot.evaluation.report.dossier_page import render_dossier

STORED = Path(__file__).parents[2] / "fixtures" / "version_1" / "dossier.json"
"""As `tradingbot evaluate` of version 0.1.0 left it, on a synthetic market."""


def run_with(folder: Path, text: str) -> Path:
    (folder / "evaluation").mkdir(parents=True)
    (folder / "evaluation" / "dossier.json").write_text(text)
    return folder


def test_dossier_of_version_1_is_read_and_judged(tmp_path: Path) -> None:
    content = json.loads(STORED.read_text())
    assert "format" not in content

    dossier = read_dossier(run_with(tmp_path, STORED.read_text()))

    assert dossier.format == DOSSIER_FORMAT
    agents, stored = dossier.test.policies[0], content["parts"][1]["policies"][0]
    assert agents.sharpe_annual._asdict() == stored["sharpe_annual"]
    assert agents.equity == tuple(stored["equity"])
    memo = write_memo(dossier, load_gates())
    assert memo.verdict == "NO-GO"
    edge = next(each for each in memo.gates if each.gate == "edge/net")
    assert edge.interval == agents.net_bps_per_bar  # the one interval, not Newey and West's


def test_dossier_that_does_not_say_it_lost_no_workers(tmp_path: Path) -> None:
    content = to_plain(replace(example_dossier(), workers_lost=3))
    assert read_dossier(run_with(tmp_path / "a", json.dumps(content))).workers_lost == 3
    del content["workers_lost"]
    content["format"] = 5
    assert read_dossier(run_with(tmp_path / "b", json.dumps(content))).workers_lost == 0


def test_dossier_of_format_6_is_read_as_judged_by_the_net_return(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    del content["sensitivity"]["judged"], content["walk_forward"]["alpha_bps"]
    for row in content["sensitivity"]["rows"]:
        del row["alpha_bps_per_bar"]

    dossier = read_dossier(run_with(tmp_path, json.dumps({**content, "format": 6})))

    assert dossier.format == DOSSIER_FORMAT
    assert dossier.sensitivity is not None
    assert dossier.sensitivity.judged == "net return"
    assert dossier.walk_forward is not None
    assert dossier.walk_forward.alpha_bps is None


def test_dossier_of_format_7_is_read_as_one_without_options(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    del content["policy"]["options"]

    dossier = read_dossier(run_with(tmp_path / "a", json.dumps({**content, "format": 7})))

    assert dossier.format == DOSSIER_FORMAT
    assert dossier.policy is not None
    assert dossier.policy.options is None
    assert "Which option" not in render_dossier(dossier, example_memo())
    with pytest.raises(DataError, match="options"):
        read_dossier(run_with(tmp_path / "b", json.dumps({**content, "format": DOSSIER_FORMAT})))


def test_dossier_of_format_8_is_read_as_one_without_drawn_actions(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    del content["policy"]["sampled"]

    dossier = read_dossier(run_with(tmp_path, json.dumps({**content, "format": 8})))

    assert dossier.policy is not None
    assert dossier.policy.sampled is None
    assert "within reach" not in render_dossier(dossier, example_memo())
    assert "within reach" in render_dossier(example_dossier(), example_memo())


def test_dossier_of_format_2_is_read(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    del content["header"]["actions"]

    dossier = read_dossier(run_with(tmp_path, json.dumps({**content, "format": 2})))

    assert dossier.format == DOSSIER_FORMAT
    assert dossier.header == replace(example_dossier().header, actions="")
    assert dossier.statistics == example_dossier().statistics


def test_dossier_of_format_3_is_read(tmp_path: Path) -> None:
    full = example_dossier()
    content = to_plain(full)
    for name in ("value_edges", "planes", "attention_features", "attention_map", "unavailable"):
        del content["policy"][name]
    del content["rewards"]

    dossier = read_dossier(run_with(tmp_path, json.dumps({**content, "format": 3})))

    assert dossier.format == DOSSIER_FORMAT
    assert dossier.policy is not None
    assert full.policy is not None
    assert dossier.policy.value_landscape == full.policy.value_landscape
    assert dossier.policy.planes == ()
    assert dossier.rewards is None
    assert ">middle</text>" in render_dossier(dossier, example_memo())


def test_dossier_of_format_4_is_read(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    del content["training"]["curriculum_stages_passed"]

    dossier = read_dossier(run_with(tmp_path, json.dumps({**content, "format": 4})))

    full = example_dossier()
    assert full.training is not None
    assert dossier.format == DOSSIER_FORMAT
    assert dossier.training == replace(full.training, curriculum_stages_passed=None)
    assert dossier.rewards == full.rewards


def test_dossier_of_format_5_is_read_and_judged_by_its_net_return(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    for part in content["parts"]:
        for name in ("factor", "alpha_over_hold_bps"):
            del part[name]
        for row in part["policies"]:
            del row["earned"]
        for row in part["agents"]:
            for name in ("market", "timing", "alpha"):
                del row[f"{name}_bps_per_bar"]
    for name in ("judged", "sharpe_annual", "net_sharpe_per_bar", "net_probabilistic_sharpe"):
        del content["statistics"][name]
    for row in (*content["walk_forward"]["windows"], *content["seeds"]["rows"]):
        del row["alpha_bps_per_bar"]
    del content["seeds"]["alpha_bps_iqm"]
    for row in content["regimes"]["rows"]:
        for name in ("market", "timing", "alpha"):
            del row[f"{name}_bps_per_bar"]

    dossier = read_dossier(run_with(tmp_path, json.dumps({**content, "format": 5})))

    assert dossier.format == DOSSIER_FORMAT
    agents = dossier.test.policies[0]
    assert agents.earned is None
    gates = {each.gate: each for each in write_memo(dossier, load_gates()).gates}
    assert gates["edge/net"].interval == agents.net_bps_per_bar
    assert gates["edge/over_hold"].interval == dossier.test.excess_over_hold_bps
    assert gates["validation/seeds"].interval == dossier.seeds.net_bps_iqm  # type: ignore[union-attr]
    assert "<html" in render_dossier(dossier, write_memo(dossier, load_gates()))


def test_dossier_of_format_9_is_read_as_one_without_a_tear_sheet(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    del content["tear_sheet"]

    dossier = read_dossier(run_with(tmp_path / "a", json.dumps({**content, "format": 9})))

    assert dossier.format == DOSSIER_FORMAT
    assert dossier.tear_sheet is None
    page = render_dossier(dossier, example_memo())
    assert "Left out: this dossier was made before there were any." in page
    assert "What became of 1" in page
    with pytest.raises(DataError, match="tear_sheet"):
        read_dossier(run_with(tmp_path / "b", json.dumps({**content, "format": DOSSIER_FORMAT})))


def test_dossier_of_format_12_is_read_with_a_mark_for_each_end_of_a_trade(tmp_path: Path) -> None:
    content = to_plain(example_dossier())
    for price in content["tear_sheet"]["prices"]:
        del price["n_fills"]
        for mark in price["marks"]:
            del mark["part"], mark["units"]
    for row in content["tear_sheet"]["trades"]["rows"]:
        del row["committed_ccy"]

    dossier = read_dossier(run_with(tmp_path / "a", json.dumps({**content, "format": 12})))

    sheet = dossier.tear_sheet
    assert sheet is not None
    assert {mark.part for price in sheet.prices for mark in price.marks} == {""}
    assert all(math.isnan(row.return_frac) for row in sheet.trades.rows)  # by all ever bought
    page = render_dossier(dossier, example_memo())
    assert "one mark at the mean price of each end of a trade" in page
    with pytest.raises(DataError, match="committed_ccy"):
        read_dossier(run_with(tmp_path / "b", json.dumps({**content, "format": DOSSIER_FORMAT})))


def test_policies_of_older_dossiers_have_the_names_of_today(tmp_path: Path) -> None:
    assert "equal weight, held" in STORED.read_text()

    names = {
        row.policy for row in read_dossier(run_with(tmp_path, STORED.read_text())).test.policies
    }

    assert {HOLD, MATCHED_RANDOM} <= names
    assert not names & set(OLD_NAMES)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 2}', '{"statistics": 3}'])
def test_what_is_no_dossier_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError):
        read_dossier(run_with(tmp_path, text))
