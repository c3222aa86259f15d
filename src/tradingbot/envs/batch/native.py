"""Lanes of an environment in memory of their own: one C call steps them and writes what they see.

Everything a step needs and makes lies in arrays that are made once; a step costs one call with one
address. The arrays are overwritten by the next step, so callers copy what they give away.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.envs.batch.step import FINAL_COUNTS, BatchStep
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.spaces import flatten_layout
from tradingbot.envs.world import World
from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS, Account
from tradingbot.market.advance import Advanced
from tradingbot.market.bars import TensorMarket
from tradingbot.market.episodes import Starts
from tradingbot.market.native.step import (
    N_COUNTS,
    N_MONEY,
    PLACE,
    NativeProgram,
    native_program,
    padded_stride,
    place_call,
    refuse_row,
)
from tradingbot.market.native.step_source import (
    ACTION_KINDS,
    DETAILS,
    FEW_LANES,
    N_PRIVATE,
    N_RATES,
)
from tradingbot.market.packing import PackedAccount, pack, unpack
from tradingbot.rewards import reward_identity

_FINAL_PLACES = [(name, COUNT_FIELDS.index(name)) for name in FINAL_COUNTS]
_EQUITY = [FLOAT_FIELDS.index(name) for name in ("cash", "units", "mark")]
_NOT_FOR_ADAPTERS = ("private", "final_private", "executed", "allowed", "details")
_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}


class NativeEnvLanes:
    """B lanes of a world, float32 or float64, on the CPU."""

    def __init__(
        self,
        program: NativeProgram,
        world: World,
        config: EnvConfig,
        market: TensorMarket,
        n_lanes: int,
    ) -> None:
        """Lay out the memory; `set_starts`, `set_rates` and `begin` must follow."""
        self._function, self._market = program.function, market
        self._space, self.n_lanes = config.rules.action.space, n_lanes
        self._episode_bars = config.rules.episode.episode_bars
        real = _NUMPY[market.dtype]
        self.money = _rows(N_MONEY, n_lanes, real)
        self.counts = _rows(N_COUNTS, n_lanes, np.int32)
        """The accounts, stepped in place."""
        self.private = _rows(N_PRIVATE, n_lanes, real)
        self.final_private = _rows(N_PRIVATE, n_lanes, real)
        self.reward = np.zeros(n_lanes, real)
        self.terms = _rows(program.n_terms, n_lanes, real)
        self.executed = np.zeros(n_lanes, np.int32)
        self.flags = np.zeros((3, n_lanes), np.bool_)
        """Terminated, truncated, traded."""
        self.allowed = np.zeros((program.n_codes, n_lanes), np.bool_)
        self.final_money = _rows(N_MONEY, n_lanes, real)
        self.final_counts = _rows(N_COUNTS, n_lanes, np.int32)
        self.equity = np.zeros(n_lanes, real)
        self.reward_sums = np.zeros(n_lanes)
        """What `step_for_adapters` has added up."""
        self.details = _rows(len(DETAILS), n_lanes, real)
        layout = {part.name: part for part in flatten_layout(world, config)}
        self.observation = np.zeros((n_lanes, layout["regime"].stop), np.float32)
        self.final_observation = np.zeros_like(self.observation)
        """Before the reset, of lanes that ended in the last step."""
        self.action = np.zeros(n_lanes, np.int64 if self._space == "discrete" else real)
        """What the lanes do next, int64 or in the accounts' format: written by the caller."""
        self._rates = np.zeros(N_RATES, real)
        self._tables = _tables(world)
        self._calls: tuple[NDArray[np.int64], NDArray[np.int64]]
        self._kept: list[Tensor]
        self.set_starts(None)

    def set_starts(self, starts: Starts | None, unwanted: Collection[str] = ()) -> None:
        """Say where episodes begin, None: nothing begins anew; and which results are not wanted."""
        self._kept, call = place_call(self._market, starts, self._episode_bars)
        features, probabilities, regimes = self._tables
        arrays = {
            "rates": self._rates,
            "money": self.money,
            "counts": self.counts,
            "next_money": self.money,
            "next_counts": self.counts,
            "action": self.action,
            "private": self.private,
            "final_private": self.final_private,
            "reward": self.reward,
            "terms": self.terms,
            "executed": self.executed,
            "terminated": self.flags[0],
            "truncated": self.flags[1],
            "traded": self.flags[2],
            "allowed": self.allowed,
            "final_money": self.final_money,
            "final_counts": self.final_counts,
            "equity": self.equity,
            "reward_sums": self.reward_sums,
            "details": self.details,
            "observation": self.observation,
            "final_observation": self.final_observation,
            "features": features,
            "probabilities": probabilities,
            "regimes": regimes,
        }
        numbers = {name: array.ctypes.data for name, array in arrays.items()} | {
            "lanes": self.n_lanes,
            "stride": padded_stride(self.n_lanes),
            "next_stride": padded_stride(self.n_lanes),
            "threads": torch.get_num_threads(),
            "rates_differ": self._rates.ndim == 2,
            "action_kind": ACTION_KINDS[torch.from_numpy(self.action).dtype],
            "width": self.observation.shape[1],
            "n_features": features.shape[1],
            "n_probabilities": probabilities.shape[1],
            "n_regimes": regimes.shape[1],
        }
        own = N_PRIVATE + probabilities.shape[1] + regimes.shape[1]
        numbers["window_floats"] = self.observation.shape[1] - own
        for name, number in numbers.items():
            call[PLACE[name]] = 0 if name in unwanted else number
        brief = call.copy()
        call[PLACE["reward_sums"]] = 0
        brief[[PLACE[name] for name in _NOT_FOR_ADAPTERS]] = 0
        brief[PLACE["final_of_ended"]] = 1
        self._calls = (call, brief)
        self._address, self._brief_address = (ctypes.c_void_p(c.ctypes.data) for c in self._calls)

    def set_rates(self, rates: Tensor) -> None:
        """Take packed cost rates, (5,) of all lanes or (5, B)."""
        self._rates = np.ascontiguousarray(rates.numpy(), dtype=self.reward.dtype)
        for call in self._calls:
            call[PLACE["rates"]] = self._rates.ctypes.data
            call[PLACE["rates_differ"]] = self._rates.ndim == 2

    def set_threads(self, threads: int) -> None:
        """Say how many threads share the lanes."""
        for call in self._calls:
            call[PLACE["threads"]] = threads

    def load(self, account: Account) -> None:
        """Take accounts (B,) as they are; what lanes see must be written by the caller."""
        money, counts = pack(account)
        self.money[:], self.counts[:] = money.numpy(), counts.numpy()

    def step(self) -> int:
        """Take every lane through one bar with `action`; return how many episodes ended.

        Raises:
            IndexError: If an account is at no bar that another follows; nothing has changed.
        """
        ended: int = self._function(self._address)
        if ended < 0:
            raise refuse_row()
        return ended

    def step_for_adapters(self) -> int:
        """Do as `step`, and leave out of the results what `LaneArrays` does not have."""
        ended: int = self._function(self._brief_address)
        if ended < 0:
            raise refuse_row()
        return ended

    def accounts(self) -> Account:
        """Copy the accounts into tensors (B,)."""
        return _account(self.money, self.counts)

    def copy_step(self, account: Account, advance: Callable[[], Advanced]) -> BatchStep:
        """Copy what the last step made; `advance` works out the rest where it is looked at."""
        made = (self.private, self.final_private, self.reward, self.terms, *self.flags[:2])
        private, final_private, reward, terms, terminated, truncated = (
            torch.from_numpy(array.copy()) for array in made
        )
        return BatchStep(
            account,
            private,
            final_private,
            reward,
            terms,
            terminated,
            truncated,
            advance=advance,
            after=self.final_accounts(),
        )

    def final_numbers(self) -> dict[str, NDArray[Any]]:
        """Return equity and `FINAL_COUNTS` (B,) of the accounts before any reset."""
        cash, units, mark = (self.final_money[place] for place in _EQUITY)
        counts = {name: self.final_counts[place] for name, place in _FINAL_PLACES}
        return {"equity": cash + units * mark} | counts

    def final_accounts(self) -> Account:
        """Copy the accounts before any reset into tensors (B,)."""
        return _account(self.final_money, self.final_counts)


