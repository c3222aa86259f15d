from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.synthetic.market import MarketSpec
from tradingbot.data.synthetic.registry import (
    generate,
    known_markets,
    lay_grid,
    market,
    parse_params,
    register,
)
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.timeframe import BarGrid, Timeframe

DAYS = {"start": date(2024, 7, 1), "end": date(2024, 7, 5)}  # a half day, a holiday
HOUR = Timeframe.parse("1h")


def july() -> TradingCalendar:
    return TradingCalendar.load("XNYS", DAYS["start"], DAYS["end"])


def test_known_markets_listed_are_sorted_and_found_by_name():
    names = [spec.name for spec in known_markets()]
    assert names == sorted(names)
    assert "regimes" in names
    assert all(market(name).name == name for name in names)


@pytest.mark.parametrize("spec", known_markets(), ids=lambda spec: spec.name)
def test_known_market_defaults_generate_finite_bars(spec: MarketSpec):
    made = generate(spec.name, symbols=["AAPL", "MSFT"], seed=3, **DAYS)
    assert made.name == spec.name
    assert made.shape == made.closes.shape == (7 + 7 + 4 + 7, 2)
    assert made.params == spec.defaults().model_dump()
    for values in (made.opens, made.highs, made.lows, made.closes, made.vwaps):
        assert np.isfinite(values).all()
        assert (values > 0).all()


def test_market_unknown_name_is_refused_with_suggestion():
    with pytest.raises(ConfigError, match="Did you mean 'regimes'"):
        market("regime")


def test_register_other_market_of_same_name_is_refused():
    regimes = market("regimes")
    assert register(regimes) is regimes
    with pytest.raises(ConfigError, match="must be free"):
        register(MarketSpec("regimes", "another", regimes.defaults, regimes.generate))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"idio_volatilty": 0.2}, "Did you mean 'idio_volatility'"),
        ({"idio_volatility": float("nan")}, "idio_volatility .* finite"),
        ({"market_volatility": float("inf")}, "market_volatility .* finite"),
        ({"idio_volatility": -0.1}, "idio_volatility .* greater than or equal to 0, was -0.1"),
        ({"bull_sessions": 0}, "bull_sessions"),
        ({"idio_freedom": 2.0}, "idio_freedom .* greater than 2.1"),
        ({"leverage": "much"}, "leverage .* number, was 'much'"),
        ({"seed": 1}, "must be a known one, was 'seed'"),
    ],
)
def test_parse_params_bad_value_gives_one_line(params, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse_params(market("regimes"), params)
    assert "\n" not in str(caught.value)


def test_parse_params_text_number_is_read_as_number():
    assert parse_params(market("regimes"), {"leverage": "-0.3"}).model_dump()["leverage"] == -0.3


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_generate_seed_out_of_range_is_refused(seed):
    with pytest.raises(ConfigError, match="seed must lie in"):
        generate("regimes", symbols=["A"], seed=seed, **DAYS)


def test_generate_period_without_session_is_refused():
    with pytest.raises(DataError, match="trading session"):
        generate("regimes", symbols=["A"], start=date(2024, 7, 4), end=date(2024, 7, 4))


@pytest.mark.parametrize("symbols", [[], ["A", "A"], ["../etc"]])
def test_lay_grid_bad_symbols_are_refused(symbols):
    with pytest.raises(DataError, match="symbol"):
        lay_grid(symbols, july(), timeframe=HOUR)


def test_lay_grid_sectors_of_other_length_are_refused():
    with pytest.raises(ConfigError, match="1 for 2 symbols"):
        lay_grid(["A", "B"], july(), timeframe=HOUR, sectors=["tech"])


def test_lay_grid_session_grid_numbers_sessions_and_bars():
    grid = lay_grid(["A"], july(), timeframe=HOUR, grid=BarGrid.SESSION)
    assert np.bincount(grid.session).tolist() == [7, 7, 4, 7]
    assert grid.bar_of_session.tolist() == [*range(7), *range(7), *range(4), *range(7)]
    assert grid.opens_session.sum() == 4
    assert grid.hours[:7].tolist() == [1, 1, 1, 1, 1, 1, 0.5]


def test_grid_bars_per_year_counts_bars_of_whole_years():
    year = TradingCalendar.load("XNYS", date(2024, 1, 1), date(2024, 12, 31))
    grid = lay_grid(["A"], year, timeframe=HOUR)
    assert grid.bars_per_year == pytest.approx(252 * 7, rel=0.02)
