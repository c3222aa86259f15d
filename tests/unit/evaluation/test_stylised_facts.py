from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tradingbot.data.schema import COVARIATE_COLUMNS
from tradingbot.data.synthetic.bar_frames import to_frames
from tradingbot.data.synthetic.registry import generate
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.stylised_facts import (
    StylisedFacts,
    autocorrelation,
    excess_kurtosis,
    jump_frequency,
    leverage,
    log_returns,
    measure_facts,
    summarise,
    tail_index,
)
from tradingbot.features.inputs import MarketInputs, build_inputs

# Bands for the default `regimes` market on two years of hourly bars. A single path varies with the
# regimes it meets, so they are wider than the spread of any one sample.
BANDS = {
    "annual_volatility": (0.2, 0.45),
    "excess_kurtosis": (12, 90),
    "tail_index": (1.9, 3.2),
    "return_acf_1": (-0.04, 0.04),
    "abs_acf_1": (0.1, 0.35),
    "abs_acf_5": (0.06, 0.25),
    "abs_acf_20": (0.03, 0.18),
    "abs_acf_100": (0.005, 0.12),
    "leverage": (-0.04, -0.002),
    "index_leverage": (-0.12, -0.01),
    "index_abs_acf_5": (0.08, 0.4),
    "open_volatility": (1.7, 2.9),
    "close_volatility": (0.6, 1.0),
    "open_volume": (1.6, 2.8),
    "close_volume": (1.2, 2.2),
    "overnight_share": (0.25, 0.5),
    "pair_correlation": (0.1, 0.4),
    "sector_excess": (0.05, 0.25),
    "jumps_per_1000": (0.3, 3),
    "volume_volatility": (0.15, 0.45),
    "range_ratio": (1.8, 2.2),
    "zero_volume_frac": (0, 0),
}
# How far the default market (median of five seeds) may be from the real hourly set: the larger of
# the two values ÷ the smaller. Facts that are 0 by nature have an absolute distance instead.
FACTORS = {
    "annual_volatility": 1.2,
    "excess_kurtosis": 1.6,
    "tail_index": 1.15,
    "abs_acf_1": 1.4,
    "abs_acf_5": 1.5,
    "abs_acf_20": 1.6,
    "abs_acf_100": 1.8,
    "leverage": 2.0,
    "index_leverage": 2.0,
    "index_abs_acf_5": 1.7,
    "open_volatility": 1.25,
    "close_volatility": 1.25,
    "open_volume": 1.25,
    "close_volume": 1.25,
    "overnight_share": 1.25,
    "pair_correlation": 1.5,
    "sector_excess": 1.8,
    "jumps_per_1000": 2.0,
    "volume_volatility": 1.25,
    "range_ratio": 1.1,
}
DISTANCES = {"return_acf_1": 0.02, "zero_volume_frac": 0.01}
SEEDS = range(5)
UNIVERSE = load_universe("us143")
SECTORS = {member.symbol: member.sector for member in UNIVERSE.members}
SUBSET = UNIVERSE.symbols[::4]


@lru_cache(maxsize=8)
def regimes_facts(seed: int, **params: float) -> StylisedFacts:
    market = generate(
        "regimes",
        symbols=SUBSET,
        sectors=[SECTORS[symbol] for symbol in SUBSET],
        start=date(2023, 10, 2),
        end=date(2025, 10, 31),
        seed=seed,
        **params,
    )
    return measure_facts(build_inputs(*to_frames(market)), sectors=SECTORS)


def inputs_of(bars: Mapping[str, np.ndarray], symbols: int) -> MarketInputs:
    """Bars on a 24-hour grid, closing at every full hour from 01:00 UTC."""
    rows = len(bars["close"])
    closed_at = np.datetime64("2024-01-01T01:00", "us") + np.arange(rows) * np.timedelta64(1, "h")
    names = tuple(f"S{k}" for k in range(symbols))
    return MarketInputs(names, closed_at, np.isfinite(bars["close"]), bars, time_zone="UTC")


def plain_bars(returns: np.ndarray) -> dict[str, np.ndarray]:
    closes = 100 * np.exp(np.cumsum(returns, axis=0))
    opens = closes / np.exp(returns)
    return {
        "open": opens,
        "high": np.maximum(opens, closes) * 1.001,
        "low": np.minimum(opens, closes) / 1.001,
        "close": closes,
        "volume": np.full(closes.shape, 1000.0),
        "vwap": closes,
    }


