"""Which regime the market was in, as it could be told at each decision, and what was earned there.

A label at bar t reads the index up to bar t; thresholds come from training bars alone. What the
agents decide at t is earned in bar t + 1, and counts for the label of t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.price_rules import FloatArray, carry_forward
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World, symbol_index
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.settings import RegimeSettings
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.backtest.result import Backtest
from tradingbot.evaluation.dossier.robustness import RegimeRow, Regimes
from tradingbot.evaluation.metrics.attribution import Attribution
from tradingbot.evaluation.metrics.returns import annual_sharpe, max_drawdown
from tradingbot.evaluation.metrics.trading import mean_trade_bars, win_rate
from tradingbot.evaluation.statistics.hac import mean_error
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.training.data import REFERENCE_INDEX

IntArray = NDArray[np.int64]

REGIMES = ("bull", "bear", "sideways", "high volatility")
UNKNOWN = -1
"""Label of a bar at which too little of the past is there."""
_Z = 1.959963984540054  # 97.5 % point of the normal distribution
_BASIS_POINTS = 1e4


class RegimeThresholds(NamedTuple):
    """Where one regime ends and another begins; from training bars."""

    trend_frac: float
    """Trailing return, up or down, below which the market goes sideways."""
    volatility_frac: float
    """Deviation per bar above which volatility is high."""


def index_returns(closes: FloatArray) -> FloatArray:
    """Return (T,) simple returns of equal weight of symbols (N, T); 0 at the first bar.

    A symbol without a bar keeps its last price, so its return counts when it trades again. Before
    its first bar it does not count; 0 where no symbol does.
    """
    filled = carry_forward(closes)
    before = filled[:, :-1]
    known = np.isfinite(before)
    grown = np.divide(filled[:, 1:], before, out=np.ones_like(before), where=known) - 1.0
    count = known.sum(axis=0)
    mean = np.where(known, grown, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.concatenate([[0.0], mean])


def trailing_moments(
    returns: FloatArray, settings: RegimeSettings
) -> tuple[FloatArray, FloatArray]:
    """Return the trailing log return and deviation per bar, (T,) each; NaN in their warm-up.

    Sums over a window of their own, not differences of running sums: a change of the future then
    moves no bit of the past.
    """
    log_returns = np.log1p(np.maximum(returns, -0.999999))
    trend = _trailing(log_returns, settings.trend_bars, np.sum)
    return trend, _trailing(log_returns, settings.volatility_bars, np.std)


def thresholds_of(
    trend: FloatArray, volatility: FloatArray, train: IndexRange, settings: RegimeSettings
) -> RegimeThresholds:
    """Draw the lines between regimes from training bars.

    Raises:
        DataError: If no training bar lies behind the warm-up.
    """
    rows = slice(train.start, train.stop)
    known = np.isfinite(trend[rows]) & np.isfinite(volatility[rows])
    if not known.any():
        rule = "training must have a bar with a regime's past behind it"
        where = f"{max(settings.trend_bars, settings.volatility_bars)} bars are looked back on"
        raise DataError(rule, was=f"{len(train)} training bars", where=where)
    return RegimeThresholds(
        float(np.quantile(np.abs(trend[rows][known]), settings.sideways_frac)),
        float(np.quantile(volatility[rows][known], settings.calm_frac)),
    )


def label_regimes(
    returns: FloatArray, train: IndexRange, settings: RegimeSettings | None = None
) -> IntArray:
    """Tell the regime of every bar: place in `REGIMES`, or `UNKNOWN`.

    High volatility goes before a trend: what hurts then is not the direction.

    Args:
        returns: (T,) simple returns of the index.
        train: Bars that thresholds are drawn from.
        settings: How a regime is told.
    """
    settings = settings or RegimeSettings()
    trend, volatility = trailing_moments(returns, settings)
    lines = thresholds_of(trend, volatility, train, settings)
    names = [REGIMES.index(name) for name in ("high volatility", "sideways", "bull")]
    wild, still = volatility > lines.volatility_frac, np.abs(trend) <= lines.trend_frac
    labels = np.select([wild, still, trend > 0.0], names, default=REGIMES.index("bear"))
    known = np.isfinite(trend) & np.isfinite(volatility)
    return np.where(known, labels, UNKNOWN).astype(np.int64)


def judge_regimes(
    labels: IntArray,
    net_returns: FloatArray,
    hold_returns: FloatArray,
    *,
    bars_per_year: float,
    settings: RegimeSettings | None = None,
    index: str = "equal weight",
    parts: Attribution | None = None,
) -> Regimes:
    """Say what was earned in each regime.

    Args:
        labels: (S,) of the bars at whose close was decided.
        net_returns: (S, N) of the agents' sleeves in the bar after.
        hold_returns: (S, N) of holding the same symbols.
        bars_per_year: To annualise with.
        settings: How labels were made.
        index: What they were told from, in words.
        parts: (S, N) what the agents earned, taken apart: alpha is judged; without them the net
            return is.

    Raises:
        DataError: If there is not one label for each bar.
    """
    settings = settings or RegimeSettings()
    if not len(labels) == len(net_returns) == len(hold_returns):
        where = f"{len(net_returns)} and {len(hold_returns)} bars"
        raise DataError("every bar must have a regime", was=f"{len(labels)} labels", where=where)
    sleeves, hold = net_returns.mean(axis=1), hold_returns.mean(axis=1)
    unknown = Interval(math.nan, math.nan, math.nan)
    rows = []
    for place, name in enumerate(REGIMES):
        inside = labels == place
        bars, share = int(inside.sum()), int(inside.sum()) / max(1, len(inside))
        if bars < settings.min_bars:
            rows.append(RegimeRow(name, bars, share, unknown, *(math.nan,) * 3, False))
            continue
        net, earned = mean_within(sleeves, inside), sleeves[inside]
        row = RegimeRow(
            regime=name,
            bars=bars,
            share_frac=share,
            net_bps_per_bar=net.scaled(_BASIS_POINTS),
            hold_bps_per_bar=float(hold[inside].mean()) * _BASIS_POINTS,
            sharpe_annual=annual_sharpe(earned, bars_per_year=bars_per_year),
            max_drawdown_frac=max_drawdown(earned),
            is_profitable=net.estimate > 0.0,
        )
        rows.append(row if parts is None else _with_parts(row, parts, inside))
    return Regimes(_words(settings, index, rows), tuple(rows))


def _with_parts(row: RegimeRow, parts: Attribution, inside: NDArray[np.bool_]) -> RegimeRow:
    market, timing, alpha = (each.mean(axis=1) for each in parts)
    own = mean_within(alpha, inside)
    return replace(
        row,
        market_bps_per_bar=float(market[inside].mean()) * _BASIS_POINTS,
        timing_bps_per_bar=float(timing[inside].mean()) * _BASIS_POINTS,
        alpha_bps_per_bar=own.scaled(_BASIS_POINTS),
        is_profitable=own.estimate > 0.0,
    )


def mean_within(returns: FloatArray, inside: NDArray[np.bool_]) -> Interval:
    """Return the mean of the bars (S,) inside, with a 95 % interval by Newey and West.

    The mean of a part is a ratio of two sums over all bars; its error is that of the mean of
    inside · (return − mean) ÷ share inside, which keeps neighbours neighbours. NaN without a bar;
    no width where nothing moves.
    """
    share = float(inside.mean()) if len(inside) else 0.0
    if share == 0.0:
        return Interval(math.nan, math.nan, math.nan)
    mean = float(returns[inside].mean())
    influence = np.where(inside, returns - mean, 0.0) / share
    error = mean_error(influence)
    half = 0.0 if math.isnan(error) else _Z * error
    return Interval(mean, mean - half, mean + half)


def _words(settings: RegimeSettings, index: str, rows: list[RegimeRow]) -> str:
    text = (
        f"Told at each decision from {index}: high volatility where the deviation of the last "
        f"{settings.volatility_bars} bars is above that of {settings.calm_frac:.0%} of training "
        f"bars; else bull or bear by the return of the last {settings.trend_bars} bars, sideways "
        f"where it is smaller than in all but {settings.sideways_frac:.0%} of training bars."
    )
    few = [f"{row.regime} ({row.bars})" for row in rows if row.bars < settings.min_bars]
    if few:
        text += f" Not judged, fewer than {settings.min_bars} bars: {', '.join(few)}."
    return text


def _trailing(values: FloatArray, length: int, measure: Callable[..., FloatArray]) -> FloatArray:
    """Measure the window of `length` bars (T,) up to each; NaN until there are so many."""
    found = np.full(len(values), np.nan)
    if len(values) >= length:
        windows = np.lib.stride_tricks.sliding_window_view(values, length)
        found[length - 1 :] = measure(windows, axis=-1)
    return found


def measure_regimes(subject: EvaluatedRun, settings: RegimeSettings) -> Regimes:
    """Tell regimes from the reference index where observed data have it, else from equal weight.

    A generated symbol of that name is no index of the others.

    Raises:
        DataError: If training is too short to tell a regime, or the test part has too few bars.
    """
    _, index = _index(subject.data.whole)
    labels = regime_labels(subject, settings)
    bars = subject.bars("test")
    agents = subject.backtest("test")
    at_decision = labels[bars.start : bars.start + agents.n_bars]
    found = judge_regimes(
        at_decision,
        agents.returns,
        subject.backtest_hold(bars).returns,
        bars_per_year=subject.bars_per_year,
        settings=settings,
        index=index,
        parts=attribute_backtest(agents, subject.data.factor),
    )
    return replace(found, rows=_with_trades(found.rows, agents, at_decision))


def _with_trades(
    rows: tuple[RegimeRow, ...], played: Backtest, labels: IntArray
) -> tuple[RegimeRow, ...]:
    """Add closed trades to the regime in which they were decided on.

    Args:
        rows: One per regime, in their order.
        played: The agents' backtest.
        labels: (S,) of the bars at whose close was decided.
    """
    closed = played.trades.select(~played.trades.is_open)
    # Filled in the bar after the decision; with a delay, later ones decide no more.
    regime = labels[np.searchsorted(played.closed_at, closed.entered_at) - 1 - played.delay_bars]
    return tuple(
        replace(
            row,
            n_trades=int((regime == place).sum()),
            win_rate_frac=win_rate(closed.pnl_ccy[regime == place]),
            mean_trade_bars=mean_trade_bars(closed.bars[regime == place]),
        )
        for place, row in enumerate(rows)
    )


def regime_labels(subject: EvaluatedRun, settings: RegimeSettings) -> NDArray[np.int64]:
    """Tell the regime of every bar (T,) of the run's data.

    Raises:
        DataError: If training is too short to tell a regime.
    """
    closes, _ = _index(subject.data.whole)
    return label_regimes(index_returns(closes), subject.data.split.train, settings)


def _index(world: World) -> tuple[NDArray[np.float64], str]:
    """Return closes (N, T) of what regimes are told from, and its name."""
    closes = world.prices[..., 3]
    if REFERENCE_INDEX in world.symbols and not world.synthetic:
        place = symbol_index(world, REFERENCE_INDEX)
        return closes[place : place + 1], REFERENCE_INDEX
    return closes, f"equal weight of {world.n_symbols} symbols"
