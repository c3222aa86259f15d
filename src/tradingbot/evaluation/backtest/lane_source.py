"""The loop over bars as C: a block of lanes goes through all bars before the next block begins."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.agents.policy import apply_no_trade_band
from tradingbot.evaluation.backtest.lanes import SIZE
from tradingbot.evaluation.backtest.simulation_record import COLUMNS, columns_of
from tradingbot.market.account import COUNT_FIELDS
from tradingbot.market.advance import advance
from tradingbot.market.bars import BAR_COLUMNS, STALE_COLUMN, Bar
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.native.lane_loop import COPIES, vector_types, write_lane_loop
from tradingbot.market.native.step_source import (
    N_PRIVATE,
    N_RATES,
    account_inputs,
    record_lanes,
    rows_of_inputs,
    step_inputs,
)
from tradingbot.market.native.threads import PARTS
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, pack, unpack, unpack_rates
from tradingbot.market.params import SimulatorParams
from tradingbot.market.simulation import Reward

CALL_FIELDS = (
    *("lanes", "threads", "first_bar", "n_bars", "ring_length"),
    *("market", "rates", "money", "counts", "wanted", "settles", "delay", "waiting"),
    *("asked", "columns", "terms", "private", "allowed"),
)
"""Whole numbers and addresses of one call, 64 bits each."""
_Recordable = Callable[..., tuple[Tensor, ...]]
_DTYPE = torch.float64


def lane_source(rules: SimulatorParams, reward: Reward) -> str:
    """Write the simulation of some rules and reward as one C function, `void trade(int64_t *call)`.

    Arrays (k, L) hold one column per lane. It takes all lanes through `n_bars` bars: what is wanted
    (S, L) is settled where `settles` says so, waits `delay` bars in a ring, and is executed.
    Columns (S, 16, L) are written, terms (K, L) added up; private numbers (18, L) and allowed codes
    (7, L) are of the last bar, and left out where null.

    Raises:
        Unwritable: If the simulator does something that there is no statement for.
    """
    made = _example(rules, reward)
    sizes = {
        "MONEY": len(account_inputs(_DTYPE)["money"]),
        "COUNTS": len(account_inputs(_DTYPE)["counts"]),
        "BAR": len(BAR_COLUMNS),
        "MARKET_COLUMNS": STALE_COLUMN + 1,
        "RATES": N_RATES,
        "OWN": N_PRIVATE,
        "COLUMNS": len(COLUMNS),
        "TERMS": len(made[0]),
        "CODES": len(made[1]),
        "ROW": COUNT_FIELDS.index("row"),
    }
    discrete, target = (rules.action.space == space for space in ("discrete", "target"))
    return "\n".join(
        [
            vector_types(_DTYPE),
            "enum {" + ", ".join(f"AT_{name.upper()}" for name in CALL_FIELDS) + "};",
            "enum {" + ", ".join(f"{name} = {size}" for name, size in sizes.items()) + "};",
            PARTS,
            COPIES,
            _BLOCK,
            "static inline void decide(struct block *block, int n)\n{",
            *_loop(_decide(rules), _decision_inputs(), ("now", "size")),
            "}\nstatic inline void advance_lanes(struct block *block, int n)\n{",
            *_loop(
                _advance(rules, reward), _inputs(rules), ("money", "counts", "columns", "terms")
            ),
            "}\nstatic void observe(struct block *block, int n)\n{",
            *_loop(_observe(rules), _observation_inputs(), ("private", "allowed")),
            "}",
            f"enum {{ DISCRETE = {int(discrete)}, TARGET = {int(target)} }};",
            _TRADE,
        ]
    )


def _loop(function: _Recordable, inputs: dict[str, Tensor], results: tuple[str, ...]) -> list[str]:
    program = record_lanes(function, inputs)
    loads = rows_of_inputs(inputs, "block")
    if "action" in inputs and not inputs["action"].is_floating_point():
        loads["action_0"] = ("i", "block->code[0]")
    names = ("next_" + name if name in ("money", "counts") else name for name in results)
    return write_lane_loop(
        program,
        loads,
        [(f"block->{name}", values) for name, values in zip(names, program.results, strict=True)],
    )


def _decide(rules: SimulatorParams) -> _Recordable:
    def decide(
        money: Tensor, counts: Tensor, wanted: Tensor, settles: Tensor
    ) -> tuple[Tensor, ...]:
        size = observe_accounts(rules, unpack(PackedAccount(money, counts)))[SIZE]
        return torch.where(settles != 0, apply_no_trade_band(wanted, size), wanted), size

    return decide


def _advance(rules: SimulatorParams, reward: Reward) -> _Recordable:
    def step(
        rates: Tensor, money: Tensor, counts: Tensor, bar: Tensor, action: Tensor
    ) -> tuple[Tensor, ...]:
        account = unpack(PackedAccount(money, counts))
        made = advance(rules, unpack_rates(rates), account, Bar(*bar.unbind()), action)
        return (*pack(made.after), torch.stack(columns_of(made)), reward(rules, made))

    return step


def _observe(rules: SimulatorParams) -> _Recordable:
    def observe(rates: Tensor, money: Tensor, counts: Tensor) -> tuple[Tensor, ...]:
        account = unpack(PackedAccount(money, counts))
        return observe_accounts(rules, account), allowed_codes(rules, unpack_rates(rates), account)

    return observe


def _inputs(rules: SimulatorParams) -> dict[str, Tensor]:
    inputs = step_inputs(rules, _DTYPE)
    del inputs["episode_bars"]
    return inputs


def _decision_inputs() -> dict[str, Tensor]:
    wanted, settles = torch.zeros(1, dtype=_DTYPE), torch.zeros(1, dtype=torch.int64)
    return {**account_inputs(_DTYPE), "wanted": wanted, "settles": settles}


def _observation_inputs() -> dict[str, Tensor]:
    return {"rates": torch.zeros(N_RATES, 1, dtype=_DTYPE), **account_inputs(_DTYPE)}


def _example(rules: SimulatorParams, reward: Reward) -> tuple[Tensor, Tensor]:
    """Return reward terms (K, 1) and allowed codes (A, 1) of an example."""
    *_, terms = _advance(rules, reward)(*_inputs(rules).values())
    return terms, _observe(rules)(*_observation_inputs().values())[1]


_BLOCK = """\
struct block {
  real_row rates[RATES], money[MONEY], next_money[MONEY], bar[BAR], action[1], wanted[1], now[1];
  real_row size[1], columns[COLUMNS], terms[TERMS], sums[TERMS], private[OWN];
  whole_row counts[COUNTS], next_counts[COUNTS], code[1], settles[1], allowed[CODES + 1];
};
"""
_TRADE = """\
#define AT(type, field) ((type *)(intptr_t)call[field])
#define COLUMN(type, field, i) (AT(type, field) + (i) * call[AT_LANES] + first)

