"""Correlations, redundancy, effective number and what each agent adds, on planted returns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.ensemble import (
    analyse_ensemble,
    clustered_order,
    correlation_of,
    diversification_ratio,
    effective_number,
    marginal_sharpe,
)


def _independent(n_bars: int, n_agents: int) -> np.ndarray:
    """Columns that are exactly uncorrelated, of mean 0 and deviation (T − 1) 1."""
    drawn = stream(3, "ensemble").standard_normal((n_bars, n_agents))
    basis, _ = np.linalg.qr(drawn - drawn.mean(axis=0))
    return basis * math.sqrt(n_bars - 1)


def test_copies_of_one_agent_are_redundant_and_count_once() -> None:
    basis = _independent(400, 2)
    returns = np.column_stack([basis[:, 0], basis[:, 1], basis[:, 0] * 3.0 + 1.0])
    found = analyse_ensemble(returns, ["a", "b", "c"], bars_per_year=1.0)

    assert [pair[:2] for pair in found.redundant] == [("a", "c")]
    assert found.redundant[0][2] == pytest.approx(1.0)
    # Eigenvalues are 2, 1, 0: (2 + 1)² ÷ (4 + 1).
    assert found.effective_agents == pytest.approx(9.0 / 5.0)
    assert found.mean_correlation == pytest.approx(1.0 / 3.0)


def test_effective_number_equals_its_definition_by_eigenvalues() -> None:
    mixed = _independent(300, 4) @ stream(5, "mix").standard_normal((4, 4))
    correlation = correlation_of(mixed)
    eigenvalues = np.linalg.eigvalsh(correlation)
    expected = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    assert effective_number(correlation) == pytest.approx(expected)


def test_diversification_of_independent_equals_root_of_their_number() -> None:
    assert diversification_ratio(_independent(500, 9)) == pytest.approx(3.0)
    same = np.repeat(_independent(500, 1), 4, axis=1)
    assert diversification_ratio(same) == pytest.approx(1.0)


def test_order_puts_groups_side_by_side_and_columns_follow() -> None:
    basis = _independent(400, 6)
    noise = 0.1 * basis[:, 2:]
    # Two groups, dealt out like cards: 0 and 2 belong together, 1 and 3 too.
    returns = np.column_stack([basis[:, i % 2] + noise[:, i] for i in range(4)])
    order = clustered_order(correlation_of(returns))
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}

    found = analyse_ensemble(returns, ["a", "b", "c", "d"], bars_per_year=1.0)
    assert found.agents == tuple("abcd"[i] for i in order)
    assert found.correlation[0][1] > 0.9 > 0.1 > abs(found.correlation[0][2])
    assert [name for name, _ in found.marginal_sharpe] == list(found.agents)


def test_marginal_sharpe_tells_the_agent_that_earns_from_the_one_that_loses() -> None:
    basis = _independent(400, 2)
    returns = basis + np.array([0.2, -0.2])
    added = marginal_sharpe(returns)
    # Together 0; alone ±0.2 of deviation 1.
    np.testing.assert_allclose(added, [0.2, -0.2], atol=1e-12)
    np.testing.assert_allclose(marginal_sharpe(returns[:, :1]), [0.2], atol=1e-12)
    # Together 0.15 of deviation √½; alone 0.2 and 0.1.
    both = 0.15 * math.sqrt(2.0)
    added = marginal_sharpe(basis + np.array([0.2, 0.1]))
    np.testing.assert_allclose(added, [both - 0.1, both - 0.2], atol=1e-12)


def test_marginal_sharpe_is_annualised_by_the_root_of_bars() -> None:
    returns = _independent(400, 2) + np.array([0.2, 0.1])
    a, b = (analyse_ensemble(returns, ["a", "b"], bars_per_year=n) for n in (1.0, 4.0))
    assert dict(b.marginal_sharpe)["a"] == pytest.approx(2.0 * dict(a.marginal_sharpe)["a"])


def test_agent_that_never_moves_goes_with_nothing() -> None:
    returns = np.column_stack([_independent(50, 1)[:, 0], np.zeros(50)])
    found = analyse_ensemble(returns, ["a", "still"], bars_per_year=1.0)
    assert found.mean_correlation == 0.0
    assert found.effective_agents == pytest.approx(2.0)


def test_nobody_trading_gives_an_empty_record() -> None:
    found = analyse_ensemble(np.zeros((10, 0)), [], bars_per_year=1.0)
    assert found.agents == () == found.redundant == found.correlation
    assert math.isnan(found.effective_agents)
    assert math.isnan(found.diversification_ratio)


@pytest.mark.parametrize(
    "returns", [np.full((10, 2), np.nan), np.zeros((1, 2)), np.zeros((10, 3)), np.zeros(10)]
)
def test_returns_that_mean_nothing_are_refused(returns: np.ndarray) -> None:
    with pytest.raises(DataError):
        analyse_ensemble(returns, ["a", "b"], bars_per_year=1.0)