def garch(leverage_share: float, *, rows: int = 6000, columns: int = 20) -> np.ndarray:
    rng = np.random.default_rng(9)
    variance, out = np.ones(columns), np.empty((rows, columns))
    for t in range(rows):
        out[t] = np.sqrt(variance) * rng.standard_normal(columns)
        weight = 1 + leverage_share * np.where(out[t] < 0, 1, -1)
        variance = 0.05 + 0.1 * weight * out[t] ** 2 + 0.85 * variance
    return out


def test_measure_facts_independent_normal_returns_have_no_structure():
    rng = np.random.default_rng(4)
    facts = measure_facts(inputs_of(plain_bars(0.01 * rng.standard_normal((6000, 30))), 30))
    assert abs(facts.excess_kurtosis.median) < 0.2
    assert facts.tail_index.median > 4
    for name in ("return_acf_1", "abs_acf_1", "abs_acf_5", "abs_acf_20", "abs_acf_100"):
        assert abs(facts.as_dict()[name].median) < 0.015, name
    assert abs(facts.leverage.median) < 0.005
    assert abs(facts.pair_correlation.median) < 0.01
    assert facts.jumps_per_1000.median == 0
    assert facts.open_volatility.median == pytest.approx(1, abs=0.05)
    assert facts.overnight_share.median == pytest.approx(0, abs=1e-12)
    assert facts.annual_volatility.median == pytest.approx(0.01 * np.sqrt(24 * 365.25), rel=0.02)
    assert np.isnan(facts.sector_excess.median)


def test_autocorrelation_garch_returns_cluster_without_leverage():
    returns = garch(0.0)
    assert np.median(autocorrelation(np.abs(returns), 1)) > 0.1
    assert abs(np.median(leverage(returns))) < 0.01


def test_leverage_planted_asymmetry_is_negative_and_flips_with_its_sign():
    assert np.median(leverage(garch(0.8))) < -0.02
    assert np.median(leverage(garch(-0.8))) > 0.02


def test_excess_kurtosis_uniform_and_exponential_match_theory():
    rng = np.random.default_rng(6)
    assert excess_kurtosis(rng.random((200_000, 1)))[0] == pytest.approx(-1.2, abs=0.02)
    assert excess_kurtosis(rng.exponential(size=(400_000, 1)))[0] == pytest.approx(6, rel=0.1)


def test_tail_index_pareto_tail_is_recovered():
    heavy = np.random.default_rng(7).pareto(3.0, size=(50_000, 5)) + 1
    assert np.median(tail_index(heavy)) == pytest.approx(3, rel=0.05)


def test_jump_frequency_planted_jumps_are_counted():
    returns = np.random.default_rng(8).standard_normal((5000, 1))
    returns[[500, 1500, 2500]] = 15.0
    assert jump_frequency(returns)[0] == pytest.approx(3 / 5000)


def test_measure_facts_planted_day_shape_gaps_and_volume_are_found():
    rng = np.random.default_rng(10)
    hour = np.arange(4800) % 24
    scale = np.where(hour == 0, 3.0, np.where(hour == 23, 2.0, 1.0))[:, None]
    bars = plain_bars(0.001 * scale * rng.standard_normal((4800, 10)))
    bars["volume"] = bars["volume"] * scale
    night = 0.01 * rng.standard_normal((4800, 10)) * (hour == 0)[:, None]
    lift = np.exp(np.cumsum(night, axis=0))
    bars = {k: v if k == "volume" else v * lift for k, v in bars.items()}
    facts = measure_facts(inputs_of(bars, 10))
    assert facts.open_volatility.median == pytest.approx(3, rel=0.1)
    assert facts.close_volatility.median == pytest.approx(2, rel=0.1)
    assert facts.open_volume.median == pytest.approx(3)
    assert facts.close_volume.median == pytest.approx(2)
    assert facts.overnight_share.median == pytest.approx(1e-4 / (1e-4 + 35e-6), rel=0.05)


def test_measure_facts_common_and_sector_factors_show_in_correlations():
    rng = np.random.default_rng(11)
    common, red, blue = rng.standard_normal((3, 3000, 1))
    own = rng.standard_normal((3000, 6))
    groups = np.concatenate([np.repeat(red, 3, axis=1), np.repeat(blue, 3, axis=1)], axis=1)
    inputs = inputs_of(plain_bars(0.01 * (common + groups + own)), 6)
    labels = {f"S{k}": "red" if k < 3 else "blue" for k in range(6)}
    facts = measure_facts(inputs, sectors=labels)
    assert facts.sector_excess.median == pytest.approx(1 / 3, abs=0.05)
    assert facts.pair_correlation.median == pytest.approx((2 * 2 / 3 + 3 * 1 / 3) / 5, abs=0.05)