/* Asking for the position that is held means to leave it alone, also when its turn comes later;
   a wish for 0 is always one for 0. */
static void wait_turn(const int64_t *call, struct block *block, int64_t first, int n, int64_t bar)
{
  const int64_t lanes = call[AT_LANES], length = call[AT_RING_LENGTH];
  for (int l = 0; length > 1 && l < n; l++) {
    const real now = block->now[0][l], size = block->size[0][l];
    const int keeps = TARGET && now == size && now != 0;
    AT(real, AT_WAITING)[(bar % length) * lanes + first + l] = keeps ? NAN : now;
    const int64_t place = (bar - AT(const int64_t, AT_DELAY)[first + l] + length) % length;
    const real due = AT(real, AT_WAITING)[place * lanes + first + l];
    block->now[0][l] = TARGET && due != due ? size : due;
  }
  for (int l = 0; l < BLOCK && l < n + WIDTH; l++) {
    const real now = block->now[0][l < n ? l : n - 1];
    block->action[0][l] = now;
    if (DISCRETE) block->code[0][l] = now < -1 ? -1 : now > 127 ? 127 : (whole)now;
  }
}

static void trade_bar(const int64_t *call, struct block *block, int64_t first, int n, int64_t step)
{
  READ(block->wanted[0], COLUMN(const real, AT_WANTED, step), n);
  decide(block, n);
  WRITE(COLUMN(real, AT_ASKED, step), block->now[0], n);
  wait_turn(call, block, first, n, call[AT_FIRST_BAR] + step);
  for (int l = 0; l < BLOCK && l < n + WIDTH; l++) {
    const int64_t row = block->counts[ROW][l < n ? l : n - 1] + 1;
    const real *bar = AT(const real, AT_MARKET) + MARKET_COLUMNS * row;
    for (int i = 0; i < BAR; i++) block->bar[i][l] = bar[i];
  }
  advance_lanes(block, n);
  memcpy(block->money, block->next_money, sizeof(block->money));
  memcpy(block->counts, block->next_counts, sizeof(block->counts));
  for (int i = 0; i < COLUMNS; i++)
    WRITE(COLUMN(real, AT_COLUMNS, step * COLUMNS + i), block->columns[i], n);
  for (int i = 0; i < TERMS; i++)
    for (int l = 0; l < n; l++) block->sums[i][l] += block->terms[i][l];
}

static void trade_part(const int64_t *call, int64_t part)
{
  struct block block;
  const int64_t lanes = call[AT_LANES], first = part * BLOCK;
  const int n = lanes - first < BLOCK ? (int)(lanes - first) : BLOCK;
  for (int i = 0; i < RATES; i++) READ(block.rates[i], COLUMN(const real, AT_RATES, i), n);
  for (int i = 0; i < MONEY; i++) READ(block.money[i], COLUMN(const real, AT_MONEY, i), n);
  for (int i = 0; i < COUNTS; i++)
    READ(block.counts[i], COLUMN(const int64_t, AT_COUNTS, i), n);
  for (int i = 0; i < TERMS; i++) READ(block.sums[i], COLUMN(const real, AT_TERMS, i), n);
  READ(block.settles[0], AT(const int64_t, AT_SETTLES) + first, n);
  for (int64_t step = 0; step < call[AT_N_BARS]; step++) trade_bar(call, &block, first, n, step);
  for (int i = 0; i < MONEY; i++) WRITE(COLUMN(real, AT_MONEY, i), block.money[i], n);
  for (int i = 0; i < COUNTS; i++) WRITE(COLUMN(int64_t, AT_COUNTS, i), block.counts[i], n);
  for (int i = 0; i < TERMS; i++) WRITE(COLUMN(real, AT_TERMS, i), block.sums[i], n);
  if (!call[AT_PRIVATE]) return;
  observe(&block, n);
  for (int i = 0; i < OWN; i++) WRITE(COLUMN(real, AT_PRIVATE, i), block.private[i], n);
  for (int i = 0; i < CODES; i++)
    WRITE_FLAGS(COLUMN(uint8_t, AT_ALLOWED, i), block.allowed[i], n);
}

void trade(const int64_t *call)
{
  share_parts(trade_part, call, (call[AT_LANES] + BLOCK - 1) / BLOCK, call[AT_THREADS]);
}
"""
