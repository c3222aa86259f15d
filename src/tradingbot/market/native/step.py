"""The packed step as native lanes: what `market.compiled.packed_step` does, on a CPU, in C.

Results are those of the tensors, bit for bit but for logarithms and the like.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS
from tradingbot.market.advance import advance
from tradingbot.market.bars import Bar, TensorMarket
from tradingbot.market.compiled import PackedStep, PackedStepFunction, packed_step
from tradingbot.market.episodes import Starts
from tradingbot.market.native.library import code_sha256, load_library
from tradingbot.market.native.step_source import (
    ACTION_KINDS,
    CALL_FIELDS,
    N_PRIVATE,
    N_RATES,
    step_inputs,
    step_source,
)
from tradingbot.market.native.tensor_functions import bind_tensor_functions
from tradingbot.market.packing import PackedAccount, unpack, unpack_rates
from tradingbot.market.params import SimulatorParams, endless
from tradingbot.market.simulation import Reward

N_MONEY = len(FLOAT_FIELDS)
N_COUNTS = len(COUNT_FIELDS) + len(Action)
PLACE = {name: place for place, name in enumerate(CALL_FIELDS)}
"""Field of a call → its place."""
_N_VARYING = PLACE["allowed"] + 1
"""Fields before this place differ from call to call, the others are those of the market."""
_Call = ctypes.c_int64 * len(CALL_FIELDS)
_LINE_NUMBERS, _PADDED_LANES = 16, 256
_SOURCES = ("domain", "market", "rewards", "risk")
"""What a program is made from, below the package."""
_LOADED: dict[tuple[Any, ...], NativeProgram | None] = {}


class NativeProgram:
    """The compiled step of some rules, reward and number format."""

    def __init__(self, library: ctypes.CDLL, n_terms: int, n_codes: int) -> None:
        self.function = library.step
        """Of the address of a call; see `step_source`."""
        self.function.restype = ctypes.c_int64
        self.function.argtypes = [ctypes.c_void_p]
        self.n_terms, self.n_codes = n_terms, n_codes


def refuse_row() -> IndexError:
    """Make the error of an account that stands outside of the market."""
    return IndexError("an account is at no bar of the market that another follows")


def native_program(
    rules: SimulatorParams,
    reward: Reward,
    dtype: torch.dtype,
    identity: str = "",
    *,
    few_lanes: bool = False,
) -> NativeProgram | None:
    """Return the compiled step; None where there is no compiler, or no C for it.

    Args:
        rules: Constants; the length of an episode is no part of the program.
        reward: Terms of a step.
        dtype: float32 or float64.
        identity: What the reward is made of (`rewards.reward_identity`).
        few_lanes: It is for `FEW_LANES` at most.
    """
    key = (endless(rules), reward, dtype, few_lanes)
    if key not in _LOADED:
        _LOADED[key] = _load(*key[:3], identity, few_lanes=few_lanes)
    return _LOADED[key]


def native_step(
    rules: SimulatorParams,
    reward: Reward,
    market: TensorMarket,
    starts: Starts | None,
    *,
    identity: str = "",
) -> PackedStepFunction | None:
    """Return the step in a market as native lanes; None where that cannot be.

    Args:
        rules: Constants; the length of an episode is no part of the program.
        reward: Terms of a step.
        market: Bars, on the CPU.
        starts: Where episodes begin; None: nothing begins anew.
        identity: What the reward is made of (`rewards.reward_identity`).
    """
    if market.rows.device.type != "cpu":
        return None
    program = native_program(rules, reward, market.dtype, identity)
    if program is None:
        return None
    return _Bound(program, rules, reward, market, starts)


def tensor_exact_step(
    rules: SimulatorParams,
    reward: Reward,
    market: TensorMarket,
    starts: Starts | None,
    *,
    identity: str,
    if_there: bool = False,
) -> PackedStepFunction | None:
    """Return `native_step` with the results of the tensors to the last bit, roots included.

    It calls the functions that PyTorch calls (`tensor_functions`), and its results lie side by side
    as those of tensors do. With `if_there` nothing is compiled.
    """
    if market.rows.device.type != "cpu" or not identity:
        return None
    key = (endless(rules), reward, market.dtype, "as tensors")
    program = _LOADED.get(key)
    if program is None:
        program = _load(*key[:3], identity, as_tensors=True, if_there=if_there)
        _LOADED[key] = program
    return None if program is None else _Bound(program, rules, reward, market, starts, apart=False)


class _Bound:
    """A program in a market."""

    def __init__(
        self,
        program: NativeProgram,
        rules: SimulatorParams,
        reward: Reward,
        market: TensorMarket,
        starts: Starts | None,
        *,
        apart: bool = True,
    ) -> None:
        self._program, self._dtype, self._apart = program, market.dtype, apart
        self._by_tensors = packed_step(rules, reward, market, starts)
        discrete = rules.action.space == "discrete"
        self._action_kinds = (
            (torch.int64, torch.int32) if discrete else (torch.float32, torch.float64)
        )
        self._n_starts = None if starts is None else len(starts.key)
        self._kept, call = place_call(market, starts, rules.episode.episode_bars)
        self._call = call.tobytes()

    def __call__(self, rates: Tensor, account: PackedAccount, action: Tensor) -> PackedStep:
        if not self._fits(rates, account, action):
            return self._by_tensors(rates, account, action)  # they know how to spread and to refuse
        rates, action = rates.contiguous(), action.contiguous()
        money, counts, stride = _with_common_stride(account)
        n_lanes, real, program = len(action), self._dtype, self._program
        apart = padded_stride(n_lanes) if self._apart else n_lanes
        empty, flags = torch.empty_strided, torch.bool
        results = (
            empty((N_MONEY, n_lanes), (apart, 1), dtype=real),
            empty((N_COUNTS, n_lanes), (apart, 1), dtype=torch.int32),
            empty((N_PRIVATE, n_lanes), (apart, 1), dtype=real),
            empty((N_PRIVATE, n_lanes), (apart, 1), dtype=real),
            empty((n_lanes,), (1,), dtype=real),
            empty((program.n_terms, n_lanes), (apart, 1), dtype=real),
            empty((n_lanes,), (1,), dtype=torch.int32),
            *(empty((n_lanes,), (1,), dtype=flags) for _ in range(3)),
            empty((program.n_codes, n_lanes), (n_lanes, 1), dtype=flags),
        )
        call = _Call.from_buffer_copy(self._call)
        call[:_N_VARYING] = [
            *(n_lanes, stride, apart, torch.get_num_threads()),
            *(rates.data_ptr(), rates.dim() == 2, money.data_ptr(), counts.data_ptr()),
            *(action.data_ptr(), ACTION_KINDS[action.dtype]),
            *(result.data_ptr() for result in results),
        ]
        if program.function(call) < 0:
            raise refuse_row()
        money, counts, private, final, reward, terms, executed, *ends, allowed = results
        if not self._apart:
            reward = terms.sum(0)  # in which order tensors add depends on the place of a lane
        terminated, truncated, traded = ends
        return PackedStep(
            PackedAccount(money, counts),
            private,
            final,
            reward,
            terms,
            terminated=terminated,
            truncated=truncated,
            executed=executed,
            traded=traded,
            allowed=allowed,
        )

    def _fits(self, rates: Tensor, account: PackedAccount, action: Tensor) -> bool:
        n_lanes = account.money.shape[-1]
        shapes = (account.money.shape, account.counts.shape, action.shape)
        dtypes = (rates.dtype, account.money.dtype, account.counts.dtype)
        return (
            shapes == ((N_MONEY, n_lanes), (N_COUNTS, n_lanes), (n_lanes,))
            and rates.shape in ((N_RATES,), (N_RATES, n_lanes))
            and dtypes == (self._dtype, self._dtype, torch.int32)
            and action.dtype in self._action_kinds
            and self._n_starts in (None, n_lanes)
        )


def place_call(
    market: TensorMarket, starts: Starts | None, episode_bars: int
) -> tuple[list[Tensor], NDArray[np.int64]]:
    """Lay out a call in a market: its tensors, to be kept alive, and the call without lanes."""
    call = np.zeros(len(CALL_FIELDS), dtype=np.int64)
    rows = market.rows.contiguous()
    kept = [rows]
    call[PLACE["market"]], call[PLACE["n_rows"]] = rows.data_ptr(), len(rows)
    call[PLACE["episode_bars"]] = episode_bars
    if starts is not None:
        wanted = (torch.int32, torch.int32, torch.int64)
        parts = [part.to(kind).contiguous() for part, kind in zip(starts, wanted, strict=True)]
        kept += parts
        for name, part in zip(("choices", "offset", "key"), parts, strict=True):
            call[PLACE[name]] = part.data_ptr()
        call[PLACE["n_choices"]] = parts[0].shape[-1]
        call[PLACE["is_table"]] = parts[0].dim() == 2
    return kept, call


def padded_stride(n_lanes: int) -> int:
    """Return how many numbers apart rows of lanes lie: an odd number of cache lines of float32.

    Rows of a power of two would share the same few sets of every cache. Few lanes lie side by side.
    """
    if n_lanes < _PADDED_LANES:
        return n_lanes
    return (-(-n_lanes // _LINE_NUMBERS) | 1) * _LINE_NUMBERS


def _with_common_stride(account: PackedAccount) -> tuple[Tensor, Tensor, int]:
    """Return money, counts and how far apart the rows of both lie; a lane lies next to another."""
    (apart, next_lane), of_counts = account.money.stride(), account.counts.stride()
    if next_lane == 1 and of_counts == (apart, 1):
        return *account, apart
    return account.money.contiguous(), account.counts.contiguous(), account.money.shape[1]


def _load(
    rules: SimulatorParams,
    reward: Reward,
    dtype: torch.dtype,
    terms: str,
    *,
    if_there: bool = False,
    as_tensors: bool = False,
    few_lanes: bool = False,
) -> NativeProgram | None:
    parts = ("step", rules, terms, dtype, as_tensors, few_lanes, code_sha256(*_SOURCES))
    library = load_library(
        repr(parts) if terms else "",
        lambda: step_source(rules, reward, dtype, as_tensors=as_tensors, few_lanes=few_lanes),
        if_there=if_there,
    )
    if library is None or (as_tensors and not bind_tensor_functions(library, dtype)):
        return None
    rates, money, counts, bar, action, _ = step_inputs(rules, dtype).values()
    account = unpack(PackedAccount(money, counts))
    made = advance(rules, unpack_rates(rates), account, Bar(*bar.unbind()), action)
    n_codes = len(Action) if rules.action.space == "discrete" else 0
    return NativeProgram(library, len(reward(rules, made)), n_codes)
