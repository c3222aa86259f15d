"""The five options of a trader in continuous actions, for all accounts at once.

Actions are those of the continuous space: above 0 buys a share of what may be bought, below 0 sells
a share of the position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.agents.options.rules import OPTION_NAMES, OPTION_READS, OptionRules
from tradingbot.domain.errors import ConfigError
from tradingbot.networks.options import OptionRun

_FLAT_FRAC = 1e-6


class OptionSignals(NamedTuple):
    """What options read of the market, by row (N · T,) each; 0 where undefined."""

    gap: Tensor
    """sma_10 ÷ sma_20 − 1."""
    stretch: Tensor
    """close ÷ sma_20 − 1."""

    @classmethod
    def of_averages(cls, sma_10: Tensor, sma_20: Tensor) -> OptionSignals:
        """Take both averages as features tell them, sma ÷ close − 1, (N, T) each."""
        gap = (1.0 + sma_10) / (1.0 + sma_20) - 1.0
        stretch = 1.0 / (1.0 + sma_20) - 1.0
        return cls(*(each.nan_to_num(0.0).float().reshape(-1) for each in (gap, stretch)))


class Situation(NamedTuple):
    """What options read of one decision, (N, B) each."""

    gap: Tensor
    stretch: Tensor
    position: Tensor
    """Signed, of equity."""
    entry_move: Tensor
    """Return since entry, in the position's direction."""
    total_return: Tensor


@dataclass(frozen=True, eq=False)
class MarketOptions:
    """Satisfies `networks.options.Options`."""

    rules: OptionRules
    signals: OptionSignals
    private: tuple[str, ...]
    """Names of the private numbers, in order."""
    allow_short: bool = False
    names: tuple[str, ...] = OPTION_NAMES

    def __post_init__(self) -> None:
        """Refuse accounts that do not show what options read."""
        for name in OPTION_READS:
            if name not in self.private:
                raise ConfigError(
                    "options must see position, entry and return of the account",
                    was=f"no {name} among {', '.join(self.private)}",
                    where="task.private",
                    remedy=f"Add {name} to task.private, or leave task.private out",
                )

    @property
    def timeout(self) -> int:
        """Bars after which every option ends."""
        return self.rules.timeout_bars

    def available(self, row: Tensor, private: Tensor) -> Tensor:
        """Return where each may begin, (N, B, O) bool; one at least may."""
        rules, at = self.rules, self._situation(row, private)
        held = at.position.abs() > _FLAT_FRAC
        trends = at.gap.abs() >= rules.trend_gap_frac
        near = at.stretch.abs() <= rules.entry_band_frac
        opens = near & (at.position >= -_FLAT_FRAC) & (at.position < rules.entry_position_frac)
        all_options = [opens, held, self._may_follow(at), ~trends, ~self._is_ready(at)]
        return torch.stack(all_options, dim=-1)

    def propose(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        """Return what each account's option does, (N, B)."""
        rules, at = self.rules, self._situation(row, private)
        steps = at.gap.new_tensor(rules.entry_actions)
        buys = steps[run.elapsed.clamp(0, len(rules.entry_actions) - 1)]
        opens = torch.where(at.position < rules.entry_most_frac, buys, 0.0)
        strength = (at.gap.abs() / (2.0 * rules.trend_gap_frac)).clamp(0.5, 1.0)
        scalps = -rules.scalp_action * torch.sign(at.stretch)
        all_options = [opens, self._closing(at), strength * torch.sign(at.gap), scalps, 0.0 * opens]
        return torch.stack(all_options, -1).gather(-1, run.option[..., None])[..., 0]

    def ends(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        """Return where each account's option ends by itself, (N, B)."""
        rules, at = self.rules, self._situation(row, private)
        opened = (at.position >= rules.entry_position_frac) | (run.elapsed >= rules.entry_bars)
        closed = at.position.abs() <= _FLAT_FRAC
        faded = at.gap.abs() < 0.5 * rules.trend_gap_frac
        scalped = run.elapsed >= rules.scalp_bars
        all_options = [opened, closed, faded, scalped, self._is_ready(at)]
        return torch.stack(all_options, -1).gather(-1, run.option[..., None])[..., 0]

    def mark(self, row: Tensor, private: Tensor) -> Tensor:
        """Return the account's return since the episode began, (N, B)."""
        return self._situation(row, private).total_return

    def succeeds(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        """Return where the aim is reached, (N, B).

        Open long: the position is there. Close position: it is gone. Trend follow and scalp: the
        account gained. Wait: it ended because a moment came, not by the timeout, or lost nothing.
        """
        at = self._situation(row, private)
        gained = at.total_return > run.mark
        opened = at.position >= self.rules.entry_position_frac
        closed = at.position.abs() <= _FLAT_FRAC
        waited = self._is_ready(at) | (at.total_return >= run.mark)
        all_options = [opened, closed, gained, gained, waited]
        return torch.stack(all_options, -1).gather(-1, run.option[..., None])[..., 0]

    def _closing(self, at: Situation) -> Tensor:
        """Sell all at the stop, most at the target, some on the way to it; against the position."""
        rules = self.rules
        share = torch.where(at.entry_move >= rules.partial_frac, rules.partial_action, 0.0)
        share = torch.where(at.entry_move >= rules.target_frac, rules.target_action, share)
        share = torch.where(at.entry_move <= -rules.stop_frac, 1.0, share)
        return -share * torch.sign(at.position)

    def _may_follow(self, at: Situation) -> Tensor:
        """Return where there is a trend, and something to buy or sell with it."""
        may_sell = (at.position > _FLAT_FRAC) | self.allow_short
        falls = at.gap <= -self.rules.trend_gap_frac
        return (at.gap >= self.rules.trend_gap_frac) | (falls & may_sell)

    def _is_ready(self, at: Situation) -> Tensor:
        """Return where a trend may be followed, or a position is at its stop or first profit.

        Something besides waiting may begin there.
        """
        rules, held = self.rules, at.position.abs() > _FLAT_FRAC
        moved = (at.entry_move >= rules.partial_frac) | (at.entry_move <= -rules.stop_frac)
        return self._may_follow(at) | (held & moved)

    def _situation(self, row: Tensor, private: Tensor) -> Situation:
        size, entry_move, exposure, total_return = (
            private[..., self.private.index(name)] for name in OPTION_READS
        )
        gap, stretch = (each.to(row.device)[row] for each in self.signals)
        return Situation(gap, stretch, exposure * torch.sign(size), entry_move, total_return)
