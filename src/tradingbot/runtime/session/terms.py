"""By which rules a session trades."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.errors import ConfigError
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import SimulatorParams


@dataclass(frozen=True)
class SessionTerms:
    """By which rules a session trades; they never change while it lives."""

    rules: SimulatorParams
    costs: CostProfile
    first_bar: int
    """Number of the bar of the first decision."""
    fresh_s: float = 90.0
    """Age of a bar, in seconds, up to which it is traded on."""

    def __post_init__(self) -> None:
        if self.rules.account.watches_bars:
            raise ConfigError(
                "a session must have no stop within a bar",
                was="stop_loss_frac or take_profit_frac",
                remedy="Use position_loss_frac, which sends the exit at the next open",
            )
        if self.rules.episode.fill_at != "next_open":
            rule = "a session must fill at the next open"
            raise ConfigError(rule, was=self.rules.episode.fill_at)
