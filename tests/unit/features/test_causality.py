"""The parts of the prover: other futures, cuts, comparison, verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.features.causality.cuts import (
    block_cuts,
    block_edges,
    boundary_cuts,
    common_cuts,
    staggered_cuts,
)
from tradingbot.features.causality.perturbations import (
    SYMBOL_KINDS,
    perturb_symbols,
    regrow,
    truncate,
)
from tradingbot.features.causality.prover import ProofPlan, plan_rounds, prove_causal
from tradingbot.features.causality.subject import (
    Fitted,
    ProofContext,
    ProofSubject,
    Rows,
    register_subject,
    registered_subjects,
    subject_names,
    unregister_subject,
)
from tradingbot.features.causality.tally import differs
from tradingbot.features.inputs import CovariateEvents, MarketInputs

N = 12
T = 140


@pytest.fixture(scope="module")
def inputs() -> MarketInputs:
    """Synthetic: 20 sessions of 7 bars, some absent, an event exactly on row 60's close."""
    rng = stream(5, "causality")
    days = np.arange(np.datetime64("2024-03-01"), np.datetime64("2024-04-10"))
    days = days[np.is_busday(days)][: T // 7].astype("datetime64[us]")
    hours = (np.arange(7) * 60 + 15 * 60 + 30).astype("timedelta64[m]")
    closed_at = (days[:, None] + hours).reshape(-1)
    present = rng.random((T, N)) > 0.1
    present[:20, 3] = False
    present[-30:, 4] = False
    fields = ("open", "high", "low", "close", "volume", "vwap")
    bars = {f: np.where(present, rng.uniform(5, 6, (T, N)), np.nan) for f in fields}
    at = np.sort(np.append(rng.choice(closed_at, 199), closed_at[60]))
    events = CovariateEvents(rng.integers(0, N, 200), at, rng.random(200))
    names = tuple(f"S{i}" for i in range(N))
    return MarketInputs(names, closed_at, present, bars, {"sentiment": events})


def same(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and not differs(left, right).any()


def test_symbol_perturbation_keeps_each_past_and_changes_each_future(inputs) -> None:
    cuts = np.linspace(30, 120, N).astype(np.int64)

    for first_kind in range(len(SYMBOL_KINDS)):
        other = perturb_symbols(inputs, cuts, first_kind, stream(1, first_kind))

        for n, cut in enumerate(cuts):
            assert same(other.present[: cut + 1, n], inputs.present[: cut + 1, n])
            for name, values in inputs.bars.items():
                past, future = values[: cut + 1, n], values[cut + 1 :, n]
                assert same(other.bars[name][: cut + 1, n], past)
                changed = differs(other.bars[name][cut + 1 :, n], future)
                was_present = inputs.present[cut + 1 :, n]
                assert changed[was_present].all()
        assert same(other.closed_at, inputs.closed_at)


def test_absent_future_bars_stay_nan_and_present_ones_are_marked(inputs) -> None:
    other = perturb_symbols(inputs, np.full(N, 50), 0, stream(1))

    for n in range(N):
        kind = SYMBOL_KINDS[n % len(SYMBOL_KINDS)]
        if kind not in ("nan",):
            assert np.isnan(other.bars["close"][:, n])[~other.present[:, n]].all()
            assert not np.isnan(other.bars["close"][:, n])[other.present[:, n]].any()


@pytest.mark.parametrize("first_kind", range(4))
def test_covariate_perturbation_keeps_events_available_at_the_cut(inputs, first_kind) -> None:
    cut, before = 60, inputs.covariates["sentiment"]
    past = before.available_at <= inputs.closed_at[cut]

    after = perturb_symbols(inputs, np.full(N, cut), first_kind, stream(2)).covariates["sentiment"]

    count = int(past.sum())
    assert before.available_at[count - 1] == inputs.closed_at[cut]
    assert same(after.values[:count], before.values[past])
    assert same(after.symbol_index[:count], before.symbol_index[past])
    assert (after.available_at[count:] > inputs.closed_at[cut]).all()
    assert (np.diff(after.available_at) >= np.timedelta64(0, "us")).all()
    kept = {tuple(row) for row in zip(before.symbol_index, before.values, strict=True)}
    new = {tuple(row) for row in zip(after.symbol_index, after.values, strict=True)}
    assert kept - new
    assert new - kept


@pytest.mark.parametrize("cut", [0, 60, T - 1])
def test_regrown_market_keeps_the_past_and_has_other_times_after_it(inputs, cut) -> None:
    other = regrow(inputs, cut, stream(3))

    assert same(other.closed_at[: cut + 1], inputs.closed_at[: cut + 1])
    assert same(other.bars["volume"][: cut + 1], inputs.bars["volume"][: cut + 1])
    assert same(other.present[: cut + 1], inputs.present[: cut + 1])
    assert other.shape[0] > cut + 1
    assert (np.diff(other.closed_at) > np.timedelta64(0, "us")).all()
    assert other.bars["close"].shape == other.present.shape


def test_truncated_market_shares_no_memory_with_the_original(inputs) -> None:
    other = truncate(inputs, 40)

    assert other.shape == (41, N)
    assert not np.shares_memory(other.bars["close"], inputs.bars["close"])


def test_boundary_cuts_are_the_neighbours_inside_the_data() -> None:
    assert sorted(boundary_cuts(100, (50, 99))) == [48, 49, 50, 51, 97, 98]


def test_common_cuts_have_every_boundary_neighbour_and_the_end(inputs) -> None:
    cuts = common_cuts(inputs, (98, 119), 13, stream(0))

    assert {96, 97, 98, 99, 117, 118, 119, 120, T - 2, T - 1} <= set(cuts)
    assert {63, 127} <= set(cuts)  # the edges of blocks that 140 rows have, besides the thirteen
    assert len(cuts) == len(set(cuts)) == 15


def test_block_edges_are_last_rows_of_blocks_with_the_largest_blocks_first() -> None:
    assert block_edges(64) == []
    assert block_edges(130) == [127, 63]
    assert block_edges(2100)[:4] == [999, 1999, 2047, 1023]
    assert set(block_edges(2100)) == {*range(63, 2099, 64), 999, 1999}


@pytest.mark.parametrize(
    ("length", "powers"), [(200, 128), (1400, 1024), (4096, 2048), (4097, 4096), (20_000, 4096)]
)
def test_block_cuts_have_an_edge_of_every_size_that_fits(length: int, powers: int) -> None:
    for seed in range(20):
        cuts = block_cuts(length, stream(seed))

        assert len(cuts) == len(set(cuts)) <= 3
        assert (cuts[0] + 1) % powers == 0
        assert length <= 1000 or any((cut + 1) % 1000 == 0 for cut in cuts)
        assert max(cuts) < length - 1


def test_staggered_cuts_share_out_the_edges_of_blocks(inputs) -> None:
    cuts = staggered_cuts(inputs, (98, 119), 12, stream(0))

    assert all({63, 127} <= set(cuts[:, n].tolist()) for n in range(N))


def test_staggered_cuts_cover_boundaries_calendar_and_each_symbols_edges(inputs) -> None:
    cuts = staggered_cuts(inputs, (98, 119), 12, stream(0))

    assert cuts.shape == (12, N)
    assert set(boundary_cuts(T, (98, 119))) <= set(cuts.ravel().tolist())
    for n in range(N):
        rows = np.flatnonzero(inputs.present[:, n])
        wanted = {int(rows[0]), int(rows[-1])} - {T - 1}
        assert wanted <= set(cuts[:, n].tolist())
    assert set((cuts % 7).ravel().tolist()) == set(range(7))
    assert cuts.max() < T - 1


def test_plan_never_cuts_after_the_last_row_but_to_append(inputs) -> None:
    for planned in plan_rounds(inputs, ProofPlan(boundaries=(98,))):
        if planned.cuts.max() == T - 1:
            assert planned.kind == "regrow"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([0.0], [-0.0], [True]),
        ([np.nan, 1.0], [np.nan, np.nan], [False, True]),
        ([1.0], [np.nextafter(1.0, 2.0)], [True]),
        ([np.inf], [np.inf], [False]),
    ],
)
def test_comparison_is_bit_for_bit(left, right, expected) -> None:
    assert differs(np.array(left), np.array(right)).tolist() == expected


