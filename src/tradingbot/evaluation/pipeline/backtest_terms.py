"""What a person asks of a backtest: bars, costs, delay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from tradingbot.market.costs import CostProfile

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class BacktestTerms:
    """What is asked of a backtest."""

    part: Part | None = None
    """Of a run's split; for rules alone of the split that `tradingbot data split` shows. Without a
    part or days a run trades its test part, rules alone all bars."""
    start: date | None = None
    end: date | None = None
    """Last day, included."""
    costs: CostProfile | None = None
    """Those of the run, or the usual ones, by default."""
    cost_bps: float | None = None
    """Cost of each fill in basis points, instead of commission, slippage and spread."""
    delay_bars: int = 0
    seed: int = 0
    """Of policies that draw."""
    allow_short: bool = False
    """Targets below 0 of rules and strategies are sold short; else they mean flat. Runs have their
    own rules."""
    factor: str | None = None
    """What results are taken apart by: `equal_weight`, `none`, or a symbol of the data. None: a
    run's own, with betas of its training bars; else equal weight, with betas of the bars before."""

    def priced(self, usual: CostProfile) -> CostProfile:
        """Return the costs to charge where `usual` ones would be."""
        costs = self.costs or usual
        if self.cost_bps is None:
            return costs
        return replace(
            costs, commission_frac=self.cost_bps / 1e4, slippage_frac=0.0, spread_frac=0.0
        )
