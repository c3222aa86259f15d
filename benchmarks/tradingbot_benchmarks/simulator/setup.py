"""What the simulator benchmark steps: a synthetic world, default rules and more, random actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tradingbot.envs.batch.native import NativeEnvLanes
from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig, start_mask
from tradingbot.envs.world import World
from tradingbot.market.advance import Advanced
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.compiled import (
    PackedStep,
    PackedStepFunction,
    compiled_step,
    packed_step,
)
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.episodes import Starts, begin, drawn_symbols, fixed_symbols
from tradingbot.market.native.step import native_program
from tradingbot.market.packing import PackedAccount, pack, pack_rates, unpack
from tradingbot.market.params import AccountRules, SimulatorParams
from tradingbot.market.simulation import Reward
from tradingbot.rewards import reward_identity
from tradingbot.risk.limits import RiskLimits

SEED = 7
COSTS = COST_PROFILES["impact"]
"""Commission, spread, impact and borrow; rates are tensors, so a cost of 0 would be no faster."""

DEFAULT = EnvConfig(costs=COSTS)
"""Rules and reward as an environment has them that nobody configured."""

EVERY_RULE = EnvConfig(
    rules=SimulatorParams(
        account=AccountRules(
            stop_loss_frac=0.02,
            take_profit_frac=0.04,
            max_holding_bars=70,
            position_loss_frac=0.05,
            portfolio_loss_frac=0.20,
        ),
        limits=RiskLimits(max_position_frac=0.5, reserve_frac=0.02, allow_short=True),
    ),
    costs=COSTS,
    reward="v31",
)
"""Stops, holding limit, loss limits, reserve, shorts with margin, all costs; the default reward."""

BARE_RULES = replace(
    DEFAULT,
    rules=SimulatorParams(account=AccountRules(position_loss_frac=1.0, portfolio_loss_frac=1.0)),
)
"""Everything off that has an off; actions, gate, fills and ledger remain."""

_NOT_IN_A_PACKED_STEP = (
    *("final_money", "final_counts", "equity", "reward_sums", "details"),
    *("observation", "final_observation"),
)
"""What native lanes would write beside what the same functions called one by one return."""


def bare_reward(rules: SimulatorParams, advanced: Advanced) -> Tensor:
    """Pay the return of equity and nothing else: one term (1, B)."""
    return (advanced.after.equity / advanced.before.equity - 1.0)[None]


def with_window(window_bars: int) -> EnvConfig:
    """Return the configuration with windows of another length, flat."""
    episode = replace(DEFAULT.rules.episode, window_bars=window_bars)
    rules = replace(DEFAULT.rules, episode=episode)
    return replace(DEFAULT, rules=rules, observation="flat")


def bench_world(n_symbols: int, n_bars: int) -> World:
    """Generate the world of the benchmark: synthetic hourly bars, 23 features, 10 regimes."""
    return synthetic_world("regimes", n_symbols=n_symbols, n_bars=n_bars, seed=SEED)


@dataclass
class Batch:
    """B environments that random actions are put to; `advance` is what is timed."""

    step: PackedStepFunction
    market: TensorMarket
    starts: Starts
    rates: Tensor
    account: PackedAccount
    action: Tensor
    """(B,) written anew at every step."""
    draws: np.random.SFC64
    last: PackedStep | None = None

    @property
    def n_lanes(self) -> int:
        """B."""
        return len(self.action)

    def advance(self) -> None:
        """Draw actions, step every environment, keep the private observation and the row."""
        drawn = self.draws.random_raw(-(-self.n_lanes // 2)).view(np.int32)[: self.n_lanes]
        np.multiply(drawn, np.float32(2.0**-31), out=self.action.numpy(), casting="unsafe")
        self.last = self.step(self.rates, self.account, self.action)
        self.account = self.last.account


def draw_batch(
    world: World,
    n_environments: int,
    config: EnvConfig = DEFAULT,
    *,
    compiled: bool,
    reward: Reward | None = None,
) -> Batch:
    """Lay out environments that each draw symbol and bar of every episode.

    Args:
        world: What is traded.
        n_environments: B.
        config: Rules and reward.
        compiled: As native lanes; or the same functions called one by one.
        reward: Instead of the configuration's.
    """
    starts = drawn_symbols(start_mask(world, config), n_environments, SEED)
    return _lay_out(world, config, reward or config.reward_stack, starts, compiled=compiled)


def market_batch(world: World, n_environments: int, *, compiled: bool) -> Batch:
    """Lay out environments of one lane per symbol, all symbols of one at the same bar."""
    starts = fixed_symbols(start_mask(world, DEFAULT), n_environments, SEED)
    return _lay_out(world, DEFAULT, DEFAULT.reward_stack, starts, compiled=compiled)


def _lay_out(
    world: World, config: EnvConfig, reward: Reward, starts: Starts, *, compiled: bool
) -> Batch:
    market, rules = tensor_market(world.prices, world.present), config.rules
    n_lanes = len(starts.key)
    rates = pack_rates(COSTS.rates(dtype=market.dtype))
    account, draws = _first_accounts(market, starts), np.random.SFC64(SEED)
    identity = reward_identity(reward)
    program = native_program(rules, reward, market.dtype, identity) if compiled else None
    if program is not None:
        lanes = NativeEnvLanes(program, world, config, market, n_lanes)
        lanes.set_starts(starts, _NOT_IN_A_PACKED_STEP)
        lanes.set_rates(rates)
        lanes.load(unpack(account))
        made = _see_results(lanes)
        action = torch.from_numpy(lanes.action)
        return Batch(_stepped(lanes, made), market, starts, rates, made.account, action, draws)
    step = (compiled_step if compiled else packed_step)(rules, reward, market, starts)
    return Batch(step, market, starts, rates, account, torch.zeros(n_lanes), draws)


def _see_results(lanes: NativeEnvLanes) -> PackedStep:
    """See as tensors what native lanes write at every step, in the same memory."""
    see = torch.from_numpy
    terminated, truncated, traded = see(lanes.flags)
    return PackedStep(
        PackedAccount(see(lanes.money), see(lanes.counts)),
        see(lanes.private),
        see(lanes.final_private),
        see(lanes.reward),
        see(lanes.terms),
        terminated=terminated,
        truncated=truncated,
        executed=see(lanes.executed),
        traded=traded,
        allowed=see(lanes.allowed),
    )


def _stepped(lanes: NativeEnvLanes, made: PackedStep) -> PackedStepFunction:
    def step(rates: Tensor, account: PackedAccount, action: Tensor) -> PackedStep:
        lanes.step()  # has the rates, and accounts and action where it finds them
        return made

    return step


def _first_accounts(market: TensorMarket, starts: Starts) -> PackedAccount:
    cash = DEFAULT.rules.account.initial_cash_ccy
    return pack(begin(starts, market, cash, torch.zeros(len(starts.key), dtype=torch.int32)))


@contextmanager
def among_symbols(batch: Batch, n_symbols: int) -> Iterator[None]:
    """Confine the episodes of drawn environments to the first symbols for a while.

    The compiled program holds the tensor of choices, so that one is overwritten: nothing is
    compiled anew, and only the memory that is read differs.
    """
    choices = batch.starts.choices
    before = choices.clone()
    inside = before[before < n_symbols * batch.market.n_bars].numpy()
    choices.copy_(torch.from_numpy(np.resize(inside, len(before))))
    _begin_again(batch)
    try:
        yield
    finally:
        choices.copy_(before)
        _begin_again(batch)


def _begin_again(batch: Batch) -> None:
    for mine, first in zip(batch.account, _first_accounts(batch.market, batch.starts), strict=True):
        mine.copy_(first)


def with_observation(batch: Batch, writer: ObservationWriter) -> Callable[[], None]:
    """Return a step that also writes the flat observation (B, D), each number once."""
    out = torch.empty((batch.n_lanes, writer.width))

    def advance() -> None:
        batch.advance()
        assert batch.last is not None
        writer.write(batch.account.row, batch.last.private, out)

    return advance
