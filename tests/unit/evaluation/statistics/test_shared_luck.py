"""What goes together counts once: trades of one day, seeds of the same bars, bars in a row."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.evaluation.statistics.bootstrap import mean_of, sharpe_of, widening
from tradingbot.evaluation.statistics.dependence import effective_bars
from tradingbot.evaluation.statistics.interval import wilson_interval
from tradingbot.evaluation.statistics.policy_intervals import win_rate_interval
from tradingbot.evaluation.statistics.shared_bars import runs_interval


def _persistent(generator: np.random.Generator, n_bars: int, rho: float) -> np.ndarray:
    noise = generator.standard_normal(n_bars)
    for bar in range(1, n_bars):
        noise[bar] = rho * noise[bar - 1] + np.sqrt(1.0 - rho**2) * noise[bar]
    return noise


def test_copies_of_a_trade_do_not_make_a_win_rate_surer() -> None:
    generator = np.random.default_rng(4)
    first = np.arange(0, 400, 8)
    won = generator.random(50) < 0.6

    once = win_rate_interval(won, first, first + 7, 400)
    copies = win_rate_interval(np.tile(won, 20), np.tile(first, 20), np.tile(first, 20) + 7, 400)

    assert once.estimate == copies.estimate
    assert copies.high - copies.low == pytest.approx(once.high - once.low, rel=0.25)
    naive = wilson_interval(won.sum() * 20, 1000)
    assert copies.high - copies.low > 3.0 * (naive.high - naive.low)


def test_a_rate_of_all_or_none_is_wilsons() -> None:
    first = np.arange(0, 80, 8)
    found = win_rate_interval(np.ones(10, dtype=bool), first, first + 3, 80)

    assert found == wilson_interval(10, 10)


def test_win_rates_of_correlated_agents_are_covered() -> None:
    hits = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        common, own = generator.standard_normal((300, 1)), generator.standard_normal((300, 20))
        worth = np.cumsum(np.sqrt(0.5) * (common + own), axis=0)
        ends = generator.random((300, 20)) < 0.125
        trades = []
        for agent in range(20):
            at = np.flatnonzero(ends[:, agent])
            trades.append(np.stack([np.diff(worth[at, agent]) > 0.0, at[:-1] + 1, at[1:]]))
        won, first, last = np.concatenate(trades, axis=1).astype(np.int64)
        hits += win_rate_interval(won, first, last, 300).covers(0.5)

    assert hits >= 52  # about 56; Wilson over all trades covers 14


def test_seeds_of_the_same_bars_share_their_luck() -> None:
    hits = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        luck = generator.standard_normal(300)
        runs = luck + 0.2 * generator.standard_normal((5, 300))
        hits += runs_interval(runs, n_draws=300).covers(0.0)

    assert hits >= 52  # seeds alone: about 15


def test_an_interval_over_runs_repeats_and_scales() -> None:
    runs = 0.1 + np.random.default_rng(1).standard_normal((4, 60))

    found = runs_interval(runs, n_draws=200)
    assert found == runs_interval(runs, n_draws=200)
    assert runs_interval(10.0 * runs, n_draws=200).high == pytest.approx(10.0 * found.high)
    assert runs_interval(runs, sharpe_of, n_draws=200).estimate != found.estimate
    positive = runs_interval(runs + 5.0, aggregate="positive", n_draws=200)
    assert tuple(positive) == (1.0, 1.0, 1.0)


def test_share_of_runs_that_gain_lies_within_its_interval() -> None:
    """Runs differ and half of their kind gains: the share of a few covers that of all."""
    hits = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        own = 0.001 * generator.standard_normal((8, 1))
        runs = own + 0.002 * generator.standard_normal((8, 300))
        found = runs_interval(runs, aggregate="positive", n_draws=300)
        assert found.low <= found.estimate <= found.high
        hits += found.covers(0.5)

    assert hits >= 52  # about 57


def test_runs_that_do_not_differ_have_the_interval_of_their_bars() -> None:
    series = np.random.default_rng(2).standard_normal(200)

    alike = runs_interval(np.tile(series, (3, 1)), mean_of, "mean", n_draws=2000)

    assert alike.high - alike.low == pytest.approx(2 * 1.96 * series.std() / np.sqrt(200), rel=0.15)


def test_bars_in_a_row_prove_less() -> None:
    generator = np.random.default_rng(3)
    shares = [
        np.mean([effective_bars(_persistent(generator, 1000, rho)) for _ in range(20)]) / 1000
        for rho in (0.0, 0.3, 0.8)
    ]

    assert shares[0] > 0.9
    assert shares[1] == pytest.approx(0.7 / 1.3, abs=0.08)
    assert shares[2] == pytest.approx(0.2 / 1.8, abs=0.05)
    assert effective_bars(np.zeros(9)) == 9.0
    assert effective_bars(np.arange(5.0)) == 5.0


def test_persistence_widens_and_independence_hardly_does() -> None:
    generator = np.random.default_rng(6)

    assert widening(generator.standard_normal(2000), 1.0) < 1.03
    assert widening(_persistent(generator, 2000, 0.8), 1.0) > 2.0
    assert widening(np.zeros(50), 1.0) == 1.0
