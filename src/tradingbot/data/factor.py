"""The market factor: what all symbols share, and how much of it each one moves with.

A symbol's return is its beta × the factor's return + what is its own. The factor `equal_weight` is
the equal weight of the *other* symbols that have a bar, so that no symbol explains itself; a
symbol's name takes that symbol's returns; `none` is no market at all. Where nothing but the symbol
itself could stand for the market (it is the only one, or it is the factor), its own returns do, and
`own` says so.

Betas are ordinary least squares over bars *before* what is judged, shrunk towards their mean by
their errors (Vasicek 1973). Those to equal weight are moved to a mean of 1, which is the market's
beta to itself: regressed on a mean of few symbols they would all be too low, and what is too little
of a rising market would be left over as skill. What betas leave over of holding all symbols alike
is the market's as well (`shared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError, require_known

FloatArray = NDArray[np.float64]

EQUAL_WEIGHT, NO_FACTOR = "equal_weight", "none"
FEWEST_BETA_BARS = 30
"""With fewer bars in common a symbol has no beta of its own: the mean of the others is used."""


class BarReturns(NamedTuple):
    """Simple returns (N, T) of the close before; NaN where there is no bar or none before it."""

    gap: FloatArray
    """From the close before to the open."""
    whole: FloatArray
    """From the close before to the close. `whole − gap` is the part within the bar."""


@dataclass(frozen=True, eq=False)
class MarketFactor:
    """The market beside N symbols over T bars."""

    name: str
    """`equal_weight`, `none`, or the symbol that stands for the market."""
    symbols: tuple[str, ...]
    returns: BarReturns
    """(N, T) the market that each symbol is compared with; 0 where it has no return, and where the
    symbol has no bar."""
    beta: FloatArray
    """(N,) of each symbol to it; 1 where `own`, 0 without a factor."""
    shared: BarReturns
    """(N, T) what of each symbol's return is the market's: β × the market, and beside equal weight
    what betas leave over of holding all symbols alike, so that this has no alpha at any bar."""
    own: NDArray[np.bool_]
    """(N,) the symbol's own returns stand for the market."""
    days: tuple[str, str]
    """First and last day of the bars that betas are of; empty where there was none."""
    closed_at: NDArray[np.int64]
    """(T,) µs since 1970 UTC."""
    n_missing: int
    """Bars of symbols at which the factor had no return and counts as 0."""

    @property
    def words(self) -> str:
        """Factor and period of the betas, for labels."""
        if self.name == NO_FACTOR:
            return "no market factor"
        market = "the symbol itself at its mean exposure"
        if not self.own.all():
            market = "equal weight of the other symbols" if self.name == EQUAL_WEIGHT else self.name
        period = " … ".join(self.days) if self.days[0] else "no bars, all 1"
        return f"{market}, betas of {period}"

    def during(self, bars: IndexRange) -> MarketFactor:
        """Keep the returns of some bars; betas stay those of the bars they were fitted on."""
        cut = slice(bars.start, bars.stop)
        returns, shared = (
            BarReturns(*(part[:, cut] for part in parts)) for parts in (self.returns, self.shared)
        )
        return replace(self, returns=returns, shared=shared, closed_at=self.closed_at[cut])

    def at(self, closed_at: NDArray[np.int64]) -> MarketFactor:
        """Keep the bars with these closes, which follow one another; betas stay.

        Raises:
            DataError: If they are not bars of the factor.
        """
        first = int(np.searchsorted(self.closed_at, closed_at[0])) if len(closed_at) else 0
        found = self.during(IndexRange(first, first + len(closed_at)))
        if not np.array_equal(found.closed_at, closed_at):
            rule = "the market factor must have the bars that are judged"
            raise DataError(rule, was=f"{len(found.closed_at)} of {len(closed_at)}")
        return found

    def of(self, symbols: Sequence[str]) -> MarketFactor:
        """Keep some symbols, in the order given; the market stays that of all.

        Raises:
            DataError: If one is not among them; names the closest.
        """
        for symbol in symbols:
            rule = "symbol must be one of the factor's"
            require_known(symbol, self.symbols, rule, where=self.name, error=DataError)
        rows = [self.symbols.index(symbol) for symbol in symbols]
        returns, shared = (
            BarReturns(*(part[rows] for part in parts)) for parts in (self.returns, self.shared)
        )
        kept = {"returns": returns, "shared": shared, "beta": self.beta[rows]}
        return replace(self, symbols=tuple(symbols), own=self.own[rows], **kept)  # type: ignore[arg-type]


def bar_returns(prices: FloatArray, present: NDArray[np.bool_]) -> BarReturns:
    """Return what each symbol did in each bar.

    Args:
        prices: (N, T, 4 or more) open, high, low, close.
        present: (N, T) there is a bar. Over bars that are missing the last close is kept.
    """
    there = present & np.isfinite(prices[..., 0]) & np.isfinite(prices[..., 3])
    place = np.maximum.accumulate(np.where(there, np.arange(there.shape[1]), -1), axis=1)
    before = np.concatenate([np.full((len(there), 1), -1), place[:, :-1]], axis=1)
    last = np.take_along_axis(prices[..., 3], np.maximum(before, 0), axis=1)
    last = np.where(there & (before >= 0) & (last > 0.0), last, np.nan)
    opened, closed = (np.where(there, prices[..., at], np.nan) for at in (0, 3))
    return BarReturns(gap=opened / last - 1.0, whole=closed / last - 1.0)


