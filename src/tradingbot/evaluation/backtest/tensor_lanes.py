"""Lanes as tensors: bar by bar through `advance`, on any machine."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from tradingbot.evaluation.backtest.lanes import SIZE, Lanes
from tradingbot.evaluation.backtest.simulation_record import (
    COLUMNS,
    SimulationRecord,
    columns_of,
)
from tradingbot.market.account import Account
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.observation import observe_accounts

_CHUNK_BARS = 64
"""Bars whose record and reward are worked out together: one call for many bars."""


class TensorLanes:
    """The accounts of all lanes at a bar, and the record up to it."""

    def __init__(self, lanes: Lanes, n_bars: int) -> None:
        """Open the accounts; `n_bars` bars will be traded."""
        self._lanes, self._rules, self._account = lanes, lanes.rules, lanes.open()
        self._waiting = _Waiting(lanes.delay_bars, lanes.market.dtype)
        self._recorder = _Recorder(lanes, n_bars)
        self._step = 0

    def see(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return rows (L,), private numbers (18, L), and codes allowed (7, L) where there are."""
        rules, account = self._rules, self._account
        discrete = rules.action.space == "discrete"
        allowed = allowed_codes(rules, self._lanes.rates, account) if discrete else None
        return account.row.long(), observe_accounts(rules, account), allowed

    def trade(self, asked: Tensor) -> None:
        """Take what is asked (L,) through one bar."""
        wanted = asked
        if self._waiting.delays:
            wanted = self._waiting.turn(self._step, asked, self._size())
        action = wanted.long() if self._rules.action.space == "discrete" else wanted
        account = self._account
        bar = self._lanes.market.bar(account.row + 1)
        advanced = advance(self._rules, self._lanes.rates, account, bar, action)
        self._account = advanced.after
        self._recorder.record(self._step, asked, advanced)
        self._step += 1

    def simulation_record(self) -> SimulationRecord:
        """Return the record."""
        return self._recorder.simulation_record(self._account)

    def _size(self) -> Tensor | None:
        """Return positions (L,) in the unit of targets; None where actions are no targets."""
        if self._rules.action.space != "target":
            return None
        return observe_accounts(self._rules, self._account)[SIZE]


class _Waiting:
    """Decisions that wait: a ring of the last ones; before the first, nothing is done.

    To ask for the position that is held means to leave it alone, and still does when the decision's
    turn comes: the position as it was then would be another order. A wish for 0 is always one for
    0: while an entry waits nothing is held, and a wish that takes the entry back must not keep it.
    """

    def __init__(self, delay_bars: Tensor, dtype: torch.dtype) -> None:
        self._delay, self._length = delay_bars, int(delay_bars.max()) + 1
        self._lane = torch.arange(len(delay_bars))
        self._ring = torch.zeros(self._length, len(delay_bars), dtype=dtype)

    @property
    def delays(self) -> bool:
        """Whether any lane waits."""
        return self._length > 1

    def turn(self, step: int, asked: Tensor, size: Tensor | None) -> Tensor:
        """Keep what is asked now (L,) by positions `size` (L,); return what is due now (L,)."""
        is_kept = None if size is None else (asked == size) & (asked != 0.0)
        kept = asked if is_kept is None else torch.where(is_kept, torch.nan, asked)
        self._ring[step % self._length] = kept
        due = self._ring[(step - self._delay) % self._length, self._lane]
        return due if size is None else torch.where(due.isnan(), size, due)


class _Recorder:
    """Keeps what a simulation is asked for afterwards; works on many bars at a time."""

    def __init__(self, lanes: Lanes, n_bars: int) -> None:
        self._lanes, n_lanes = lanes, len(lanes.row)
        self._bars = np.empty((n_bars, len(COLUMNS), n_lanes))
        self._asked = np.empty((n_bars, n_lanes))
        self._terms: Tensor | float = 0.0
        self._steps: list[Advanced] = []

    def record(self, step: int, asked: Tensor, advanced: Advanced) -> None:
        """Keep one bar."""
        self._asked[step] = asked.numpy()
        self._steps.append(advanced)
        if len(self._steps) == _CHUNK_BARS:
            self._write(step + 1)

    def simulation_record(self, account: Account) -> SimulationRecord:
        """Return everything, with the accounts as they are at the end."""
        if self._steps:
            self._write(len(self._bars))
        assert isinstance(self._terms, Tensor)
        return SimulationRecord(
            bars=self._bars,
            asked=self._asked,
            terms=self._terms.double().numpy(),
            realised_ccy=account.realised.double().numpy(),
            denials=account.denials.long().numpy(),
        )

    def _write(self, stop: int) -> None:
        count = len(self._steps)
        # Lanes of several bars side by side: (…, B) of each become (…, bars · B).
        many: Advanced = tree_map(lambda *parts: torch.cat(parts, dim=-1), *self._steps)
        self._steps.clear()
        rows = torch.stack(columns_of(many)).view(len(COLUMNS), count, -1)
        self._bars[stop - count : stop] = rows.transpose(0, 1).numpy()
        terms = self._lanes.reward(self._lanes.rules, many)
        self._terms = self._terms + terms.view(len(terms), count, -1).sum(1)
