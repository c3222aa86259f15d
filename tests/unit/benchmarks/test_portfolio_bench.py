"""The benchmark of portfolios: equal to plain loops before it is timed; its records; its script."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tradingbot_benchmarks.portfolio import backtest, known_answers
from tradingbot_benchmarks.portfolio.backtest import PortfolioSize, measure_backtest
from tradingbot_benchmarks.portfolio.known_answers import MasterMeasurement, measure_masters

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu_portfolio.py"


def quiet(done: int, total: int, label: str) -> None:
    """Say nothing."""


def test_portfolio_is_that_of_plain_loops_or_it_is_not_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = PortfolioSize(n_symbols=3, n_bars=740)
    record = measure_backtest(size, quiet)
    assert (record.name, record.unit) == ("portfolio_backtest_143x2y", "s")
    assert record.value > 0.0
    assert "synthetic" in record.note

    usual = backtest.plain_portfolio
    monkeypatch.setattr(
        backtest, "plain_portfolio", lambda *given: usual(*given) + 1e-6 * np.ones(1)
    )
    with pytest.raises(RuntimeError, match="portfolios must be equal"):
        measure_backtest(size, quiet)


def test_masters_give_the_least_share_and_the_cash_of_worthless_sleeves() -> None:
    size = MasterMeasurement(
        n_sleeves=3, n_bars=900, updates=2, n_envs=4, measured_bars=40, seeds=(1, 2)
    )
    records = {record.name: record for record in measure_masters(size, quiet)}

    assert list(records) == [
        *("master_steady", "master_changing", "master_dying", "master_worthless_cash"),
        "master_oracle_share",
    ]
    least = records["master_oracle_share"]
    assert (least.unit, least.reference) == ("fraction", known_answers.GOAL_FRAC)
    assert least.value <= min(records[f"master_{kind}"].value for kind in known_answers.WITH_GAIN)


def test_script_compares_with_the_cpu_and_times_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = "--device cpu --modes eager --sleeves 3 --bars 420 --steps 32 --envs 4 --chunk 4"
    out = tmp_path / "made.json"
    monkeypatch.setattr(sys, "argv", ["gpu_portfolio.py", *small.split(), "--out", str(out)])
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    found = json.loads(out.read_text(encoding="utf-8"))

    assert found["equality"] == {
        "value_difference": 0.0,
        "values_equal": True,
        "weight_difference": 0.0,
        "weights_equal": True,
    }
    assert found["modes"]["eager"]["steps"] == 32
