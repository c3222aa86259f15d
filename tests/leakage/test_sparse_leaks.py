"""Leaks at few bars: one row in a hundred, half days, whole days; found whatever the seed.

Two seeds of each run by default, all twelve with `-m slow`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from leakage.markets import synthetic_inputs
from leakage.zoo import DAY, following, returns
from tradingbot.domain.seeding import stream
from tradingbot.features.causality import prefixes
from tradingbot.features.causality.cuts import calendar_traits
from tradingbot.features.causality.prefixes import prefix_cuts
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.subject import ProofSubject, Rows
from tradingbot.features.inputs import MarketInputs

SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
HALF_DAY_ROWS = 4
EVERY_NTH_DAY = 80
Mask = Callable[[MarketInputs, int], np.ndarray]


@cache
def market(days: int = 330) -> MarketInputs:
    """Hourly bars with a half day of four bars in every eighty days, and 8 symbols."""
    whole = synthetic_inputs(days=days, symbols=8, covariates=())
    day, row = np.divmod(np.arange(len(whole.closed_at)), 7)
    kept = ~((day % EVERY_NTH_DAY == EVERY_NTH_DAY - 13) & (row >= HALF_DAY_ROWS))
    return replace(
        whole,
        closed_at=whole.closed_at[kept],
        present=whole.present[kept],
        bars={name: values[kept] for name, values in whole.bars.items()},
    )


def half_days(inputs: MarketInputs, _: int) -> np.ndarray:
    """Rows of half days of the whole market, whatever part of it is given."""
    day = market().closed_at.astype(DAY)
    days, counts = np.unique(day, return_counts=True)
    return np.isin(inputs.closed_at.astype(DAY), days[counts == HALF_DAY_ROWS])


def last_of_half_days(inputs: MarketInputs, seed: int) -> np.ndarray:
    whole = market()
    rows = half_days(whole, seed) & np.append(np.diff(whole.closed_at.astype(DAY)).astype(bool), 0)
    return np.isin(inputs.closed_at, whole.closed_at[rows.astype(bool)])


def drawn_rows(inputs: MarketInputs, seed: int) -> np.ndarray:
    """One row in a hundred, by its time."""
    chosen = stream(seed, "leaky rows").random(len(market().closed_at)) < 0.01
    return np.isin(inputs.closed_at, market().closed_at[chosen])


def drawn_numbers(inputs: MarketInputs, seed: int) -> np.ndarray:
    """One row in a hundred, by its number."""
    return (stream(seed, "leaky rows").random(10_000) < 0.01)[: len(inputs.closed_at)]


def drawn_days(inputs: MarketInputs, seed: int) -> np.ndarray:
    """One day in fifty."""
    days = np.unique(market().closed_at.astype(DAY))
    chosen = stream(seed, "leaky days").random(len(days)) < 0.02
    return np.isin(inputs.closed_at.astype(DAY), days[chosen])


def leaking(mask: Mask, seed: int, columns: slice, *, mixed: bool, lag: int = 1) -> ProofSubject:
    """A return, or the market's mean of it, that is the next bar's where a mask says so."""

    def compute(inputs: MarketInputs) -> dict[str, Rows]:
        value = returns(inputs.bars["close"])
        if mixed:
            value = np.repeat(np.nanmean(value, axis=1, keepdims=True), value.shape[1], axis=1)
        rows = np.zeros(value.shape, dtype=bool)
        rows[:, columns] = mask(inputs, seed)[:, None]
        return {"value": Rows(np.where(rows, following(value, lag), value))}

    return ProofSubject("planted", compute, "market" if mixed else "symbol")


@pytest.fixture(params=["prefixes", "stretches"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small markets are given from their first row, large ones by stretches."""
    if request.param == "stretches":
        monkeypatch.setattr(prefixes, "PREFIX_CELLS", 0)
    return str(request.param)


def proved(subject: ProofSubject, seed: int) -> str:
    plan = ProofPlan(boundaries=(1_600, 1_950), seed=seed)
    return prove_causal(market(), [subject], plan).verdicts[0].status


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mask", [half_days, last_of_half_days, drawn_rows, drawn_numbers])
def test_market_wide_leak_at_few_bars_is_caught(mask: Mask, seed: int) -> None:
    assert proved(leaking(mask, seed, slice(None), mixed=True), seed) == "leaks"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mask", [half_days, last_of_half_days, drawn_rows, drawn_days])
def test_leak_at_few_bars_of_two_symbols_is_caught(mask: Mask, seed: int) -> None:
    first = seed % 7
    assert proved(leaking(mask, seed, slice(first, first + 2), mixed=False), seed) == "leaks"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_without_a_leak_is_not_flagged(seed: int) -> None:
    def none(inputs: MarketInputs, _: int) -> np.ndarray:
        return np.zeros(len(inputs.closed_at), dtype=bool)

    assert proved(leaking(none, seed, slice(None), mixed=True), seed) == "causal"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", SEEDS)
def test_leak_of_what_knows_absolute_rows_is_caught(seed: int) -> None:
    """Nothing is said before row 1,500: a stretch of the market would hold nothing."""

    def compute(inputs: MarketInputs) -> dict[str, Rows]:
        value = np.nanmean(returns(inputs.bars["close"]), axis=1)
        peeks = half_days(inputs, seed)
        value = np.where(peeks, following(value), value)
        value[:1_500] = 0.0
        return {"value": Rows(value)}

    assert proved(ProofSubject("planted", compute), seed) == "leaks"


def test_prefix_cuts_meet_every_kind_of_bar() -> None:
    inputs = market()

    cuts = prefix_cuts(inputs, 400, stream(3, "cuts"))

    assert len(cuts) == len(set(cuts)) == 400
    assert cuts == sorted(cuts)
    traits = calendar_traits(inputs)
    assert (traits[cuts].sum(axis=0) >= np.minimum(traits[:-1].sum(axis=0), 2)).all()
    assert traits[cuts][:, -3:].any(axis=0).all()  # first, last and other rows of half days
    assert prefix_cuts(inputs.truncated(50), 400, stream(3, "cuts")) == list(range(49))
