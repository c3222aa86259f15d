"""A week through the real client, with faults, kills and swaps: the backtest's orders and money."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.warm_process import WarmProcess

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "us_hourly_2023_2025.parquet"


def trade_week(folder: Path, bars: str, *numbers: int) -> dict[str, Any]:
    """`numbers` are symbols, bars, kills, and the seed of kills and faults."""
    words = [str(folder), bars, *map(str, numbers)]
    with WarmProcess(words, function="fixtures.killed_week:main") as process:
        out, said = process.communicate(timeout=3000)
    assert process.returncode == 0, said
    found: dict[str, Any] = json.loads(out)
    return found


def require_backtest(found: dict[str, Any]) -> None:
    assert found["fills_are_equal"]
    assert found["equity_is_equal"]
    assert found["positions_are_equal"]
    assert found["n_doubled"] == 0
    assert found["n_at_venue"] == found["n_wanted"] == found["n_fills"]
    assert len(found["models"]) == 2  # both decided
    assert found["faults"] > 0.2 * found["requests"]


def test_B13_killed_and_swapped_days_end_as_their_backtest(tmp_path: Path) -> None:
    found = trade_week(tmp_path, "synthetic", 3, 9, 3, 1)

    require_backtest(found)
    assert found["killed"] == 3


@pytest.mark.slow
def test_B13_week_of_143_symbols_ends_as_its_backtest(tmp_path: Path) -> None:
    if not REAL.is_file():
        pytest.skip("real bars are not at hand")
    found = trade_week(tmp_path, str(REAL), 143, 35, 20, 1)  # Monday to Friday

    require_backtest(found)
    assert found["killed"] >= 15
    assert found["n_wanted"] > 1_000
