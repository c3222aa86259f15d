"""How a world and rules look to a learner: its actions, its table, and what compiles the step."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.errors import DataError
from tradingbot.envs.population.exact_step import exact_step
from tradingbot.envs.world import World
from tradingbot.learning.task import ActionSpec
from tradingbot.market.account import FLOAT_FIELDS
from tradingbot.market.actions.neutral import neutralise
from tradingbot.market.bars import TensorMarket
from tradingbot.market.compiled import PackedStep, PackedStepFunction, missing_compiler
from tradingbot.market.episodes import Starts, fixed_symbols, recent_places
from tradingbot.market.native.step import native_step
from tradingbot.market.packing import PackedAccount, unpack
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.rewards import PotentialShaping, RewardStack, reward_identity

_WORTH_COMPILING_BARS = 500
"""Of a backtest: a second or two of tensors, as long as its C takes to compile once."""


_CASH, _UNITS, _MARK, _TURNOVER = map(FLOAT_FIELDS.index, ("cash", "units", "mark", "turnover"))


def action_spec(rules: SimulatorParams) -> ActionSpec:
    """Return what actions are under some rules."""
    if rules.action.space == "discrete":
        return ActionSpec("discrete", n_actions=len(Action))
    long_only = rules.action.space == "target" and not rules.limits.allow_short
    return ActionSpec("box", low=0.0 if long_only else -1.0, high=1.0)


def market_table(world: World, device: torch.device | str = "cpu") -> Tensor:
    """Return what a world shows at each bar, (N, T, F): features, regimes, probabilities."""
    parts = (world.features, world.regimes, world.probabilities)
    return torch.from_numpy(np.concatenate(parts, axis=-1, dtype=np.float32)).to(device)


def may_compile(wanted: bool | None, device: torch.device) -> bool:
    """Tell whether the step is compiled: asked for (by default on CUDA), and possible.

    Warns:
        RuntimeWarning: If it is wanted and the machine cannot.
    """
    if not (device.type == "cuda" if wanted is None else wanted):
        return False
    missing = missing_compiler(device)
    if missing is not None:
        warnings.warn(
            f"The step runs uncompiled, and slower: {missing} was not found on this machine.",
            RuntimeWarning,
            stacklevel=3,
        )
    return missing is None


def backtest_step(
    rules: SimulatorParams, reward: RewardStack | PotentialShaping, market: TensorMarket
) -> PackedStepFunction:
    """Return the step of a backtest, which nothing follows: as C where that pays and is possible.

    Both come to the same, bit for bit but for logarithms and the like, in rewards and ratios.
    """
    native = None
    if rules.episode.episode_bars >= _WORTH_COMPILING_BARS:
        native = native_step(rules, reward, market, None, identity=reward_identity(reward))
    return native or exact_step(rules, reward, market, None)


@torch.no_grad()
def turnover_of(money: Tensor, made: PackedStep) -> Tensor:
    """Return traded notional ÷ equity before a step, (N · B,); −1 where an episode ended.

    Args:
        money: (19, N · B) of the packed accounts before.
        made: The step; accounts of episodes that ended may be new ones.
    """
    equity = torch.addcmul(money[_CASH], money[_UNITS], money[_MARK])
    traded = (made.account.money[_TURNOVER] - money[_TURNOVER]) / equity
    return traded.masked_fill(made.terminated | made.truncated, -1.0)


def begin_together(
    possible: NDArray[np.bool_], n_envs: int, seed: int, *, recency: float = 0.0
) -> Starts:
    """Let all agents of an environment begin at the same bar; lane = agent · B + environment.

    A bar is possible (N, T) where it is for at least half of the symbols; later ones come more
    often with `recency`, as in `own_symbols`.
    """
    common = np.broadcast_to(possible.mean(axis=0) >= 0.5, possible.shape)
    choices, *parts = fixed_symbols(common if common.any() else possible, n_envs, seed)
    if recency > 0.0:
        choices = choices[torch.from_numpy(recent_places(len(choices), recency))]
    offset, key = (part.view(n_envs, -1).T.reshape(-1).contiguous() for part in parts)
    return Starts(choices, offset, key)


def neutral_targets(
    rules: ActionRules, market: TensorMarket, account: PackedAccount, action: Tensor
) -> Tensor:
    """Take the mean away from targets (N, B) of agents that are at the same bar.

    All agents of an environment begin together; one that was ruined goes on elsewhere, alone, and
    holds nothing.
    """
    row = unpack(account).row
    bar = (row.long() % market.n_bars).view(action.shape)
    together = bar == bar.median(dim=0).values
    has_bar = (market.stale_bars(row) == 0).view(action.shape)
    neutral = neutralise(action, together & has_bar, rules.neutral_gross_frac)
    return torch.where(together, neutral, 0.0)


def require_bars(world: World, first_bar: int, last_bar: int) -> None:
    """Refuse bars that are not in a world, or in another order.

    Raises:
        DataError: Saying which.
    """
    if not 0 <= first_bar < last_bar < world.n_bars:
        rule = "a task's bars must be in the world, the first before the last"
        where = f"{world.n_bars} bars, {world.label}"
        raise DataError(rule, was=f"{first_bar} … {last_bar}", where=where)