def test_comparison_of_nan_with_other_payload_is_equal() -> None:
    payload = np.array([0xFFF8000000000001], dtype=np.uint64).view(np.float64)

    assert not differs(np.array([np.nan]), payload).any()


def one(compute, scope="market") -> ProofSubject:
    return ProofSubject("one", lambda market: {"value": compute(market)}, scope)


def test_offence_names_symbol_time_cut_and_values(inputs) -> None:
    def peek(market: MarketInputs) -> np.ndarray:
        value = np.zeros(market.shape)
        value[:-1, 7] = market.bars["close"][1:, 7]
        return value

    offence = prove_causal(inputs, [one(peek, "symbol")]).verdicts[0].offence

    row = inputs.closed_at.astype(str).tolist().index(offence.closed_at)
    assert offence.symbol == "S7"
    assert offence.cut_at == offence.closed_at
    assert offence.expected == repr(float(peek(inputs)[row, 7]))
    assert offence.got != offence.expected
    assert offence.perturbation in str(offence)


def test_output_that_ignores_its_inputs_is_not_proved(inputs) -> None:
    remembered = inputs.bars["close"].copy()

    def stale(market: MarketInputs) -> np.ndarray:
        return np.resize(remembered, market.shape)

    verdict = prove_causal(inputs, [one(stale)]).verdicts[0]

    assert verdict.status == "unproved"
    assert "ignores its inputs" in verdict.reason