def test_measure_facts_absent_bars_are_left_out_not_filled():
    rng = np.random.default_rng(12)
    bars = plain_bars(0.01 * rng.standard_normal((3000, 3)))
    whole = measure_facts(inputs_of(bars, 3))
    holes = {name: values.copy() for name, values in bars.items()}
    for values in holes.values():
        values[100:200, 1] = np.nan
    facts = measure_facts(inputs_of(holes, 3))
    assert facts.annual_volatility.median == pytest.approx(whole.annual_volatility.median, rel=0.05)
    assert np.isnan(log_returns(holes["close"])[200, 1])
    assert facts.zero_volume_frac.median == 0


def test_measure_facts_zero_volume_share_is_counted():
    bars = plain_bars(0.01 * np.random.default_rng(13).standard_normal((1000, 1)))
    bars["volume"][:10] = 0
    assert measure_facts(inputs_of(bars, 1)).zero_volume_frac.median == pytest.approx(0.01)


def test_measure_facts_too_few_bars_are_refused():
    with pytest.raises(DataError, match="300 bars or more, was 50"):
        measure_facts(inputs_of(plain_bars(np.full((50, 1), 0.01)), 1))


def test_summarise_skips_nan_and_orders_quartiles():
    fact = summarise(np.array([np.nan, 1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (fact.low, fact.median, fact.high) == (2, 3, 4)


@pytest.mark.parametrize("seed", [7, *SEEDS])
def test_regimes_default_facts_lie_in_their_bands(seed):
    facts = regimes_facts(seed).as_dict()
    assert facts.keys() == BANDS.keys()
    outside = {
        name: facts[name].median
        for name, (low, high) in BANDS.items()
        if not low <= facts[name].median <= high
    }
    assert outside == {}


def test_regimes_each_switch_removes_its_fact():
    calm = regimes_facts(
        7,
        volatility_clustering=0,
        leverage=0,
        overnight_share=0,
        volume_link=0,
        jump_size=0,
        common_jump_size=0,
    )
    base = regimes_facts(7)
    assert calm.abs_acf_1.median < 0.6 * base.abs_acf_1.median
    assert calm.overnight_share.median < 0.01
    assert abs(calm.volume_volatility.median) < 0.05
    assert calm.excess_kurtosis.median < 0.5 * base.excess_kurtosis.median
    positive = regimes_facts(7, leverage=0.6)
    assert positive.index_leverage.median > base.index_leverage.median + 0.03


def test_regimes_default_facts_are_near_the_real_hourly_set(real_data: Path):
    facts = measure_facts(real_inputs(real_data), sectors=SECTORS).as_dict()
    real = {name: fact.median for name, fact in facts.items()}
    samples = [regimes_facts(seed).as_dict() for seed in SEEDS]
    ours = {name: np.median([sample[name].median for sample in samples]) for name in real}
    assert FACTORS.keys() | DISTANCES.keys() == real.keys()
    near = {name: 1 / limit <= ours[name] / real[name] <= limit for name, limit in FACTORS.items()}
    near |= {name: abs(ours[name] - real[name]) <= most for name, most in DISTANCES.items()}
    assert {name: (ours[name], real[name]) for name in real if not near[name]} == {}


def real_inputs(folder: Path) -> MarketInputs:
    """Read every fourth symbol of the real hourly set; its stamps are bar starts."""
    closed_at = pl.col("timestamp").cast(pl.Datetime("us", "UTC")) + pl.duration(hours=1)
    prices = [pl.col(name).cast(pl.Float64) for name in ("open", "high", "low", "close", "volume")]
    bars = (
        pl.scan_parquet(folder / "us_hourly_2023_2025.parquet")
        .filter(pl.col("symbol").is_in(SUBSET))
        .select(
            "symbol",
            closed_at.alias("closed_at"),
            closed_at.alias("known_at"),
            *prices,
            pl.col("close").alias("vwap"),
        )
        .filter(pl.col("closed_at") >= pl.datetime(2023, 10, 2, time_zone="UTC"))
        .sort("symbol", "closed_at")
        .collect()
    )
    return build_inputs(bars, pl.DataFrame(schema=COVARIATE_COLUMNS))
