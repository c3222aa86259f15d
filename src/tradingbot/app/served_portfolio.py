"""A portfolio behind the server: the sleeves of a session on bars that clients push."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.plain_values import read_record
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import SimulatorParams
from tradingbot.market.portfolio.account import PortfolioAccount, open_portfolio
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.portfolio import PortfolioDecider
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.portfolios import WantedWeights


class PushedSleeves:
    """What sleeves did on the bars that were pushed, and what the master makes of it."""

    def __init__(self, model: ServedModel, time_zone: str) -> None:
        """Begin before the first bar."""
        part = model.portfolio
        assert part is not None
        self._rules = read_record(SimulatorParams, part.rules, name="rules")
        costs = read_record(CostProfile, part.costs, name="costs")
        rates = costs.rates(dtype=torch.float64)
        self._decider = PortfolioDecider(model, model.symbols, time_zone, self._rules, rates)
        self._number, self._cash = count(), self._in_cash(len(model.symbols))

    @property
    def have_begun(self) -> bool:
        """Whether the sleeves trade yet."""
        return self._decider.sleeves_have_begun

    def take(
        self,
        closed_at: datetime,
        present: NDArray[np.bool_],
        fields: Mapping[str, NDArray[np.float64]],
        covariates: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Take the next bar of N symbols."""
        self._decider.take(MarketBar(next(self._number), closed_at, present, fields, covariates))

    def weigh(self) -> WantedWeights:
        """Return what a portfolio that is all in cash wants at the bar that was taken last."""
        proposal = self._decider.decide(self._cash)
        confidence: NDArray[Any] = np.asarray(proposal.confidence)
        return WantedWeights(proposal.action.numpy(), confidence)

    def _in_cash(self, n_symbols: int) -> PortfolioAccount:
        ones = torch.ones(n_symbols, dtype=torch.float64)
        return open_portfolio(self._rules, ones, torch.zeros(n_symbols, dtype=torch.int32))