def test_statistic_of_the_whole_sample_is_seen_only_if_computed_inside(inputs) -> None:
    """The limit that docs/concepts/causality.md states."""
    before = np.nanmean(inputs.bars["close"])

    def inside(market: MarketInputs) -> np.ndarray:
        return market.bars["close"] - np.nanmean(market.bars["close"])

    report = prove_causal(inputs, [one(lambda m: m.bars["close"] - before), one(inside)])

    assert [verdict.status for verdict in report.verdicts] == ["causal", "leaks"]


def row_counter(market: MarketInputs) -> np.ndarray:
    return np.repeat(np.arange(market.shape[0])[:, None], market.shape[1], axis=1)


@pytest.mark.parametrize(
    "of_grid",
    [
        row_counter,
        lambda market: np.arange(market.shape[0]) >= 50,
        lambda market: np.log1p(row_counter(market)),
        lambda market: (market.closed_at - market.closed_at.astype("datetime64[D]")).astype(int),
    ],
)
def test_output_of_row_numbers_and_times_is_proved_in_scope_grid(inputs, of_grid) -> None:
    verdict = prove_causal(inputs, [one(of_grid, "grid")]).verdicts[0]

    assert verdict.status == "causal", verdict.reason
    assert verdict.scope == "grid"


def test_row_counter_that_does_not_say_so_is_not_proved_and_the_remedy_is_named(inputs) -> None:
    verdict = prove_causal(inputs, [one(row_counter)]).verdicts[0]

    assert verdict.status == "unproved"
    assert 'scope "grid"' in verdict.reason


@pytest.mark.parametrize("shape", ["per symbol", "market"])
def test_remembered_prices_in_scope_grid_are_not_proved(inputs, shape: str) -> None:
    remembered = np.roll(inputs.bars["close"], -1, axis=0)

    def stale(market: MarketInputs) -> np.ndarray:
        values = np.resize(remembered, market.shape)
        return values if shape == "per symbol" else np.nanmean(values, axis=1)

    verdict = prove_causal(inputs, [one(stale, "grid")]).verdicts[0]

    assert verdict.status == "unproved"
    wanted = {"per symbol": "differs between symbols", "market": "ignores its inputs"}
    assert wanted[shape] in verdict.reason


def test_count_from_the_end_in_scope_grid_is_a_leak(inputs) -> None:
    subject = one(lambda market: row_counter(market)[::-1], "grid")

    assert prove_causal(inputs, [subject]).verdicts[0].status == "leaks"


