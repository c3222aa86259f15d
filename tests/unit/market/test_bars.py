"""The market as rows: absent bars, volatility of the past, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.market.bars import (
    UNSEEN_STALE_BARS,
    VOLATILITY_BARS,
    TensorMarket,
    require_rising,
    tensor_market,
)


def flat_bars(closes: list[float], volume: float = 10.0) -> np.ndarray:
    """Return one symbol (1, T, 5) whose bars are their close; NaN is no bar."""
    close = np.array(closes)
    size = np.where(np.isfinite(close), volume, np.nan)
    return np.stack((close, close, close, close, size), axis=-1)[None]


def market_of(closes: list[float]) -> TensorMarket:
    return tensor_market(flat_bars(closes), np.isfinite([closes]), dtype=torch.float64)


def test_bar_that_is_absent_repeats_the_last_close_and_is_not_tradable() -> None:
    market = market_of([math.nan, 5.0, math.nan, math.nan, 7.0])
    bar = market.bar(torch.arange(5))
    assert bar.close.tolist() == bar.open.tolist() == bar.high.tolist() == [1.0, 5.0, 5.0, 5.0, 7.0]
    assert bar.tradable.tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]
    assert bar.volume.tolist() == [0.0, 10.0, 0.0, 0.0, 10.0]
    assert market.stale_bars(torch.arange(5)).tolist() == [UNSEEN_STALE_BARS, 0, 1, 2, 0]


def test_bar_that_is_not_a_member_is_absent_whatever_its_prices() -> None:
    present = np.array([[True, False, True]])
    bar = tensor_market(flat_bars([5.0, 6.0, 7.0]), present).bar(torch.tensor([1]))
    assert (bar.close.item(), bar.volume.item(), bar.tradable.item()) == (5.0, 0.0, 0.0)


def test_rows_of_symbols_follow_each_other() -> None:
    prices = np.concatenate((flat_bars([1.0, 2.0]), flat_bars([3.0, 4.0])))
    market = tensor_market(prices, np.ones((2, 2), dtype=bool))
    assert (market.n_symbols, market.n_bars) == (2, 2)
    assert market.bar(torch.tensor([3, 0])).close.tolist() == [4.0, 1.0]


def test_volatility_is_that_of_the_bars_before() -> None:
    closes = np.exp(stream(1, "closes").normal(0.0, 0.02, 60).cumsum())
    found = market_of(list(closes)).bar(torch.arange(60)).volatility
    returns = np.diff(np.log(closes), prepend=np.log(closes[0]))
    for bar in range(VOLATILITY_BARS, 60):
        assert found[bar].item() == pytest.approx(returns[bar - VOLATILITY_BARS : bar].std())
    assert (found[:VOLATILITY_BARS] == 0.0).all()


def test_volatility_does_not_know_its_own_bar_or_later_ones() -> None:
    closes = list(np.exp(stream(1, "closes").normal(0.0, 0.02, 60).cumsum()))
    other = [*closes[:40], 1e4, 1e-3, *closes[42:]]
    known, changed = (market_of(x).bar(torch.arange(60)).volatility for x in (closes, other))
    assert torch.equal(known[:41], changed[:41])
    assert known[41] != changed[41]


def test_first_price_of_a_symbol_is_no_return() -> None:
    late = market_of([math.nan] * 30 + [100.0] * 30).bar(torch.arange(60))
    assert (late.volatility == 0.0).all()


@pytest.mark.parametrize("first", [0, 1, 30, 36, 59])
def test_volatility_of_a_late_symbol_is_that_of_one_whose_data_begin_there(first: int) -> None:
    closes = list(np.exp(stream(2, "closes").normal(0.0, 0.02, 60 - first).cumsum()))
    late = market_of([math.nan] * first + closes).bar(torch.arange(60)).volatility
    alone = market_of(closes).bar(torch.arange(len(closes))).volatility

    assert torch.equal(late[first:], alone)
    assert (late[: first + VOLATILITY_BARS] == 0.0).all()
    assert bool((alone > 0.0).any()) == (len(closes) > VOLATILITY_BARS)


@pytest.mark.parametrize(
    "bar",
    [
        (5.0, 6.0, 5.5, 5.0, 1.0),  # low above the open
        (5.0, 4.9, 4.0, 4.5, 1.0),  # high below the open
        (5.0, 6.0, 0.0, 5.0, 1.0),
        (5.0, 6.0, -1.0, 5.0, 1.0),
        (5.0, 6.0, 4.0, 5.0, -1.0),
        (5.0, math.inf, 4.0, 5.0, 1.0),
        (5.0, 6.0, 4.0, 5.0, math.inf),
        *[tuple(math.nan if i == j else 5.0 for j in range(5)) for i in range(5)],
    ],
)
def test_bar_that_is_impossible_is_refused_with_its_place(bar: tuple[float, ...]) -> None:
    prices = np.full((2, 3, 5), 5.0)
    prices[1, 2] = bar
    with pytest.raises(DataError, match=r"symbol 1, bar 2"):
        tensor_market(prices, np.ones((2, 3), dtype=bool))
    absent = np.ones((2, 3), dtype=bool)
    absent[1, 2] = False
    assert tensor_market(prices, absent).bar(torch.tensor([5])).tradable.item() == 0.0


@pytest.mark.parametrize("price", [1e-50, 1e50])
def test_price_that_the_format_cannot_hold_is_refused(price: float) -> None:
    with pytest.raises(DataError, match="float32"):
        tensor_market(flat_bars([price]), np.ones((1, 1), dtype=bool))
    assert (
        tensor_market(flat_bars([price]), np.ones((1, 1), dtype=bool), dtype=torch.float64)
        .rows.isfinite()
        .all()
    )


@pytest.mark.parametrize("shape", [(3, 5), (1, 3, 4), (2, 3, 5)])
def test_shapes_that_disagree_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="must be"):
        tensor_market(np.ones(shape), np.ones((1, 3), dtype=bool))


@pytest.mark.parametrize(("clock", "bar"), [([1, 2, 2], 2), ([1, 5, 4, 6], 2), ([3, 1], 1)])
def test_clock_that_does_not_rise_is_refused_with_its_place(clock: list[int], bar: int) -> None:
    with pytest.raises(DataError, match=f"bar {bar}"):
        require_rising(clock)


def test_clock_that_rises_passes() -> None:
    require_rising([1, 2, 5])


def test_market_in_another_format_keeps_its_bars() -> None:
    market = market_of([5.0, 7.0]).to(dtype=torch.float32)
    assert market.dtype is torch.float32
    assert market.device.type == "cpu"
    assert market.bar(torch.tensor([1])).close.item() == 7.0
