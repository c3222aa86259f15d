"""The loop over bars: L lanes of any policies, costs and delays in one exact simulation.

Nothing is reset on the way; an account that was ruined stays ruined. A decision is made with what
is known at the close of a bar; it is executed at the next open, or so many bars later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tradingbot.agents.policy import Policy, Seen
from tradingbot.envs.batch_observation import rows_of
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.track import COLUMNS, Track, columns_of, joined
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import TensorMarket
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.costs import CostRates
from tradingbot.market.observation import observe_accounts
from tradingbot.market.rules import Rules
from tradingbot.market.simulation import Reward

Progress = Callable[[int, int, str], None]
"""Told (finished, total, label) in bars."""
_CHUNK_BARS = 64
"""Bars whose record and reward are worked out together: one call for many bars."""


class Group(NamedTuple):
    """Lanes that one policy decides for."""

    policy: Policy
    lanes: slice


@dataclass(frozen=True, eq=False)
class Lanes:
    """Who trades what, from where, at which costs and how late."""

    groups: Sequence[Group]
    """Side by side; together all lanes."""
    row: Tensor
    """(L,) int32 row of the market at which each lane begins."""
    rates: CostRates
    """() or (L,) each."""
    delay_bars: Tensor
    """(L,) int64, bars that each lane's decisions wait."""


class Sight:
    """The market's part of what policies see, as tensors."""

    def __init__(self, world: World) -> None:
        self._features = rows_of(world.features)
        self._regimes = rows_of(world.regimes)

    def of(self, rules: Rules, rates: CostRates, account: Account) -> Seen:
        """Return what accounts (L,) see."""
        row = account.row.long()
        discrete = rules.action.space == "discrete"
        return Seen(
            row,
            self._features[row],
            self._regimes[row],
            observe_accounts(rules, account),
            allowed_codes(rules, rates, account) if discrete else None,
        )


def simulate(
    market: TensorMarket,
    sight: Sight,
    rules: Rules,
    reward: Reward,
    lanes: Lanes,
    *,
    n_bars: int,
    progress: Progress | None = None,
) -> Track:
    """Let every lane trade for `n_bars` bars, without gradients.

    Args:
        market: Bars; its number format is that of the accounts.
        sight: What policies see of the market.
        rules: Of all lanes.
        reward: Whose terms are added up.
        lanes: Who trades.
        n_bars: S.
        progress: Told how far it is.
    """
    account = open_accounts(
        rules.account.initial_cash_ccy, lanes.row, market.rows[lanes.row.long(), 3]
    )
    account = account._replace(stale_bars=market.stale_bars(lanes.row))
    waiting = _Waiting(lanes.delay_bars, market.dtype)
    recorder = _Recorder(rules, reward, n_bars, len(lanes.row))
    with torch.no_grad():
        for step in range(n_bars):
            seen = sight.of(rules, lanes.rates, account)
            asked = torch.cat([policy(_of(seen, part)) for policy, part in lanes.groups])
            wanted = waiting.turn(step, asked.to(market.dtype))
            action = wanted.long() if rules.action.space == "discrete" else wanted
            advanced = advance(rules, lanes.rates, account, market.bar(account.row + 1), action)
            account = advanced.after
            recorder.record(step, asked, advanced)
            if progress and ((step + 1) % _CHUNK_BARS == 0 or step + 1 == n_bars):
                progress(step + 1, n_bars, "bars")
    return recorder.track(account)


class _Waiting:
    """Decisions that wait: a ring of the last ones; before the first, nothing is done."""

    def __init__(self, delay_bars: Tensor, dtype: torch.dtype) -> None:
        self._delay, self._length = delay_bars, int(delay_bars.max()) + 1
        self._lane = torch.arange(len(delay_bars))
        self._ring = torch.zeros(self._length, len(delay_bars), dtype=dtype)

    def turn(self, step: int, asked: Tensor) -> Tensor:
        """Keep what is asked now (L,), and return what is due now (L,)."""
        if self._length == 1:
            return asked
        self._ring[step % self._length] = asked
        return self._ring[(step - self._delay) % self._length, self._lane]


class _Recorder:
    """Keeps what a simulation is asked for afterwards; works on many bars at a time."""

    def __init__(self, rules: Rules, reward: Reward, n_bars: int, n_lanes: int) -> None:
        self._rules, self._reward, self._n_lanes = rules, reward, n_lanes
        self._bars = np.empty((n_bars, len(COLUMNS), n_lanes))
        self._asked = np.empty((n_bars, n_lanes))
        self._terms: Tensor | float = 0.0
        self._steps: list[Advanced] = []

    def record(self, step: int, asked: Tensor, advanced: Advanced) -> None:
        self._asked[step] = asked.numpy()
        self._steps.append(advanced)
        if len(self._steps) == _CHUNK_BARS:
            self._write(step + 1)

    def track(self, account: Account) -> Track:
        if self._steps:
            self._write(len(self._bars))
        assert isinstance(self._terms, Tensor)
        return Track(
            bars=self._bars,
            asked=self._asked,
            terms=self._terms.double().numpy(),
            realised_ccy=account.realised.double().numpy(),
            denials=account.denials.long().numpy(),
        )

    def _write(self, stop: int) -> None:
        count, many = len(self._steps), joined(self._steps)
        self._steps.clear()
        rows = torch.stack(columns_of(many)).view(len(COLUMNS), count, self._n_lanes)
        self._bars[stop - count : stop] = rows.transpose(0, 1).numpy()
        terms = self._reward(self._rules, many)
        self._terms = self._terms + terms.view(len(terms), count, self._n_lanes).sum(1)


def _of(seen: Seen, lanes: slice) -> Seen:
    """See the lanes of one policy only; nothing is copied."""
    allowed = None if seen.allowed is None else seen.allowed[:, lanes]
    return Seen(
        seen.row[lanes],
        seen.features[lanes],
        seen.regimes[lanes],
        seen.private[:, lanes],
        allowed,
    )