def make_native_lanes(
    world: World, config: EnvConfig, market: TensorMarket, n_lanes: int
) -> NativeEnvLanes | None:
    """Make lanes that step natively; None where there is no compiler, or no C for the reward."""
    if market.device.type != "cpu":
        return None
    reward = config.reward_stack
    few_lanes = n_lanes <= FEW_LANES and market.dtype == torch.float32  # the others have one
    program = native_program(
        config.rules, reward, market.dtype, reward_identity(reward), few_lanes=few_lanes
    )
    return None if program is None else NativeEnvLanes(program, world, config, market, n_lanes)


def _rows(n_rows: int, n_lanes: int, dtype: Any) -> NDArray[Any]:
    """Lay out rows (n_rows, n_lanes) of zeros that do not meet in the sets of a cache."""
    return np.zeros((n_rows, padded_stride(n_lanes)), dtype)[:, :n_lanes]


def _account(money: NDArray[Any], counts: NDArray[np.int32]) -> Account:
    return unpack(PackedAccount(torch.from_numpy(money.copy()), torch.from_numpy(counts.copy())))


def _tables(world: World) -> tuple[NDArray[np.float32], ...]:
    """See what a world shows as rows (N·T, K), sharing memory where it can."""
    return tuple(
        np.ascontiguousarray(values, dtype=np.float32).reshape(-1, values.shape[-1])
        for values in (world.features, world.probabilities, world.regimes)
    )
