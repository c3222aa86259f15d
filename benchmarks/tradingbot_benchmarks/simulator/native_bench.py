"""How much faster the step of a backtest is as C than as tensors, for ten agents."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import torch
from torch import Tensor

from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import synthetic_world
from tradingbot.evaluation.backtest import sleeve_config
from tradingbot.market.account import open_accounts
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.compiled import PackedStepFunction, packed_step
from tradingbot.market.native.step import native_step
from tradingbot.market.packing import PackedAccount, pack, pack_rates
from tradingbot.networks.threads import torch_threads
from tradingbot.rewards import reward_identity
from tradingbot_benchmarks.record import BenchRecord, against
from tradingbot_benchmarks.simulator.bench import absent

_FIRST_BAR, _N_SYMBOLS = 199, 10


def measure_native_step(n_bars: int = 1_000) -> BenchRecord:
    """Take ten accounts through the same bars and actions both ways; money must be the same.

    Raises:
        RuntimeError: If it is not.
    """
    world = synthetic_world(n_symbols=_N_SYMBOLS, n_bars=_FIRST_BAR + n_bars + 1)
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    config = sleeve_config(reward="log_growth")
    rules, reward = config.rules, config.reward_stack
    rates = pack_rates(config.costs.rates(dtype=torch.float64))
    native = native_step(rules, reward, market, None, identity=reward_identity(reward))
    if native is None:
        return absent("step_as_c", "µs", "no C compiler on this machine")
    drawn = stream(3, "bench", "targets").choice([0.0, 0.5, 1.0], (n_bars, _N_SYMBOLS))
    targets = torch.from_numpy(drawn)
    with torch_threads(1), torch.no_grad():
        seconds, money = _through(native, market, rates, targets)
        reference, expected = _through(
            packed_step(rules, reward, market, None), market, rates, targets
        )
    if not torch.equal(money, expected):
        raise RuntimeError("the step as C and as tensors differ")
    per_step, of_tensors = seconds / n_bars * 1e6, reference / n_bars * 1e6
    made = against("step_as_c", per_step, "µs", of_tensors, "tensors")
    note = f"one bar of {_N_SYMBOLS} accounts, float64, one thread; money the same to the bit"
    return replace(made, note=note)


def _through(
    step: PackedStepFunction, market: TensorMarket, rates: Tensor, targets: Tensor
) -> tuple[float, Tensor]:
    rows = torch.arange(_N_SYMBOLS, dtype=torch.int32) * market.n_bars + _FIRST_BAR
    account: PackedAccount = pack(open_accounts(1e5, rows, market.rows[rows.long(), 3]))
    step(rates, account, targets[0])  # warm
    began = perf_counter()
    for action in targets:
        account = step(rates, account, action).account
    return perf_counter() - began, account.money
