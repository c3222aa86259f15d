"""What a master sees, of every sleeve and of its portfolio: simulated and live alike."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.market.portfolio.net_orders import PortfolioHoldings
from tradingbot.market.portfolio.recent_record import RECENT_NAMES, recent_record

AGENT_NAMES = ("position", "proposal", "confidence")
"""What is seen of a sleeve's agent: what it holds and wants, of its capital, and how sure it is."""
OWN_INPUTS = ("weight", "position")
"""What a portfolio adds to what is seen of a sleeve: its capital and its position, of the value."""
PORTFOLIO_INPUTS = ("cash", "total_return", "drawdown", "last_return")
"""What a portfolio knows of itself."""
PORTFOLIO_LOW, PORTFOLIO_HIGH = (-1.0, 0.0, -1.0), (0.0, 1.0, 10.0)
"""Bounds of total return, drawdown and last return as they are seen. Gains since the start are not:
they grow for years, episodes are short, and what is best of a share of the value does not depend on
them; losses lead to a halt."""


def portfolio_inputs(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """Name what the agent of a portfolio sees beside the book, in order."""
    own = (f"{symbol}.{name}" for symbol in symbols for name in OWN_INPUTS)
    return (*own, *PORTFOLIO_INPUTS)


def member_names(n_embedding: int) -> tuple[str, ...]:
    """Name the numbers of `see_sleeves`, in order, with so many of an embedding."""
    embedding = (f"embedding_{number}" for number in range(n_embedding))
    return (*AGENT_NAMES, *RECENT_NAMES, *embedding)


def see_sleeves(
    agents: NDArray[np.float64],
    value: NDArray[np.float64],
    embeddings: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return what is seen of N sleeves at T closes, (T, N, 8 + E).

    Args:
        agents: (T, N, 3), in the order of `AGENT_NAMES`.
        value: (T, N) what the sleeves' own accounts are worth from the first bar on.
        embeddings: (T, N, E) how their agents see the market; none by default.
    """
    shown = [agents.astype(np.float32), recent_record(value)]
    if embeddings is not None:
        shown.append(embeddings)
    return np.concatenate(shown, axis=-1)


def portfolio_bounds(like: Tensor) -> Tensor:
    """Return `PORTFOLIO_LOW` and `PORTFOLIO_HIGH`, (2, 3), of a tensor's kind and device."""
    return like.new_tensor([PORTFOLIO_LOW, PORTFOLIO_HIGH])


def see_portfolio(
    holdings: PortfolioHoldings, value: Tensor, peak: Tensor, last: Tensor, bounds: Tensor
) -> Tensor:
    """Return what B portfolios see of themselves, (B, 2 N + 4) float32: `portfolio_inputs`.

    Args:
        holdings: Capital and positions.
        value: (B,) what they are worth, 1 at the start.
        peak: (B,) highest value so far.
        last: (B,) value ÷ value before, over the last bar.
        bounds: Of `portfolio_bounds`.
    """
    own = torch.stack([holdings.capital[:, :-1], holdings.held], dim=-1).flatten(1)
    numbers = torch.stack([value - 1.0, 1.0 - value / peak, last - 1.0], dim=-1)
    seen = torch.minimum(torch.maximum(numbers, bounds[0]), bounds[1])
    parts = [own.clamp(-1.0, 1.0), holdings.capital[:, -1:].clamp(0.0, 1.0), seen]
    return torch.cat(parts, -1).float()
