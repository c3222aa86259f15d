"""The loop over bars and lanes as C: what stands around the statements of a lane."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.agents.policy import apply_no_trade_band
from tradingbot.evaluation.backtest.lanes import SIZE
from tradingbot.evaluation.backtest.simulation_record import COLUMNS, columns_of
from tradingbot.market.account import COUNT_FIELDS
from tradingbot.market.advance import Advanced
from tradingbot.market.bars import STALE_COLUMN
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.costs import CostRates
from tradingbot.market.lane_program import LaneProgram, write_lane_program
from tradingbot.market.native import MACROS
from tradingbot.market.native_step import account_inputs, recorded_step, step_inputs
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, pack, unpack
from tradingbot.market.params import SimulatorParams
from tradingbot.market.simulation import Reward

_ROW = COUNT_FIELDS.index("row")
_HEAD = """\
void trade(int64_t first_lane, int64_t last_lane, int64_t L, int64_t first_bar, int64_t n_bars,
           int64_t ring_length, const double *market, const double *all_rates, double *all_money,
           int64_t *all_counts, const double *all_wanted, const int64_t *all_settles,
           const int64_t *delay, double *waiting, double *asked, double *columns, double *terms,
           double *private, uint8_t *allowed)
{
  for (int64_t step = 0; step < n_bars; step++)
    for (int64_t lane = first_lane; lane < last_lane; lane++) {
"""
_TAIL = "    }\n}\n"


def lane_source(rules: SimulatorParams, reward: Reward) -> str:
    """Write the simulation of some rules and reward as one C function `trade`.

    Arrays (k, L) hold one column per lane. It takes lanes `first_lane` … `last_lane` − 1 through
    `n_bars` bars: what is wanted (S, L) is settled where `all_settles` says so, waits `delay` bars
    in a ring, and is executed. Columns (S, 16, L) are written, terms (K, L) added up; private
    numbers (18, L) and allowed codes (7, L) are of the last bar, and left out where null.

    Raises:
        Unwritable: If the simulator does something that there is no statement for.
    """
    decision = write_lane_program(_decide(rules), _decision_inputs())
    step = write_lane_program(_step(rules, reward), step_inputs(rules))
    return "\n".join(
        [MACROS, _HEAD, *_load(), *_decision(decision, rules), *_stepping(step), _TAIL]
    )


def _decide(rules: SimulatorParams) -> Callable[..., tuple[Tensor, ...]]:
    def decide(
        money: Tensor, counts: Tensor, wanted: Tensor, settles: Tensor
    ) -> tuple[Tensor, ...]:
        size = observe_accounts(rules, unpack(PackedAccount(money, counts)))[SIZE]
        return torch.where(settles != 0, apply_no_trade_band(wanted, size), wanted), size

    return decide


def _step(rules: SimulatorParams, reward: Reward) -> Callable[..., tuple[Tensor, ...]]:
    def results(made: Advanced, costs: CostRates) -> tuple[Tensor, ...]:
        return (
            *pack(made.after),
            torch.stack(columns_of(made)),
            reward(rules, made),
            observe_accounts(rules, made.after),
            allowed_codes(rules, costs, made.after),
        )

    return recorded_step(rules, results)


def _decision_inputs() -> dict[str, Tensor]:
    wanted, settles = torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.int64)
    return {**account_inputs(), "wanted": wanted, "settles": settles}


def _load() -> list[str]:
    n_money, n_counts = (len(part) for part in account_inputs().values())
    return [
        f"double money[{n_money}], rates[5];",
        f"int64_t counts[{n_counts}];",
        *(f"money[{i}] = all_money[{i} * L + lane];" for i in range(n_money)),
        *(f"counts[{i}] = all_counts[{i} * L + lane];" for i in range(n_counts)),
        *(f"rates[{i}] = all_rates[{i} * L + lane];" for i in range(5)),
        f"const double *bar = market + {STALE_COLUMN + 1} * (counts[{_ROW}] + 1);",
        "const double wanted[1] = {all_wanted[step * L + lane]};",
        "const int64_t settles[1] = {all_settles[lane]};",
    ]


def _decision(program: LaneProgram, rules: SimulatorParams) -> list[str]:
    (asked,), (size,) = program.results
    kind = "int64_t" if rules.action.space == "discrete" else "double"
    # As `tensor_lanes` has it: asking for what is held means to leave it alone, also later.
    kept, due = "now", "kept"
    if rules.action.space == "target":
        kept, due = f"(now == {size.text} ? NAN : now)", f"(kept != kept ? {size.text} : kept)"
    return [
        "double now;",
        "{",
        *program.statements([asked, size]),
        f"now = {asked.text};",
        "asked[step * L + lane] = now;",
        "if (ring_length > 1) {",
        "const int64_t bar_number = first_bar + step;",
        f"waiting[(bar_number % ring_length) * L + lane] = {kept};",
        "const int64_t place = (bar_number - delay[lane] + ring_length) % ring_length;",
        "const double kept = waiting[place * L + lane];",
        f"now = {due};",
        "}",
        "}",
        f"const {kind} action[1] = {{({kind})now}};",
    ]


def _stepping(program: LaneProgram) -> list[str]:
    money, counts, columns, terms, private, allowed = program.results
    assert len(columns) == len(COLUMNS)
    always = program.statements([*money, *counts, *columns, *terms])
    known = [line.split()[2] for line in always]
    n_columns = len(columns)
    return [
        *always,
        *(
            f"columns[(step * {n_columns} + {i}) * L + lane] = {v.text};"
            for i, v in enumerate(columns)
        ),
        *(f"terms[{i} * L + lane] += {v.text};" for i, v in enumerate(terms)),
        "if (private && step == n_bars - 1) {",
        *program.statements([*private, *allowed], known),
        *(f"private[{i} * L + lane] = {v.text};" for i, v in enumerate(private)),
        *(f"allowed[{i} * L + lane] = {v.text};" for i, v in enumerate(allowed)),
        "}",
        *(f"all_money[{i} * L + lane] = {v.text};" for i, v in enumerate(money)),
        *(f"all_counts[{i} * L + lane] = {v.text};" for i, v in enumerate(counts)),
    ]
