"""What a batch of environments made of a step, and which engine makes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot.market.account import Account
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import TensorMarket
from tradingbot.market.compiled import missing_compiler
from tradingbot.market.costs import CostRates
from tradingbot.market.native.library import find_compiler
from tradingbot.market.params import SimulatorParams

FINAL_COUNTS = ("steps", "n_trades", "violations")
"""What adapters tell of an account that ended, beside its equity."""
AUTO_LANES = 256
"""From so many lanes on, a missing compiler is worth a warning, and on a GPU `auto` compiles."""


@dataclass(frozen=True, eq=False)
class BatchStep:
    """One step of B environments, automatically reset where they ended; see `simulation.Step`."""

    account: Account
    """After the reset."""
    private: Tensor
    """(18, B) private observation after the reset."""
    final_private: Tensor
    """(18, B) private observation before the reset."""
    reward: Tensor
    """(B,)"""
    terms: Tensor
    """(K, B) weighted reward terms; their sum is the reward."""
    terminated: Tensor
    truncated: Tensor
    advance: Callable[[], Advanced]
    """Works out what happened, bar by bar and order by order, with tensors."""
    after: Account | None = None
    """Before the reset; None: `advanced` knows."""

    @cached_property
    def advanced(self) -> Advanced:
        """Everything that happened, before the reset."""
        return self.advance()

    @property
    def before_reset(self) -> Account:
        """The accounts (B,) at the end of the step, before any reset."""
        return self.advanced.after if self.after is None else self.after


class LaneArrays(Protocol):
    """What a step of B lanes made, as arrays that the next step may overwrite."""

    @property
    def observation(self) -> NDArray[np.float32]:
        """(B, D) flat, after the reset."""

    @property
    def final_observation(self) -> NDArray[np.float32]:
        """(B, D) flat, before the reset; only lanes that ended mean anything."""

    @property
    def reward(self) -> NDArray[Any]:
        """(B,) in the accounts' number format."""

    @property
    def terms(self) -> NDArray[Any]:
        """(K, B) weighted."""

    @property
    def flags(self) -> NDArray[np.bool_]:
        """(3, B): terminated, truncated, and traded where it is known."""

    @property
    def equity(self) -> NDArray[Any]:
        """(B,) after the reset."""

    def final_numbers(self) -> dict[str, NDArray[Any]]:
        """Return equity and `FINAL_COUNTS` (B,) of the accounts before any reset."""


class TensorArrays:
    """`LaneArrays` of a step that tensors made."""

    def __init__(self, writer: ObservationWriter, made: BatchStep) -> None:
        self._writer, self._made = writer, made
        self.reward, self.terms = _array(made.reward), _array(made.terms)
        ends = (_array(made.terminated), _array(made.truncated))
        self.flags = np.stack((*ends, np.zeros_like(ends[0])))
        self.equity = _array(made.account.equity)

    @property
    def observation(self) -> NDArray[np.float32]:
        """(B, D) flat, after the reset."""
        account = self._made.account
        return _array(self._writer.write(account.row, self._made.private))

    @property
    def final_observation(self) -> NDArray[np.float32]:
        """(B, D) flat, before the reset."""
        row = self._made.before_reset.row
        return _array(self._writer.write(row, self._made.final_private))

    def final_numbers(self) -> dict[str, NDArray[Any]]:
        """Return equity and `FINAL_COUNTS` (B,) of the accounts before any reset."""
        account = self._made.before_reset
        counts = {name: _array(getattr(account, name)) for name in FINAL_COUNTS}
        return {"equity": _array(account.equity)} | counts


def work_out(
    rules: SimulatorParams, rates: CostRates, before: Account, market: TensorMarket, actions: Tensor
) -> Advanced:
    """Work out with tensors what one bar did to accounts (B,)."""
    with torch.no_grad():
        return advance(rules, rates, before, market.bar(before.row + 1), actions)


def _array(values: Tensor) -> NDArray[Any]:
    return values.numpy(force=True)


def is_compiled(wanted: bool | Literal["auto"], device: torch.device, n_lanes: int) -> bool:
    """Tell whether a step is compiled: native lanes on a CPU, a recorded graph on a GPU.

    Args:
        wanted: `auto` does on a CPU, and on a GPU where lanes are many enough to repay it.
        device: Where the lanes live.
        n_lanes: B.

    Warns:
        RuntimeWarning: If it is wanted, or lanes are many, and the machine cannot.
    """
    many = n_lanes >= AUTO_LANES
    if wanted is False or (wanted == "auto" and device.type != "cpu" and not many):
        return False
    missing = missing_compiler(device)
    if device.type == "cpu":
        missing = None if find_compiler() else "a C compiler"
    if missing is not None and (wanted is True or many):
        warnings.warn(
            f"The step runs uncompiled, and slower: {missing} was not found on this machine.",
            RuntimeWarning,
            stacklevel=4,
        )
    return missing is None
