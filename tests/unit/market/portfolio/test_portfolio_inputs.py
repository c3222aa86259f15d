"""What a portfolio sees of itself."""

from __future__ import annotations

import torch

from tradingbot.market.portfolio.accounting import PortfolioHoldings
from tradingbot.market.portfolio.inputs import (
    PORTFOLIO_INPUTS,
    portfolio_bounds,
    see_portfolio,
)


def test_losses_since_the_start_are_seen_and_gains_are_not() -> None:
    value = torch.tensor([0.7, 1.0, 1.02, 9.0], dtype=torch.float64)
    cash = PortfolioHoldings(
        torch.tensor([[0.5, 0.5]], dtype=torch.float64).expand(4, 2),
        torch.full((4, 1), 0.5, dtype=torch.float64),
    )
    seen = see_portfolio(cash, value, value, torch.ones_like(value), portfolio_bounds(value))
    shown = dict(zip(PORTFOLIO_INPUTS, seen[:, -len(PORTFOLIO_INPUTS) :].T, strict=True))

    torch.testing.assert_close(shown["total_return"], torch.tensor([-0.3, 0.0, 0.0, 0.0]))
    assert torch.equal(seen[1], seen[3])  # the same portfolio, whatever it gained before
