"""Regimes are told from the past alone, and what is earned in them is told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.analyses.regimes import (
    REGIMES,
    UNKNOWN,
    index_returns,
    judge_regimes,
    label_regimes,
    mean_within,
    measure_regimes,
    regime_labels,
)
from tradingbot.evaluation.analyses.settings import RegimeSettings
from tradingbot.evaluation.metrics.attribution import Attribution

TRAIN = IndexRange(0, 600)
SETTINGS = RegimeSettings(trend_bars=30, volatility_bars=20, min_bars=10)
Labeller = Callable[[np.ndarray], np.ndarray]


def _noise(n_bars: int = 1_000, scale: float = 0.002) -> np.ndarray:
    return stream(11, "regimes").normal(0.0, scale, n_bars)


def _honest(returns: np.ndarray) -> np.ndarray:
    return label_regimes(returns, TRAIN, SETTINGS)


def _peeking(returns: np.ndarray) -> np.ndarray:
    """The same labels, one bar too early."""
    return np.concatenate([_honest(returns)[1:], [UNKNOWN]])


def _moved_by_the_future(labeller: Labeller) -> int:
    """Count labels up to a bar that change when only later bars do."""
    returns, moved = _noise(), 0
    for cut in range(TRAIN.stop, 900, 7):
        other = returns.copy()
        other[cut + 1 :] = stream(cut, "future").normal(0.0, 0.05, len(returns) - cut - 1)
        moved += int((labeller(returns)[: cut + 1] != labeller(other)[: cut + 1]).sum())
    return moved


def test_labels_do_not_move_when_the_future_does() -> None:
    assert _moved_by_the_future(_honest) == 0


def test_labels_that_peek_one_bar_ahead_are_caught() -> None:
    assert _moved_by_the_future(_peeking) > 0


@pytest.mark.parametrize(
    ("drift", "scale", "expected"),
    [
        (0.004, 0.001, "bull"),
        (-0.004, 0.001, "bear"),
        (0.0, 0.0001, "sideways"),
        (0.0, 0.02, "high volatility"),
        (0.02, 0.02, "high volatility"),
    ],
)
def test_planted_stretch_is_told_once_it_is_in_the_past(
    drift: float, scale: float, expected: str
) -> None:
    returns = _noise()
    returns[700:800] = stream(5, "stretch").normal(drift, scale, 100)
    labels = _honest(returns)
    assert {REGIMES[label] for label in labels[740:800]} == {expected}


def test_bars_in_the_warm_up_have_no_regime() -> None:
    labels = _honest(_noise())
    assert (labels[:29] == UNKNOWN).all()
    assert (labels[29:] != UNKNOWN).all()


def test_shares_of_training_are_as_set() -> None:
    labels = label_regimes(_noise(5_000), IndexRange(0, 5_000), SETTINGS)
    known = labels[labels != UNKNOWN]
    assert (known == REGIMES.index("high volatility")).mean() == pytest.approx(0.2, abs=0.01)
    calm = known[known != REGIMES.index("high volatility")]
    assert (calm == REGIMES.index("sideways")).mean() == pytest.approx(1 / 3, abs=0.03)


def test_index_is_equal_weight_and_carries_prices_over_gaps() -> None:
    nan = math.nan
    closes = np.array([[100.0, 110.0, nan, 121.0], [nan, 50.0, 50.0, 55.0]])
    np.testing.assert_allclose(index_returns(closes), [0.0, 0.1, 0.0, 0.1])


def test_agents_that_earn_in_bull_bars_only_show_as_that() -> None:
    labels = np.repeat(np.arange(4), 100)
    net = np.zeros((400, 3))
    net[labels == 0] = 0.001
    net[::2] += 1e-9  # something moves in every regime
    hold = np.full((400, 3), 0.0005)
    found = judge_regimes(labels, net, hold, bars_per_year=1_764.0, settings=SETTINGS)

    rows = {row.regime: row for row in found.rows}
    assert rows["bull"].net_bps_per_bar.estimate == pytest.approx(10.0, abs=1e-3)
    assert rows["bear"].net_bps_per_bar.estimate == pytest.approx(0.0, abs=1e-3)
    assert rows["bear"].hold_bps_per_bar == pytest.approx(5.0)
    assert rows["bull"].share_frac == 0.25
    assert rows["bull"].max_drawdown_frac == 0.0


def test_loss_within_a_regime_is_its_drawdown_and_no_profit() -> None:
    labels = np.repeat([0, 1], 50)
    net = np.where(labels[:, None] == 1, -0.01, 0.01) * np.ones((100, 2))
    found = judge_regimes(labels, net, net, bars_per_year=1.0, settings=SETTINGS)
    bear = found.rows[REGIMES.index("bear")]
    assert bear.max_drawdown_frac == pytest.approx(1.0 - 0.99**50)
    assert not bear.is_profitable
    assert found.profitable == 1


def test_alpha_decides_whether_a_regime_is_profitable() -> None:
    """What the market gave in the bull and took in the bear is neither merit nor fault."""
    labels = np.repeat([0, 1], 50)
    market = np.where(labels[:, None] == 0, 0.01, -0.01) * np.ones((100, 2))
    alpha = np.where(labels[:, None] == 0, -0.001, 0.001) * np.ones((100, 2))
    parts = Attribution(market, np.zeros_like(market), alpha)

    found = judge_regimes(
        labels, market + alpha, market, bars_per_year=1.0, settings=SETTINGS, parts=parts
    )

    bull, bear = (found.rows[REGIMES.index(name)] for name in ("bull", "bear"))
    assert (bull.is_profitable, bear.is_profitable, found.profitable) == (False, True, 1)


def test_regime_with_too_few_bars_is_not_judged_and_says_so() -> None:
    labels = np.where(np.arange(200) < 9, 1, 0)
    found = judge_regimes(
        labels, np.ones((200, 1)) * 0.01, np.zeros((200, 1)), bars_per_year=1.0, settings=SETTINGS
    )
    bear = found.rows[REGIMES.index("bear")]
    assert bear.bars == 9
    assert math.isnan(bear.net_bps_per_bar.estimate)
    assert not bear.is_profitable
    assert "bear (9)" in found.method


def test_interval_of_a_part_covers_its_mean_as_often_as_it_says() -> None:
    inside = np.tile(np.arange(20) < 8, 30)
    draws = stream(2, "coverage").standard_normal((600, len(inside)))
    # Neighbours hang together: a plain standard error would be too small.
    returns = draws[:, 1:] + 0.5 * draws[:, :-1]
    covered = [mean_within(row, inside[1:]).covers(0.0) for row in returns]
    assert 0.91 < np.mean(covered) < 0.97


def test_other_numbers_of_labels_and_bars_are_refused() -> None:
    with pytest.raises(DataError, match="every bar must have a regime"):
        judge_regimes(np.zeros(3), np.zeros((4, 1)), np.zeros((4, 1)), bars_per_year=1.0)


def test_training_shorter_than_the_look_back_is_refused() -> None:
    with pytest.raises(DataError, match="training must have a bar"):
        label_regimes(_noise(), IndexRange(0, 20), SETTINGS)


@pytest.mark.parametrize("field", ["trend_bars", "volatility_bars", "sideways_frac", "calm_frac"])
def test_settings_that_tell_nothing_apart_are_refused(field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        RegimeSettings(**{field: type(getattr(SETTINGS, field))(0)})


def test_trades_count_for_the_regime_they_were_decided_in(evaluated_workspace: Path) -> None:
    subject = open_evaluated_run("tiny", evaluated_workspace)
    found = measure_regimes(subject, RegimeSettings(min_bars=2))
    played = subject.backtest("test")
    bars = subject.bars("test")
    labels = regime_labels(subject, RegimeSettings(min_bars=2))[bars.start :]
    closed = played.trades.select(~played.trades.is_open)
    won: dict[int, list[bool]] = {place: [] for place in range(-1, 4)}
    for entered, pnl in zip(closed.entered_at, closed.pnl_ccy, strict=True):
        decided = int(np.flatnonzero(played.closed_at == entered)[0]) - 1
        won[int(labels[decided])].append(pnl > 0.0)

    assert len(closed)
    assert [row.n_trades for row in found.rows] == [len(won[place]) for place in range(4)]
    for place, row in enumerate(found.rows):
        if won[place]:
            assert row.win_rate_frac == np.mean(won[place])
            assert row.mean_trade_bars > 0.0
