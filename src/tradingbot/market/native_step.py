"""The packed step as C, for few accounts on a CPU: calling tensors costs more than their sums.

A step of ten accounts is some two hundred tensor operations of a few numbers each: three
milliseconds of calls. The same operations, written down by `lane_program`, take microseconds and
come to the same, bit for bit but for logarithms and the like.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from tradingbot.market.account import COUNT_FIELDS, open_accounts
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import BAR_COLUMNS, STALE_COLUMN, Bar, TensorMarket
from tradingbot.market.compiled import (
    PackedStep,
    PackedStepFunction,
    allowed_codes,
    executed_code,
    has_traded,
    packed_step,
)
from tradingbot.market.costs import CostRates
from tradingbot.market.lane_program import LaneProgram, Value, write_lane_program
from tradingbot.market.native import MACROS, code_sha256, load_library
from tradingbot.market.observation import PRIVATE_FEATURES, observe_accounts
from tradingbot.market.packing import PackedAccount, pack, unpack, unpack_rates
from tradingbot.market.params import SimulatorParams, endless
from tradingbot.market.simulation import Reward

_ROW, _STEPS = COUNT_FIELDS.index("row"), COUNT_FIELDS.index("steps")
_SOURCES = ("domain", "market", "rewards", "risk")
_N_RATES, _N_PRIVATE = len(CostRates._fields), len(PRIVATE_FEATURES)
_HEAD = """\
int step(int64_t L, int64_t n_rows, int64_t rate_stride, int64_t lane_stride,
         const double *market, const double *all_rates, const double *all_money,
         const int32_t *all_counts, const {action} *all_actions, double *numbers,
         int32_t *whole, uint8_t *flags)
{{
  for (int64_t lane = 0; lane < L; lane++) {{
"""
_TAIL = "  }\n  return 0;\n}\n"


class _Program:
    """The C function, and how many rows its results have."""

    def __init__(self, function: Callable[..., int], n_terms: int, n_codes: int) -> None:
        self._function, self._n_terms, self._n_codes = function, n_terms, n_codes

    def call(self, rows: Tensor, given: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Take lanes through one bar of the market; returns numbers, whole numbers and flags.

        Raises:
            IndexError: If an account is at no bar that another follows.
        """
        rates, money, counts, action = (tensor.contiguous() for tensor in given)
        n_lanes = len(action)
        strides = (n_lanes, 1) if rates.dim() == 2 else (1, 0)
        n_numbers = len(money) + _N_PRIVATE + self._n_terms
        results = (
            torch.empty(n_numbers, n_lanes, dtype=torch.float64),
            torch.empty(len(counts) + 1, n_lanes, dtype=torch.int32),
            torch.empty(2 + self._n_codes, n_lanes, dtype=torch.bool),
        )
        tensors = (rows, rates, money, counts, action, *results)
        places = (tensor.data_ptr() for tensor in tensors)
        if self._function(n_lanes, len(rows), *strides, *places):
            raise IndexError("an account is at no bar of the market that another follows")
        return results


_LOADED: dict[tuple[SimulatorParams, Any], _Program | None] = {}


def native_step(
    rules: SimulatorParams, reward: Reward, market: TensorMarket, *, identity: str = ""
) -> PackedStepFunction | None:
    """Return the step in a market without resets, as C; None where that cannot be.

    Args:
        rules: Constants; the length of an episode is no part of the program.
        reward: Terms of a step.
        market: Bars, float64 on the CPU.
        identity: What the reward is made of (`rewards.reward_identity`).
    """
    if market.rows.device.type != "cpu" or market.dtype != torch.float64:
        return None
    key = (endless(rules), reward)
    if key not in _LOADED:
        _LOADED[key] = _make(*key, identity)
    program = _LOADED[key]
    return None if program is None else _bound(program, rules, reward, market)


def _bound(
    program: _Program, rules: SimulatorParams, reward: Reward, market: TensorMarket
) -> PackedStepFunction:
    by_tensors = packed_step(rules, reward, market, None)
    rows, episode_bars = market.rows.contiguous(), rules.episode.episode_bars
    n_money, n_counts = (len(part) for part in account_inputs().values())
    kind = torch.int64 if rules.action.space == "discrete" else torch.float64

    def advance_natively(rates: Tensor, account: PackedAccount, action: Tensor) -> PackedStep:
        given = (rates, *account, action)
        n_lanes = account.money.shape[-1]
        shapes = ((n_money, n_lanes), (n_counts, n_lanes), (n_lanes,))
        dtypes = (torch.float64, torch.float64, torch.int32, kind)
        fits = tuple(tensor.shape for tensor in given[1:]) == shapes and (
            rates.shape in ((_N_RATES,), (_N_RATES, n_lanes))
        )
        if not fits or tuple(tensor.dtype for tensor in given) != dtypes:
            return by_tensors(rates, account, action)  # they know how to spread and to refuse
        numbers, whole, flags = program.call(rows, given)
        terms, terminated = numbers[n_money + _N_PRIVATE :], flags[0]
        private = numbers[n_money : n_money + _N_PRIVATE]
        return PackedStep(
            account=PackedAccount(numbers[:n_money], whole[:n_counts]),
            private=private,
            final_private=private,
            reward=terms.sum(0),
            terms=terms,
            terminated=terminated,
            truncated=(whole[_STEPS] >= episode_bars) & ~terminated,
            executed=whole[n_counts],
            traded=flags[1],
            allowed=flags[2:],
        )

    return advance_natively


def _make(rules: SimulatorParams, reward: Reward, terms: str) -> _Program | None:
    identity = repr(("step", rules, terms, code_sha256(*_SOURCES))) if terms else ""
    library = load_library(identity, lambda: step_source(rules, reward))
    if library is None:
        return None
    library.step.restype = ctypes.c_int
    library.step.argtypes = [ctypes.c_int64] * 4 + [ctypes.c_void_p] * 8
    inputs = step_inputs(rules)
    _, _, _, made, *_, allowed = _recorded(rules, reward)(*inputs.values())
    return _Program(library.step, len(made), len(allowed))


def step_source(rules: SimulatorParams, reward: Reward) -> str:
    """Write the step of some rules and reward as one C function `step`.

    Arrays (k, L) hold one column per lane. Results are accounts, private numbers and terms in
    `numbers`; counts and executed code in `whole`; ruin, fills and allowed codes in `flags`.

    Raises:
        Unwritable: If the simulator does something that there is no statement for.
    """
    program = write_lane_program(_recorded(rules, reward), step_inputs(rules))
    kind = "int64_t" if rules.action.space == "discrete" else "double"
    return "\n".join([MACROS, _HEAD.format(action=kind), *_load(kind), *_body(program), _TAIL])


def recorded_step(
    rules: SimulatorParams, results: Callable[[Advanced, CostRates], tuple[Tensor, ...]]
) -> Callable[..., tuple[Tensor, ...]]:
    """Return one step of a lane as a function of the tensors in `step_inputs`, to be written as C.

    Args:
        rules: Constants.
        results: What is wanted of a step made at some costs.
    """

    def step(
        rates: Tensor, money: Tensor, counts: Tensor, bar: Tensor, action: Tensor
    ) -> tuple[Tensor, ...]:
        costs, account = unpack_rates(rates), unpack(PackedAccount(money, counts))
        return results(advance(rules, costs, account, Bar(*bar.unbind()), action), costs)

    return step


def _recorded(rules: SimulatorParams, reward: Reward) -> Callable[..., tuple[Tensor, ...]]:
    def results(made: Advanced, costs: CostRates) -> tuple[Tensor, ...]:
        return (
            *pack(made.after),
            observe_accounts(rules, made.after),
            reward(rules, made),
            executed_code(made.after),
            made.terminated,
            has_traded(made),
            allowed_codes(rules, costs, made.after),
        )

    return recorded_step(rules, results)


def step_inputs(rules: SimulatorParams) -> dict[str, Tensor]:
    """Return an example of what a step of one lane takes: name of the C array → (k, 1) or (1,)."""
    discrete = rules.action.space == "discrete"
    return {
        "rates": torch.zeros(_N_RATES, 1, dtype=torch.float64),
        **account_inputs(),
        "bar": torch.ones(len(BAR_COLUMNS), 1, dtype=torch.float64),
        "action": torch.zeros(1, dtype=torch.int64 if discrete else torch.float64),
    }


def account_inputs() -> dict[str, Tensor]:
    """Return an example of one packed account: name of the C array → (k, 1)."""
    row, mark = torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=torch.float64)
    money, counts = pack(open_accounts(1.0, row, mark))
    return {"money": money, "counts": counts}


def _load(kind: str) -> list[str]:
    n_money, n_counts = (len(part) for part in account_inputs().values())
    row = f"counts[{_ROW}]"
    return [
        f"double money[{n_money}], rates[{_N_RATES}];",
        f"int64_t counts[{n_counts}];",
        *(f"money[{i}] = all_money[{i} * L + lane];" for i in range(n_money)),
        *(f"counts[{i}] = all_counts[{i} * L + lane];" for i in range(n_counts)),
        *(
            f"rates[{i}] = all_rates[{i} * rate_stride + lane * lane_stride];"
            for i in range(_N_RATES)
        ),
        f"if ({row} < -1 || {row} + 1 >= n_rows) return 1;",
        f"const double *bar = market + {STALE_COLUMN + 1} * ({row} + 1);",
        f"const {kind} action[1] = {{all_actions[lane]}};",
    ]


def _body(program: LaneProgram) -> list[str]:
    money, counts, private, terms, executed, terminated, traded, allowed = program.results
    results = {
        "numbers": [*money, *private, *terms],
        "whole": [*counts, *executed],
        "flags": [*terminated, *traded, *allowed],
    }
    wanted = [value for values in results.values() for value in values]
    return [*program.statements(wanted), *_stores(results)]


def _stores(results: dict[str, list[Value]]) -> Iterator[str]:
    for array, values in results.items():
        for place, value in enumerate(values):
            yield f"{array}[{place} * L + lane] = {value.text};"
