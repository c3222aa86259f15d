"""Lanes as compiled code: the same accounts as `tensor_lanes`, a hundred times faster.

One program of the C of `lane_source` for each set of rules and reward.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.evaluation.backtest.lane_source import CALL_FIELDS, lane_source
from tradingbot.evaluation.backtest.lanes import Lanes
from tradingbot.evaluation.backtest.simulation_record import COLUMNS, SimulationRecord
from tradingbot.market.account import COUNT_FIELDS
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.native.library import code_sha256, load_library
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, pack, unpack
from tradingbot.market.params import SimulatorParams, endless
from tradingbot.market.simulation import Reward
from tradingbot.rewards import reward_identity

Trade = Callable[..., None]
"""The C function `trade` of the address of a call; see `lane_source`."""
_SOURCES = ("domain", "market", "rewards", "risk", "agents/policy.py", "evaluation/backtest")
"""What a program is made from, below the package."""
_LOADED: dict[tuple[SimulatorParams, Any], Trade | None] = {}


def native_trade(rules: SimulatorParams, reward: Reward) -> Trade | None:
    """Return the compiled simulation of some rules and reward; None where it cannot be made.

    The first call takes some seconds, others nothing; another process finds the program on disk.
    Length of the period is no part of it. Without a C compiler there is none, and callers use the
    tensors themselves, which is slower and comes to the same.
    """
    key = (endless(rules), reward)
    if key not in _LOADED:
        _LOADED[key] = _make(*key)
    return _LOADED[key]


def _make(rules: SimulatorParams, reward: Reward) -> Trade | None:
    terms = reward_identity(reward)
    identity = repr(("trade", rules, terms, code_sha256(*_SOURCES))) if terms else ""
    library = load_library(identity, lambda: lane_source(rules, reward))
    if library is None:
        return None
    trade: Trade = library.trade
    library.trade.restype = None
    library.trade.argtypes = [ctypes.c_void_p]
    return trade


class NativeLanes:
    """The accounts of all lanes at a bar, and the record up to it."""

    def __init__(self, trade: Trade, lanes: Lanes, n_bars: int) -> None:
        """Open the accounts; `n_bars` bars will be traded."""
        rules, account, n_lanes = lanes.rules, lanes.open(), len(lanes.row)
        self._function, self._n_lanes, self._step = trade, n_lanes, 0
        self._length = int(lanes.delay_bars.max()) + 1
        self._asked = np.empty((n_bars, n_lanes))
        self._bars = np.empty((n_bars, len(COLUMNS), n_lanes))
        self._terms = np.zeros((len(lanes.reward.names), n_lanes))
        packed, allowed = pack(account), torch.zeros(len(Action), n_lanes, dtype=torch.bool)
        self._discrete = rules.action.space == "discrete"
        if self._discrete:
            allowed.copy_(allowed_codes(rules, lanes.rates, account))
        self._arrays = {
            "market": lanes.market.rows.contiguous(),
            "rates": torch.stack([rate.expand(n_lanes) for rate in lanes.rates]).contiguous(),
            "money": packed.money.contiguous(),
            "counts": packed.counts.long().contiguous(),
            "settles": torch.zeros(n_lanes, dtype=torch.int64),
            "delay": lanes.delay_bars.long().contiguous(),
            "waiting": torch.zeros(self._length, n_lanes, dtype=torch.float64),
            "private": observe_accounts(rules, account).contiguous(),
            "allowed": allowed,
        }

    def see(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return rows (L,), private numbers (18, L), and codes allowed (7, L) where there are.

        They are overwritten by the next bar.
        """
        arrays, row = self._arrays, COUNT_FIELDS.index("row")
        return (
            arrays["counts"][row],
            arrays["private"],
            arrays["allowed"] if self._discrete else None,
        )

    def trade(self, asked: Tensor) -> None:
        """Take what is asked (L,) through one bar."""
        self._run(asked.contiguous(), 1, settles=False)

    def trade_all(self, wanted: Tensor) -> None:
        """Take targets (S, L) that depend on no account through S bars, settled on the way."""
        self._run(wanted.contiguous(), len(wanted), settles=True)

    def simulation_record(self) -> SimulationRecord:
        """Return the record."""
        account = unpack(PackedAccount(self._arrays["money"], self._arrays["counts"]))
        return SimulationRecord(
            bars=self._bars,
            asked=self._asked,
            terms=self._terms,
            realised_ccy=account.realised.numpy().copy(),
            denials=account.denials.numpy().copy(),
        )

    def _run(self, wanted: Tensor, n_bars: int, *, settles: bool) -> None:
        """Trade bars; where targets are settled on the way, accounts are not looked at after."""
        step = self._step
        self._arrays["settles"].fill_(int(settles))
        numbers = {name: array.data_ptr() for name, array in self._arrays.items()}
        numbers |= {
            "wanted": wanted.data_ptr(),
            "lanes": self._n_lanes,
            "threads": torch.get_num_threads(),
            "first_bar": step,
            "n_bars": n_bars,
            "ring_length": self._length,
            "asked": self._asked[step:].ctypes.data,
            "columns": self._bars[step:].ctypes.data,
            "terms": self._terms.ctypes.data,
        }
        if settles:
            numbers["private"] = 0
        call = np.array([numbers[name] for name in CALL_FIELDS], dtype=np.int64)
        self._step += n_bars
        self._function(call.ctypes.data)
