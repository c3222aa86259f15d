"""The step of a batch as C: blocks of lanes are read, advanced, reset where they ended, written.

What a lane does is not written here: it is recorded from `market.advance`, `market.observation` and
the reward (`lane_program`). Here stand the reading and writing around it, and the draw of starts.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS, Account, open_accounts
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import BAR_COLUMNS, STALE_COLUMN, Bar
from tradingbot.market.compiled import allowed_codes, executed_code, has_traded
from tradingbot.market.costs import CostRates
from tradingbot.market.episodes import FIRST_FACTOR, SECOND_FACTOR
from tradingbot.market.native.bar_rows import bar_rows
from tradingbot.market.native.lane_loop import BLOCK_LANES, COPIES, vector_types, write_lane_loop
from tradingbot.market.native.lane_program import LaneProgram, Unwritable, write_lane_program
from tradingbot.market.native.step_code import BLOCKS, CALL
from tradingbot.market.native.threads import PARTS
from tradingbot.market.observation import observe_accounts, observe_opened
from tradingbot.market.packing import PackedAccount, pack, unpack, unpack_rates
from tradingbot.market.params import SimulatorParams
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.market.simulation import Reward

N_RATES, N_PRIVATE = len(CostRates._fields), len(PRIVATE_FEATURES)
CALL_FIELDS = (
    *("lanes", "stride", "next_stride", "threads"),
    *("rates", "rates_differ", "money", "counts", "action", "action_kind"),
    *("next_money", "next_counts", "private", "final_private", "reward", "terms", "executed"),
    *("terminated", "truncated", "traded", "allowed"),
    *("final_money", "final_counts", "final_of_ended", "equity", "reward_sums", "details"),
    *("observation", "final_observation", "width", "features", "window_floats", "n_features"),
    *("probabilities", "n_probabilities", "regimes", "n_regimes"),
    *("market", "n_rows", "episode_bars", "ended"),
    *("choices", "n_choices", "is_table", "offset", "key"),
)
"""Whole numbers and addresses of one call, 64 bits each. `choices` of 0: nothing begins anew.
Rows of accounts lie `stride` numbers apart, those of results `next_stride`; those of rates and of
flags `lanes`. A result whose address is 0 is not written; of `final_observation`, and where
`final_of_ended` is 1 of final accounts, the lanes that ended are. Accounts may be
stepped in place. Rewards are added to `reward_sums`, float64. `ended` becomes the number of
episodes that ended."""
ACTION_KINDS = {torch.float32: 0, torch.float64: 1, torch.int64: 2, torch.int32: 3}
DETAILS = (
    *("code", "violation", "denial", "exit_reason"),
    *("fill_units", "fill_price", "fill_fee", "exit_units", "exit_price", "exit_fee"),
)
"""What a single environment tells of a step beside its account."""
FEW_LANES = 8
"""One vector of float32: a second one abreast would be computed for nothing."""
PART_LANES = 4 * BLOCK_LANES
"""Lanes that a thread takes at a time."""
STREAMED_LANES = 32_768
"""From so many lanes on, no result is in a cache any more when it is read again, unless steps are
in place."""


def step_source(
    rules: SimulatorParams,
    reward: Reward,
    dtype: torch.dtype,
    *,
    as_tensors: bool = False,
    few_lanes: bool = False,
) -> str:
    """Write the step of some rules and reward as one C function, `int64_t step(int64_t *call)`.

    Arrays (k, L) hold one column per lane; the call's fields are `CALL_FIELDS`. It returns how many
    episodes ended, or −1 if an account is at no bar that another follows. With `as_tensors` it
    wants the functions of `tensor_functions`; with `few_lanes` it is the faster up to `FEW_LANES`.

    Raises:
        Unwritable: If the simulator does something that there is no statement for.
    """
    inputs = step_inputs(rules, dtype)
    program = record_lanes(_recorded_step(rules, reward), inputs)
    opening_inputs = _opening_inputs(dtype)
    opening = write_lane_program(_recorded_opening(rules), opening_inputs)
    names = ", ".join(f"AT_{name.upper()}" for name in CALL_FIELDS)
    parts = program.results
    abreast = 2 if dtype == torch.float32 and not few_lanes else 1  # float64: lanes are few
    sizes = {
        "MONEY": len(FLOAT_FIELDS),
        "COUNTS": len(parts[1]),
        "BAR": len(BAR_COLUMNS),
        "MARKET_COLUMNS": STALE_COLUMN + 1,
        "RATES": N_RATES,
        "OWN": N_PRIVATE,
        "TERMS": len(parts[4]),
        "CODES": len(parts[-1]),
        "DETAILS": len(DETAILS),
        "ROW": COUNT_FIELDS.index("row"),
        "EPISODE": COUNT_FIELDS.index("episode"),
        "CASH": FLOAT_FIELDS.index("cash"),
        "UNITS": FLOAT_FIELDS.index("units"),
        "MARK": FLOAT_FIELDS.index("mark"),
        "PART": PART_LANES,
        "STREAMED": STREAMED_LANES,
    }
    return "\n".join(
        [
            vector_types(dtype, as_tensors=as_tensors),
            f"enum {{ {names} }};",
            "enum {" + ", ".join(f"{name} = {size}" for name, size in sizes.items()) + "};",
            f"#define FIRST_FACTOR {FIRST_FACTOR}u\n#define SECOND_FACTOR {SECOND_FACTOR}u",
            PARTS,
            COPIES,
            bar_rows(dtype),
            BLOCKS,
            "static inline void advance_lanes(",
            "  const struct given *restrict given, struct made *restrict made, int n)",
            "{",
            *_step_loop(program, inputs, abreast=abreast),
            "}",
            "static void open_lanes(const struct start *start, struct made *made, int n)",
            "{",
            *_opening_loop(opening, opening_inputs),
            "}",
            CALL,
        ]
    )


def record_lanes(
    function: Callable[..., tuple[Tensor, ...]], inputs: dict[str, Tensor]
) -> LaneProgram:
    """Write down a function that calls a reward.

    Raises:
        Unwritable: If the reward cannot be recorded: it branches on its numbers, say.
    """
    try:
        return write_lane_program(function, inputs)
    except (RuntimeError, TypeError, AttributeError, ValueError) as e:
        raise Unwritable(f"a reward that cannot be recorded: {e}") from e


def step_inputs(rules: SimulatorParams, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return an example of what a step of one lane takes: name → (k, 1) or (1,)."""
    discrete = rules.action.space == "discrete"
    return {
        "rates": torch.zeros(N_RATES, 1, dtype=dtype),
        **account_inputs(dtype),
        "bar": torch.ones(len(BAR_COLUMNS), 1, dtype=dtype),
        "action": torch.zeros(1, dtype=torch.int32 if discrete else dtype),
        "episode_bars": torch.ones(1, dtype=torch.int32),
    }


