"""The relative features: against plain formulae, on markets with gaps, half days and one symbol."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fixtures.feature_markets import bars_of, closes_of, gappy_market, inputs_of
from tradingbot.domain.seeding import stream
from tradingbot.features.causality.prover import prove_causal, prove_every_bar
from tradingbot.features.causality.subject import ProofContext
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.proof_subjects import feature_subject
from tradingbot.features.relative import RELATIVE

BETAS = np.array([0.5, 0.8, 1.0, 1.2, 1.5, 1.0, 0.9, 1.1])


def factor_market(length: int = 900) -> tuple[MarketInputs, np.ndarray]:
    """Returns of one factor times betas around 1, and what is a symbol's own, (T, N)."""
    rng = stream(4, "factor")
    own = rng.normal(0.0, 0.002, (length, len(BETAS)))
    returns = rng.normal(0.0, 0.004, (length, 1)) * BETAS + own
    return inputs_of(bars_of(100.0 * np.exp(np.cumsum(returns, axis=0)))), own


def half_day_market(n_symbols: int = 5) -> MarketInputs:
    """Sessions of seven hours; every fourth has three, and symbols miss bars and begin late."""
    days = np.datetime64("2024-01-02T15:00", "us") + np.arange(60) * np.timedelta64(1, "D")
    hours = [3 if day % 4 == 0 else 7 for day in range(60)]
    stamps = [d + np.arange(n) * np.timedelta64(1, "h") for d, n in zip(days, hours, strict=True)]
    closed_at = np.concatenate(stamps)
    present = stream(6, "missing").random((len(closed_at), n_symbols)) > 0.05
    present[:90, 0] = False
    bars = bars_of(closes_of("random", len(closed_at), n_symbols))
    return replace(inputs_of(bars, present=present), closed_at=closed_at)


def test_beta_finds_the_slope_and_residuals_what_is_ones_own() -> None:
    inputs, own = factor_market()

    raw = compute_features(inputs, RELATIVE, form="raw")

    np.testing.assert_allclose(raw["market_beta"][-1], BETAS, atol=0.2)
    late = slice(300, None)
    centred = own - own.mean(axis=1, keepdims=True)
    for column in range(len(BETAS)):
        found = np.corrcoef(raw["residual_1"][late, column], centred[late, column])[0, 1]
        assert found > 0.95
    sums = np.lib.stride_tricks.sliding_window_view(raw["residual_1"][late], 7, axis=0).sum(-1)
    np.testing.assert_allclose(raw["residual_7"][late][6:], sums, atol=1e-12)


def test_rank_follows_the_residual_and_sums_to_zero() -> None:
    raw = compute_features(factor_market(200)[0], RELATIVE)

    rank, residual = raw["residual_rank"][80:], raw["residual_1"][80:]
    np.testing.assert_allclose(rank.sum(axis=1), 0.0, atol=1e-12)
    assert (residual.argmax(axis=1) == rank.argmax(axis=1)).all()


def test_night_and_day_are_told_apart_on_whole_and_half_days() -> None:
    inputs = half_day_market()
    inputs = replace(inputs, present=np.ones_like(inputs.present))
    bars = bars_of(closes_of("random", *inputs.shape))
    inputs = replace(inputs, bars=bars)

    raw = compute_features(inputs, RELATIVE, form="raw")

    first = np.flatnonzero(np.diff(inputs.closed_at) > np.timedelta64(2, "h")) + 1
    night = np.log(bars["open"][first] / bars["close"][first - 1])
    others = (night.sum(axis=1, keepdims=True) - night) / (night.shape[1] - 1)
    np.testing.assert_allclose(raw["overnight_residual"][first], night - others, atol=1e-12)
    for begin, end in pairwise(first):
        held = raw["overnight_residual"][begin:end]
        np.testing.assert_allclose(held, np.broadcast_to(held[0], held.shape), atol=1e-12)
        day = np.log(bars["close"][end - 1] / bars["open"][begin])
        others = (day.sum() - day) / (len(day) - 1)
        np.testing.assert_allclose(raw["intraday_residual"][end - 1], day - others, atol=1e-12)


def test_same_hour_is_the_mean_of_bars_that_closed_at_this_time() -> None:
    inputs = half_day_market()

    values = compute_features(inputs, RELATIVE)

    column, row = 1, 250
    own = np.flatnonzero(inputs.present[: row + 1, column])[-36:]
    if own[-1] != row:
        row = own[-1]
    hour = inputs.closed_at.astype("datetime64[m]").astype(np.int64) % (24 * 60)
    same = [at for at in own[:-1] if hour[at] == hour[row]]
    expected = values["residual_1"][same, column].mean()
    np.testing.assert_allclose(values["same_hour_residual"][row, column], expected, atol=1e-12)


@pytest.mark.parametrize("market", [gappy_market(300, 6), half_day_market(), half_day_market(1)])
def test_relative_features_are_streamed_bit_for_bit_and_proved(market: MarketInputs) -> None:
    fed = prove_every_bar(market, RELATIVE)
    report = prove_causal(market, [feature_subject(ProofContext(RELATIVE, 200))])

    assert [v.output for v in (*fed, *report.failures) if not v.is_causal] == []


def test_one_symbol_has_no_market_beside_it() -> None:
    inputs = half_day_market(2)
    alone = replace(
        inputs,
        symbols=inputs.symbols[1:],
        present=inputs.present[:, 1:],
        bars={name: values[:, 1:] for name, values in inputs.bars.items()},
    )

    raw = compute_features(alone, RELATIVE, form="raw")

    closes = alone.bars["close"][alone.present[:, 0], 0]
    residual = raw["residual_1"][alone.present[:, 0], 0]
    np.testing.assert_allclose(residual[100:], np.diff(np.log(closes))[99:], atol=1e-12)
    assert not np.nan_to_num(raw["residual_rank"]).any()