def fit_factor(
    returns: BarReturns,
    symbols: Sequence[str],
    bars: IndexRange,
    closed_at: NDArray[np.int64],
    name: str = EQUAL_WEIGHT,
) -> MarketFactor:
    """Return the market beside each symbol, with betas of some bars.

    Args:
        returns: (N, T) of every symbol of the universe: `bar_returns`.
        symbols: N names.
        bars: What betas may see: bars before those that are judged.
        closed_at: (T,) µs since 1970 UTC.
        name: `equal_weight`, `none`, or one of the symbols.

    Raises:
        DataError: If the factor is a symbol without bars here; names the closest.
    """
    require_factor(name, symbols)
    market, own = _market_of(returns, tuple(symbols), name)
    cut = slice(bars.start, bars.stop)
    beta = _betas(returns.whole[:, cut], market.whole[:, cut], own, name)
    there = np.isfinite(returns.whole)
    days = closed_at[cut].astype("datetime64[us]").astype("datetime64[D]")
    defined = BarReturns(*(np.where(there, np.nan_to_num(part), 0.0) for part in market))
    return MarketFactor(
        name=name,
        symbols=tuple(symbols),
        returns=defined,
        beta=beta,
        shared=BarReturns(
            *(
                _shared(*each, beta, levels=name == EQUAL_WEIGHT and not own.all())
                for each in zip(returns, defined, strict=True)
            )
        ),
        own=own,
        days=(str(days[0]), str(days[-1])) if len(days) else ("", ""),
        closed_at=closed_at,
        n_missing=int((there & ~np.isfinite(market.whole)).sum()),
    )


def require_factor(name: str, symbols: Sequence[str]) -> None:
    """Refuse a factor that these symbols have no returns of.

    Raises:
        DataError: If it is none of them; names the closest.
    """
    rule = f"factor must be {EQUAL_WEIGHT}, {NO_FACTOR} or a symbol of the dataset"
    require_known(name, (EQUAL_WEIGHT, NO_FACTOR, *symbols), rule, error=DataError)


def _market_of(
    returns: BarReturns, symbols: tuple[str, ...], name: str
) -> tuple[BarReturns, NDArray[np.bool_]]:
    """Return the market (N, T) beside each symbol, NaN where it has none, and where it is own."""
    n_symbols = len(symbols)
    own = np.zeros(n_symbols, dtype=bool)
    if name == NO_FACTOR:
        return BarReturns(*(np.zeros_like(part) for part in returns)), own
    own[:] = n_symbols == 1
    if name != EQUAL_WEIGHT:
        own[symbols.index(name)] = True
        rows = [symbols.index(name)] * n_symbols
        return BarReturns(*(part[rows] for part in returns)), own
    if n_symbols == 1:
        return returns, own
    return BarReturns(*(_mean_of_others(part) for part in returns)), own


def _mean_of_others(numbers: FloatArray) -> FloatArray:
    """Return the mean (N, T) over all other symbols that have a number; NaN where none has."""
    there = np.isfinite(numbers)
    known = np.where(there, numbers, 0.0)
    total, count = known.sum(axis=0) - known, there.sum(axis=0) - there
    return np.asarray(np.divide(total, count, out=np.full_like(known, np.nan), where=count > 0))


def _shared(
    returns: FloatArray, market: FloatArray, beta: FloatArray, *, levels: bool
) -> FloatArray:
    """Return what of returns (N, T) is the market's.

    With `levels`, the mean over symbols of what is left over is the market's too: betas that differ
    leave a sliver of it, small and as certain as the market itself, which would pass for skill.
    """
    moved, there = beta[:, None] * market, np.isfinite(returns)
    if not levels:
        return np.asarray(moved)
    left = np.where(there, returns - moved, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, moved + left, 0.0)


def _betas(
    returns: FloatArray, market: FloatArray, own: NDArray[np.bool_], name: str
) -> FloatArray:
    """Return shrunk slopes (N,) of returns (N, T) on the market beside each symbol."""
    if name == NO_FACTOR:
        return np.zeros(len(returns))
    both = np.isfinite(returns) & np.isfinite(market)
    count = both.sum(axis=1)
    x, y = (_centred(part, both, count) for part in (market, returns))
    square, freedom = (x * x).sum(axis=1), np.maximum(count - 2, 1)
    fitted = (count >= FEWEST_BETA_BARS) & (square > 0.0) & ~own
    slope = np.divide((x * y).sum(axis=1), square, out=np.ones(len(x)), where=fitted)
    rest = ((y - slope[:, None] * x) ** 2).sum(axis=1)
    error = np.divide(rest, freedom * square, out=np.zeros(len(x)), where=fitted)
    if not fitted.any():
        return np.ones(len(returns))
    mean = slope[fitted].mean()
    spread = slope[fitted].var(ddof=1) if fitted.sum() > 1 else 0.0
    truth = max(0.0, spread - error[fitted].mean())
    kept = truth / np.maximum(truth + error, np.finfo(np.float64).tiny)
    shrunk = np.where(fitted, mean + kept * (slope - mean), mean)
    if name == EQUAL_WEIGHT:
        shrunk = shrunk + (1.0 - shrunk[~own].mean())
    return np.asarray(np.where(own, 1.0, shrunk))


def _centred(numbers: FloatArray, used: NDArray[np.bool_], count: NDArray[np.int64]) -> FloatArray:
    known = np.where(used, numbers, 0.0)
    mean = known.sum(axis=1) / np.maximum(count, 1)
    return np.where(used, known - mean[:, None], 0.0)
