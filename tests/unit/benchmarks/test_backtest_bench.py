"""The bench of backtests: both programs agree, and disagreement would be seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot_benchmarks.evaluation import backtest as backtest_bench
from tradingbot_benchmarks.evaluation.backtest import (
    TOLERANCE,
    BenchSize,
    difference,
    measure_backtests,
)
from tradingbot_benchmarks.evaluation.backtest_peer import run_peer

SIZE = BenchSize(n_symbols=2, n_bars=400)


def test_records_name_what_was_measured_beside_the_peer() -> None:
    pytest.importorskip("backtesting", reason="needs the extra: bench")

    population, rule = measure_backtests(SIZE, lambda *_: None)

    assert (population.name, population.unit, population.reference) == ("backtest_143x2y", "s", 2.0)
    assert "2 agents" in population.note
    assert rule.name == "vs_backtesting_py"
    assert rule.reference_name == "backtesting.py"
    assert rule.ratio == pytest.approx(rule.reference / rule.value)
    assert "trades are the same" in rule.note


def test_programs_that_differ_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("backtesting", reason="needs the extra: bench")
    cheaper = lambda *given, **_: run_peer(*given, commission_frac=1e-4)  # noqa: E731
    monkeypatch.setattr(backtest_bench, "run_peer", cheaper)

    with pytest.raises(RuntimeError, match=r"differ by [0-9.e+-]+"):
        measure_backtests(SIZE, lambda *_: None)


def test_difference_sees_a_trade_at_another_bar() -> None:
    pytest.importorskip("backtesting", reason="needs the extra: bench")
    world, targets, played = backtest_bench.rule_backtest(SIZE)
    start = SIZE.first_bar - 1
    peer = run_peer(world.prices[0, start:], targets[0, start:], commission_frac=2e-4)

    assert difference(played, 0, peer) < TOLERANCE
    moved = replace(peer, entry_bar=peer.entry_bar + (np.arange(len(peer.entry_bar)) == 1))
    assert len(peer.entry_bar) > 3
    assert difference(played, 0, moved) == float("inf")
    assert difference(played, 0, replace(peer, pnl_frac=peer.pnl_frac * 1.001)) > TOLERANCE
