"""Records of the simulator benchmark: names, ratios, and figures that are not there."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from fixtures.simulator_figures import fabricated
from tradingbot.data.json_files import as_json
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.simulator import peers as simulator_peers
from tradingbot_benchmarks.simulator.bench import RATIO_GOALS, SPEED_GOALS, records
from tradingbot_benchmarks.simulator.bound import GrowthPoint, call_seconds
from tradingbot_benchmarks.simulator.measure import Measured
from tradingbot_benchmarks.simulator.peers import PEERS, PeerSpeed, measure_peer
from tradingbot_benchmarks.simulator.scale import FULL, QUICK

REQUIRED = (
    "batch_4096",
    "batch_65536",
    "eager_4096",
    "single_env",
    "parallel_143",
    "vs_gym_anytrading",
    "vs_gym_trading_env",
    "vs_finrl",
    "sb3_env_share",
    "state_bytes_per_env",
    "memory_growth_1e6_steps",
    "batch_4096_window24",
    "single_env_p95_ms",
    "vec_8",
    "sb3_vec_8",
    "environment_speedup_at_8",
    "batch_4096_busy",
    "first_step_warm",
    "first_step_cold",
)


def by_name(measured: Measured) -> dict[str, BenchRecord]:
    found = records(measured)
    assert len({record.name for record in found}) == len(found)
    return {record.name: record for record in found}


def test_records_have_the_names_and_units_that_are_asked_for() -> None:
    found = by_name(fabricated())

    assert set(REQUIRED) <= set(found)
    speeds = ("batch_4096", "batch_65536", "eager_4096", "single_env", "parallel_143")
    assert {found[name].unit for name in speeds} == {"steps/s"}
    assert found["batch_65536"].value == 16e6
    assert found["state_bytes_per_env"].value == 164.0


def test_speeds_are_divided_by_goals_and_times_into_them() -> None:
    found = by_name(fabricated())

    assert found["batch_4096"].ratio == pytest.approx(10.24 / 30)
    assert found["eager_4096"].ratio == pytest.approx(2.0)
    assert found["single_env_p95_ms"].ratio == pytest.approx(0.4)
    assert found["vec_8"].ratio == pytest.approx(2.0)  # 10 environments' worth, 5 are the goal
    assert found["environment_speedup_at_8"].value == pytest.approx(10.0)
    assert found["batch_4096_busy"].ratio == pytest.approx(1.25)
    assert found["first_step_warm"].ratio == pytest.approx(2.0)
    assert found["first_step_cold"].ratio == pytest.approx(3.0)
    assert found["sb3_env_share"].ratio == pytest.approx(2.0)
    assert SPEED_GOALS == {
        "batch_4096": 30e6,
        "batch_65536": 40e6,
        "eager_4096": 1e6,
        "single_env": 150e3,
        "parallel_143": 1e6,
    }
    assert RATIO_GOALS == {"gym_anytrading": 20.0, "gym_trading_env": 80.0, "finrl": 500.0}


def test_ratios_to_peers_are_ours_over_theirs() -> None:
    found = by_name(fabricated())

    assert found["vs_gym_anytrading"].value == pytest.approx(40.0)
    assert found["vs_gym_anytrading"].ratio == pytest.approx(2.0)
    assert found["vs_gym_trading_env"].value == pytest.approx(160.0)
    assert found["vs_finrl"].value == pytest.approx(1000.0)
    assert found["vs_finrl_short"].value == pytest.approx(100.0)
    assert found["vs_finrl_window24"].value == pytest.approx(4e6 / 10.24e3)
    assert found["peer_finrl"].value == 10.24e3


def test_absent_figures_are_null_in_json_and_say_why() -> None:
    measured = fabricated()
    measured.peers["finrl"] = PeerSpeed(None, "not installed")
    measured.learner_share, measured.learner_reason = None, "not installed"
    measured.memory_growth_bytes = None
    del measured.speeds["parallel_143_alone"]

    text = json.dumps(as_json(records(measured)), allow_nan=False)
    found = {record["name"]: record for record in json.loads(text)}

    for name in ("vs_finrl", "vs_finrl_window24", "peer_finrl", "sb3_env_share"):
        assert (found[name]["value"], found[name]["ratio"]) == (None, None)
        assert found[name]["note"] == "not installed"
    assert found["memory_growth_1e6_steps"]["value"] is None
    assert found["parallel_143_alone"]["note"] == "left out of a quick run"
    assert found["vs_gym_anytrading"]["value"] == pytest.approx(40.0)


def test_quick_run_says_what_it_left_out() -> None:
    measured = replace(fabricated(), scale=QUICK, first_step_s={})
    del measured.peers["finrl_short"]

    found = by_name(measured)

    assert math.isnan(found["vs_finrl_short"].value)
    assert found["vs_finrl_short"].note == "left out of a quick run"
    assert math.isnan(found["first_step_cold"].value)
    assert found["first_step_cold"].note == "left out of a quick run"


def test_growth_is_set_beside_the_memory_bound() -> None:
    found = by_name(fabricated())

    point = found["growth_environments_4096"]
    assert point.reference == pytest.approx(20e6)
    assert point.ratio == pytest.approx(10.24e6 / 20e6)
    assert "500 bytes per step" in point.note
    assert found["growth_window_24"].reference == pytest.approx(2e6)
    assert found["eager_growth_environments_64"].value == 1e6
    assert "growth_rules_optional_rules_off" in found
    assert found["call_overhead"].value == pytest.approx(96e-6)


def test_call_overhead_is_never_negative() -> None:
    points = [
        GrowthPoint("environments", str(n), n, n / seconds, 1.0, 1.0)
        for n, seconds in ((64, 1e-6), (512, 9e-6))
    ]

    assert call_seconds(points) == 0.0


def test_peer_that_is_not_installed_gets_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator_peers.importlib.util, "find_spec", lambda name: None)

    assert measure_peer("finrl", 0.01) == PeerSpeed(None, "not installed")


def test_peer_that_fails_gets_its_last_line_as_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator_peers.sys, "executable", "/bin/false")

    found = measure_peer("gym_anytrading", 0.01)

    assert found.symbol_steps_per_s is None
    assert found.reason.startswith("installed, but failed")


def test_peer_steps_in_a_process_of_its_own() -> None:
    pytest.importorskip("gym_anytrading")

    found = measure_peer("gym_anytrading", 0.05)

    assert found.reason == ""
    assert found.symbol_steps_per_s is not None
    assert math.isfinite(found.symbol_steps_per_s)
    assert found.symbol_steps_per_s > 0


def test_peers_have_the_settings_that_are_asked_for() -> None:
    assert set(QUICK.peers) == set(RATIO_GOALS)
    assert set(FULL.peers) == set(PEERS)
    assert "window 24" in PEERS["gym_anytrading"].setting
    assert "23 features" in PEERS["gym_trading_env"].setting
    assert "143 tickers" in PEERS["finrl"].setting