def account_inputs(dtype: torch.dtype) -> dict[str, Tensor]:
    """Return an example of one packed account: name → (k, 1)."""
    row, mark = torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=dtype)
    money, counts = pack(open_accounts(1.0, row, mark))
    return {"money": money, "counts": counts}


def _recorded_step(rules: SimulatorParams, reward: Reward) -> Callable[..., tuple[Tensor, ...]]:
    """Return one step of a lane, before any reset, as a function of the tensors in `step_inputs`.

    The length of an episode is an argument: programs need not be told apart by it.
    """

    def step(
        rates: Tensor,
        money: Tensor,
        counts: Tensor,
        bar: Tensor,
        action: Tensor,
        episode_bars: Tensor,
    ) -> tuple[Tensor, ...]:
        costs, account = unpack_rates(rates), unpack(PackedAccount(money, counts))
        made = advance(rules, costs, account, Bar(*bar.unbind()), action)
        truncated = (made.after.steps >= episode_bars) & ~made.terminated
        made = made._replace(truncated=truncated)
        terms = reward(rules, made)
        return (
            *pack(made.after),
            observe_accounts(rules, made.after),
            terms.sum(0),
            terms,
            details_of(made),
            executed_code(made.after),
            made.terminated,
            truncated,
            has_traded(made),
            allowed_codes(rules, costs, made.after),
        )

    return step


def details_of(made: Advanced) -> Tensor:
    """Return the numbers of `DETAILS`, (10, B), in the accounts' number format."""
    fill, exit_fill, like = made.fill, made.exit_fill, made.order
    numbers = (
        *(made.decision.code, made.decision.violation, made.denial, made.exit_reason),
        *(fill.units, fill.price, fill.fee, exit_fill.units, exit_fill.price, exit_fill.fee),
    )
    return torch.stack([number.to(like.dtype) for number in numbers])


def _recorded_opening(rules: SimulatorParams) -> Callable[..., tuple[Tensor, ...]]:
    def opened(
        rates: Tensor, row: Tensor, mark: Tensor, episode: Tensor, stale_bars: Tensor
    ) -> tuple[Tensor, ...]:
        account: Account = open_accounts(rules.account.initial_cash_ccy, row, mark, episode)
        account = account._replace(stale_bars=stale_bars)
        codes = allowed_codes(rules, unpack_rates(rates), account)
        return (*pack(account), observe_opened(rules, account), codes)

    return opened


def _opening_inputs(dtype: torch.dtype) -> dict[str, Tensor]:
    def whole() -> Tensor:
        return torch.zeros(1, dtype=torch.int32)  # one each: recording tells tensors by identity

    return {
        "rates": torch.zeros(N_RATES, 1, dtype=dtype),
        "row": whole(),
        "mark": torch.ones(1, dtype=dtype),
        "episode": whole(),
        "stale_bars": whole(),
    }


def rows_of_inputs(inputs: dict[str, Tensor], holder: str) -> dict[str, tuple[str, str]]:
    """Say where a loop reads its inputs: element i of `name` in row `holder->name[i]`."""
    return {
        f"{name}_{place}": (
            "d" if example.is_floating_point() else "i",
            f"{holder}->{name}[{place}]",
        )
        for name, example in inputs.items()
        for place in range(len(example))
    }


def _step_loop(program: LaneProgram, inputs: dict[str, Tensor], *, abreast: int) -> list[str]:
    money, counts, private, reward, terms, details, executed, *flags, allowed = program.results
    loads = rows_of_inputs(inputs, "given")
    if not inputs["action"].is_floating_point():
        loads["action_0"] = ("i", "given->code[0]")
    return write_lane_loop(
        program,
        loads,
        [
            ("made->money", money),
            ("made->counts", counts),
            ("made->private", private),
            ("made->reward", reward),
            ("made->terms", terms),
            ("made->details", details),
            ("made->executed", executed),
            ("made->flags", [value for flag in flags for value in flag]),
            ("made->allowed", allowed),
        ],
        abreast=abreast,
    )


def _opening_loop(program: LaneProgram, inputs: dict[str, Tensor]) -> list[str]:
    loads = rows_of_inputs(inputs, "start")
    names = ("money", "counts", "private", "allowed")
    stores = [
        (f"made->{name}", values) for name, values in zip(names, program.results, strict=True)
    ]
    return write_lane_loop(program, loads, stores)
