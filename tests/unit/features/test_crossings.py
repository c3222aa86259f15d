"""What passes from symbol to symbol: against plain formulae, and streamed as in one go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures.feature_markets import START, bars_of, closes_of, gappy_market, inputs_of
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.features.causality.prover import prove_causal, prove_every_bar
from tradingbot.features.causality.subject import ProofContext, ProofSubject
from tradingbot.features.compute import compute_features
from tradingbot.features.graph.crossings import ACROSS, apply_across, mean_over_symbols
from tradingbot.features.graph.nodes import (
    Input,
    Node,
    across,
    lag,
    mean,
    of_symbol,
    over_symbols,
    rolling,
)
from tradingbot.features.inputs import CovariateEvents, MarketInputs
from tradingbot.features.price import CLOSE, simple_return
from tradingbot.features.proof_subjects import feature_subject
from tradingbot.features.relative import return_of_others
from tradingbot.features.spec import FeatureSpec
from tradingbot.features.volatility import LOG_RETURN

RETURN = simple_return.raw
SECTOR = Input(name="sector")


def spec(name: str, node: Node) -> FeatureSpec:
    return replace(simple_return, name=name, raw=node, network=node)


def across_rows(function: str, rows: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    with np.errstate(all="ignore"):
        return apply_across(function, rows, groups)


def with_sectors(inputs: MarketInputs) -> MarketInputs:
    """Two sectors; the last symbol changes its own in the middle."""
    n = len(inputs.symbols)
    middle = inputs.closed_at[len(inputs.closed_at) // 2]
    events = CovariateEvents(
        np.array([*range(n), n - 1]),
        np.array([START] * n + [middle], dtype="datetime64[us]"),
        np.array([*(float(i % 2) for i in range(n)), float(n % 2)]),
    )
    return replace(inputs, covariates={**inputs.covariates, SECTOR.name: events})


def test_mean_over_symbols_skips_the_undefined() -> None:
    with np.errstate(all="ignore"):
        means = mean_over_symbols(np.array([[1.0, np.nan, 3.0], [np.nan] * 3]))

    np.testing.assert_array_equal(means, [[2.0], [np.nan]])


def test_mean_of_others_leaves_oneself_out() -> None:
    values = across_rows(
        "mean_of_others", np.array([[1.0, 2.0, 6.0, np.nan], [5.0, *[np.nan] * 3]])
    )

    np.testing.assert_allclose(values[0], [4.0, 3.5, 1.5, 3.0])
    np.testing.assert_array_equal(values[1], [np.nan, 5.0, 5.0, 5.0])


def test_rank_shares_the_place_of_equal_values() -> None:
    rows = np.array([[3.0, 1.0, np.nan, 3.0, 2.0], [7.0, *[np.nan] * 4], [4.0] * 5])

    values = across_rows("rank", rows)

    np.testing.assert_allclose(values[0], [2 / 3, -1.0, np.nan, 2 / 3, -1 / 3])
    np.testing.assert_array_equal(values[1], [0.0, *[np.nan] * 4])
    np.testing.assert_array_equal(values[2], [0.0] * 5)


def test_zscore_has_mean_0_and_deviation_1() -> None:
    values = across_rows("zscore", np.array([[1.0, 2.0, 6.0, np.nan], [2.0, 2.0, np.nan, 2.0]]))

    np.testing.assert_allclose(
        [np.nanmean(values[0]), np.nanstd(values[0])], [0.0, 1.0], atol=1e-12
    )
    np.testing.assert_array_equal(values[1], [0.0, 0.0, np.nan, 0.0])


@pytest.mark.parametrize("function", sorted(ACROSS))
def test_groups_are_compared_within_themselves(function: str) -> None:
    rows = stream(0, "groups").normal(size=(40, 9))
    groups = np.broadcast_to(np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0, np.nan, 1.0, 2.0]), rows.shape)

    values = across_rows(function, rows, groups)

    for group in (1.0, 2.0):
        members = groups[0] == group
        np.testing.assert_allclose(values[:, members], across_rows(function, rows[:, members]))
    assert np.isnan(values[:, 6]).all()


@pytest.mark.parametrize("function", sorted(ACROSS))
@pytest.mark.parametrize("n_symbols", [1, 2, 9, 143])
def test_row_by_row_gives_the_same_bits(function: str, n_symbols: int) -> None:
    rows = np.round(stream(1, "rows").normal(size=(60, n_symbols)), 1)
    rows[stream(1, "absent").random(rows.shape) < 0.2] = np.nan

    single = [across_rows(function, row[None]) for row in rows]

    assert across_rows(function, rows).tobytes() == np.concatenate(single).tobytes()


def test_symbol_that_is_not_there_is_refused() -> None:
    node = RETURN - of_symbol(RETURN, "SPY")

    with pytest.raises(DataError, match="no SPY"):
        compute_features(gappy_market(40, 4), [spec("excess", node)])


def test_return_of_others_spans_the_bars_that_a_symbol_missed() -> None:
    present = np.ones((12, 3), dtype=bool)
    present[5:8, 0] = False
    inputs = inputs_of(bars_of(closes_of("random", 12, 3)), present=present)

    values = compute_features(inputs, [spec("market", return_of_others(LOG_RETURN))])["market"]

    logs = np.log(inputs.bars["close"])
    whole = (logs[8, 1:] - logs[4, 1:]).mean()  # of the other two, over the bars missed
    np.testing.assert_allclose(values[8, 0], whole, rtol=1e-9)
    np.testing.assert_allclose(values[4, 1], (logs[4] - logs[3])[[0, 2]].mean(), rtol=1e-9)


EXCESS = RETURN - over_symbols(RETURN)
MIXED = (
    spec("excess", EXCESS),
    spec("excess_mean", mean(EXCESS, 5)),
    spec("residual_on_one", rolling("sum", RETURN - of_symbol(RETURN, "S2"), 3)),
    spec("rank", across("rank", rolling("sum", RETURN, 4))),
    spec("zscore_of_a_rank", across("zscore", lag(across("rank", EXCESS), 2))),
    spec("of_sector", RETURN - across("mean_of_others", RETURN, SECTOR)),
    spec("rank_in_sector", across("rank", CLOSE / lag(CLOSE, 3), SECTOR)),
    spec("market_of_ranks", over_symbols(across("rank", RETURN) * RETURN)),
)


@pytest.mark.parametrize("seed", [0, 1])
def test_mixed_clocks_streamed_with_gaps_equal_batch(seed: int) -> None:
    inputs = with_sectors(gappy_market(160, 7, seed=seed))

    verdicts = prove_every_bar(inputs, MIXED)

    assert {verdict.status for verdict in verdicts} == {"causal"}


def test_mixed_clocks_are_proved_causal_with_late_listings_and_half_days() -> None:
    inputs = with_sectors(gappy_market(160, 7))
    present = inputs.present.copy()
    present[33:37] = False  # the bars that a half day lacks
    bars = {name: np.where(present, values, np.nan) for name, values in inputs.bars.items()}
    market = replace(inputs, present=present, bars=bars)

    report = prove_causal(market, [feature_subject(ProofContext(MIXED, 100))])

    assert [str(v.offence or v.reason) for v in report.failures] == []


def test_crossing_that_looks_at_a_later_bar_of_another_symbol_is_caught() -> None:
    def leaky(inputs: MarketInputs) -> dict[str, np.ndarray]:
        close = np.nan_to_num(inputs.bars["close"], nan=0.0, posinf=0.0, neginf=0.0)
        return {"rank": apply_across("rank", np.roll(close, -1, axis=0))}

    report = prove_causal(gappy_market(80, 5), [ProofSubject("leaky", leaky)])

    assert not report.is_causal
