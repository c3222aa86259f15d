"""Every ingredient of the prover is needed: without it a planted leak slips through."""

from __future__ import annotations

import numpy as np
import pytest

from leakage.markets import synthetic_inputs
from leakage.zoo import BOUNDARIES, ZOO
from tradingbot.features.causality import perturbations, tally
from tradingbot.features.causality.prover import ProofPlan, prove_causal

ROUNDS = ProofPlan(boundaries=BOUNDARIES, prefix_rounds=0)
"""The rounds alone, without the cuts of `prefixes`, which stand in for many of their parts."""


def missed(plan: ProofPlan, *names: str) -> set[str]:
    """Which of these planted leaks the plan does not catch; the full prover catches all."""
    report = prove_causal(synthetic_inputs(), [ZOO[name].subject for name in names], plan)
    return {verdict.subject for verdict in report.verdicts if verdict.status != "leaks"}


def test_prover_without_staggered_rounds_misses_a_single_bar_of_one_symbol() -> None:
    weak = ProofPlan(boundaries=BOUNDARIES, staggered_rounds=0, prefix_rounds=0)

    assert missed(weak, "first_bar_of_a_late_listing", "next_bar_shift") == {
        "first_bar_of_a_late_listing"
    }


def test_prover_without_boundary_cuts_misses_leaks_at_boundaries() -> None:
    names = {"scaler_fitted_past_the_boundary", "market_only_at_the_validation_boundary"}

    assert missed(ProofPlan(prefix_rounds=0), *names, "next_bar_shift") == names


def test_prover_with_a_tolerance_misses_tiny_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(expected: np.ndarray, got: np.ndarray) -> np.ndarray:
        return ~np.isclose(expected, got, rtol=1e-12, equal_nan=True)

    monkeypatch.setattr(tally, "differs", nearly)

    names = {"tiny_leak_of_one_ulp", "leak_in_the_sign_of_zero"}

    assert missed(ROUNDS, *names, "next_bar_shift") == names


def test_prover_that_ignores_nan_misses_leaks_in_the_nan_pattern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def only_numbers(expected: np.ndarray, got: np.ndarray) -> np.ndarray:
        if expected.dtype.kind != "f":
            return expected != got
        return (expected != got) & ~np.isnan(expected) & ~np.isnan(got)

    monkeypatch.setattr(tally, "differs", only_numbers)

    assert missed(ROUNDS, "leak_in_the_nan_pattern", "back_fill") == {"leak_in_the_nan_pattern"}


def test_prover_that_only_changes_values_misses_leaks_through_presence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(perturbations, "SYMBOL_KINDS", ("change",))
    monkeypatch.setattr(perturbations, "GRID_KINDS", ("mixed",))

    names = {"mask_valid_only_if_next_bar_exists"}

    assert missed(ROUNDS, *names, "next_bar_shift") == names


def test_prover_without_other_grids_misses_leaks_through_time_stamps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(perturbations, "GRID_KINDS", ("mixed",))
    monkeypatch.setattr(perturbations, "regrow", lambda inputs, cut, rng: inputs)

    assert missed(ROUNDS, "time_to_next_bar", "next_bar_shift") == {"time_to_next_bar"}


def test_prover_that_never_shortens_the_history_misses_leaks_through_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(perturbations, "GRID_KINDS", ("mixed", "regrow"))

    names = {"defined_where_a_label_can_be_made"}

    assert missed(ROUNDS, *names, "time_to_next_bar", "next_bar_shift") == names


def test_prover_that_never_puts_other_rows_after_the_cut_misses_leaks_through_their_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(perturbations, "GRID_KINDS", ("mixed", "truncate"))

    names = {"defined_unless_the_next_row_is_late"}

    assert missed(ROUNDS, *names, "time_to_next_bar", "next_bar_shift") == names


def test_prover_that_adds_events_an_hour_after_the_cut_misses_late_joins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(perturbations, "SOON", np.timedelta64(1, "h"))

    names = {"sentiment_up_to_a_minute_late"}

    assert missed(ROUNDS, *names, "sentiment_of_the_next_hour_and_a_half") == names


@pytest.mark.parametrize("seed", range(4))
def test_full_prover_misses_none_of_these(seed: int) -> None:
    names = (
        "defined_where_a_label_can_be_made",
        "defined_unless_the_next_row_is_late",
        "sentiment_up_to_a_minute_late",
    )

    assert missed(ProofPlan(boundaries=BOUNDARIES, seed=seed, prefix_rounds=0), *names) == set()


def test_prover_that_leaves_covariates_alone_misses_leaks_through_joins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def untouched(events, *_: object):
        return events

    monkeypatch.setattr(perturbations, "_perturb_events", untouched)
    monkeypatch.setattr(perturbations, "GRID_KINDS", ("mixed",))
    monkeypatch.setattr(perturbations, "regrow", lambda inputs, cut, rng: inputs)

    names = {"same_day_sentiment", "time_to_next_event", "last_revision_kept"}

    assert missed(ROUNDS, *names, "next_bar_shift") == names
