"""Lanes as compiled code: the same accounts as `tensor_lanes`, a hundred times faster."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.evaluation.backtest.lane_source import CALL_FIELDS
from tradingbot.evaluation.backtest.lanes import Lanes
from tradingbot.evaluation.backtest.native import Trade
from tradingbot.evaluation.backtest.simulation_record import COLUMNS, SimulationRecord
from tradingbot.market.account import COUNT_FIELDS
from tradingbot.market.bars import TensorMarket
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, pack, unpack
from tradingbot.market.params import SimulatorParams

_ROW = COUNT_FIELDS.index("row")


class NativeLanes:
    """The accounts of all lanes at a bar, and the record up to it."""

    def __init__(
        self,
        trade: Trade,
        market: TensorMarket,
        rules: SimulatorParams,
        lanes: Lanes,
        *,
        n_bars: int,
        n_terms: int,
    ) -> None:
        """Open the accounts; `n_bars` bars will be traded for a reward of `n_terms` terms."""
        n_lanes = len(lanes.row)
        account = lanes.open(market, rules)
        self._function, self._rules, self._n_lanes, self._step = trade, rules, n_lanes, 0
        self._length = int(lanes.delay_bars.max()) + 1
        self._market = market.rows.contiguous()
        self._rates = torch.stack([rate.expand(n_lanes) for rate in lanes.rates]).contiguous()
        packed = pack(account)
        self._money, self._counts = packed.money.contiguous(), packed.counts.long().contiguous()
        self._delay = lanes.delay_bars.long().contiguous()
        self._waiting = torch.zeros(self._length, n_lanes, dtype=torch.float64)
        self._asked = np.empty((n_bars, n_lanes))
        self._bars = np.empty((n_bars, len(COLUMNS), n_lanes))
        self._terms = np.zeros((n_terms, n_lanes))
        self._private = observe_accounts(rules, account).contiguous()
        self._discrete = rules.action.space == "discrete"
        self._allowed = torch.zeros(len(Action), n_lanes, dtype=torch.bool)
        if self._discrete:
            self._allowed.copy_(allowed_codes(rules, lanes.rates, account))
        self._literally = torch.zeros(n_lanes, dtype=torch.int64)
        self._settling = torch.ones(n_lanes, dtype=torch.int64)

    def see(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return rows (L,), private numbers (18, L), and codes allowed (7, L) where there are.

        They are overwritten by the next bar.
        """
        return self._counts[_ROW], self._private, self._allowed if self._discrete else None

    def trade(self, asked: Tensor) -> None:
        """Take what is asked (L,) through one bar."""
        self._run(asked.contiguous(), 1, self._literally, sees=True)

    def trade_all(self, wanted: Tensor) -> None:
        """Take targets (S, L) that depend on no account through S bars, settled on the way."""
        self._run(wanted.contiguous(), len(wanted), self._settling, sees=False)

    def simulation_record(self) -> SimulationRecord:
        """Return the record."""
        account = unpack(PackedAccount(self._money, self._counts))
        return SimulationRecord(
            bars=self._bars,
            asked=self._asked,
            terms=self._terms,
            realised_ccy=account.realised.numpy().copy(),
            denials=account.denials.numpy().copy(),
        )

    def _run(self, wanted: Tensor, n_bars: int, settles: Tensor, *, sees: bool) -> None:
        step, lanes = self._step, self._n_lanes
        numbers = {
            "lanes": lanes,
            "threads": torch.get_num_threads(),
            "first_bar": step,
            "n_bars": n_bars,
            "ring_length": self._length,
            "market": self._market.data_ptr(),
            "rates": self._rates.data_ptr(),
            "money": self._money.data_ptr(),
            "counts": self._counts.data_ptr(),
            "wanted": wanted.data_ptr(),
            "settles": settles.data_ptr(),
            "delay": self._delay.data_ptr(),
            "waiting": self._waiting.data_ptr(),
            "asked": self._asked.ctypes.data + step * lanes * 8,
            "columns": self._bars.ctypes.data + step * len(COLUMNS) * lanes * 8,
            "terms": self._terms.ctypes.data,
            "private": self._private.data_ptr() if sees else 0,
            "allowed": self._allowed.data_ptr(),
        }
        call = np.array([numbers[name] for name in CALL_FIELDS], dtype=np.int64)
        self._step += n_bars
        self._function(call.ctypes.data)