def test_output_that_is_never_defined_is_not_proved(inputs) -> None:
    report = prove_causal(inputs, [one(lambda market: np.full(market.shape, np.nan))])

    assert report.verdicts[0].status == "unproved"
    assert not report.is_causal


def test_fitted_output_is_examined_from_its_time_on_only(inputs) -> None:
    def fit(market: MarketInputs) -> Fitted:
        return Fitted(np.nanmean(market.bars["close"][:98], axis=0), as_of=97)

    plan = ProofPlan(boundaries=(98,), prefix_rounds=0)
    verdict = prove_causal(inputs, [one(fit)], plan).verdicts[0]

    cuts = [r.cut for r in plan_rounds(inputs, plan) if r.is_common and r.cut >= 97]
    assert verdict.status == "causal"
    assert verdict.comparisons == N * len(cuts)
    assert 97 in cuts


def test_fitted_output_that_says_it_is_known_at_the_last_row_sees_appended_rows(inputs) -> None:
    def fit(market: MarketInputs) -> Fitted:
        return Fitted(np.array([market.shape[0]]), as_of=T - 1)

    assert prove_causal(inputs, [one(fit)]).verdicts[0].status == "leaks"


def test_cross_section_declared_as_symbol_scope_is_flagged(inputs) -> None:
    def breadth(market: MarketInputs) -> np.ndarray:
        mean = np.nanmean(market.bars["close"], axis=1, keepdims=True)
        return np.where(market.present, mean, np.nan)

    assert prove_causal(inputs, [one(breadth, "symbol")]).verdicts[0].status == "leaks"
    assert prove_causal(inputs, [one(breadth, "market")]).verdicts[0].status == "causal"


def test_subject_that_writes_into_its_inputs_harms_only_itself(inputs) -> None:
    before = inputs.bars["close"].copy()

    def vandal(market: MarketInputs) -> np.ndarray:
        market.bars["close"][:] = np.nan_to_num(market.bars["close"])
        return market.bars["close"]

    prove_causal(inputs, [one(vandal)])

    assert same(inputs.bars["close"], before)


def test_subject_that_fails_on_the_market_itself_is_an_error(inputs) -> None:
    with pytest.raises(DataError, match="ZeroDivisionError"):
        prove_causal(inputs, [one(lambda market: 1 // 0)])


def test_output_without_symbol_axis_in_symbol_scope_is_an_error(inputs) -> None:
    with pytest.raises(DataError, match=r"must have shape \(T, N"):
        prove_causal(inputs, [one(lambda market: market.bars["close"][:, 0], "symbol")])


def test_report_is_the_same_twice_and_progress_reaches_the_end(inputs) -> None:
    told = []
    subject = one(lambda market: Rows(market.bars["close"], "symbol"))

    first = prove_causal(inputs, [subject, subject], progress=lambda *args: told.append(args))
    second = prove_causal(inputs, [subject, subject])

    assert first == second
    assert told[-1][0] == told[-1][1]
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)
    rounds = 13 + 2 + 12 + 2  # with block cuts; as is, elsewhere
    assert first.recomputations == 2 * (rounds + 139 + 1)  # every row but the last; and the whole


def test_proof_of_nothing_is_no_proof(inputs) -> None:
    assert not prove_causal(inputs, []).is_causal


def test_market_without_a_future_is_refused(inputs) -> None:
    with pytest.raises(DataError, match="at least 4 rows"):
        prove_causal(inputs.truncated(3), [one(lambda market: market.bars["close"])])


def test_registered_subject_is_made_for_each_proof_and_can_be_taken_out(inputs) -> None:
    def factory(context: ProofContext) -> ProofSubject:
        return ProofSubject("probabilities", lambda market: {"up": market.bars["close"]})

    register_subject("probabilities", factory)
    try:
        subjects = registered_subjects(ProofContext((), 98))

        assert [subject.name for subject in subjects] == ["probabilities"]
        with pytest.raises(ConfigError, match="must be free"):
            register_subject("probabilities", lambda context: factory(context))
    finally:
        unregister_subject("probabilities")
    assert subject_names() == ()
    with pytest.raises(ConfigError, match="must be registered"):
        unregister_subject("probabilities")
