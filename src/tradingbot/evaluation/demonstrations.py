"""A rule as a teacher: an expert in the task of learners, or its actions as classes to learn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.baselines.expert import Expert
from tradingbot.agents.policy import Policy, PolicyInputs, apply_no_trade_band
from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.batch.observation import rows_of
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask
from tradingbot.envs.world import World
from tradingbot.learning.task import Observation
from tradingbot.market.private_features import PRIVATE_FEATURES

_SIZE = "size"


def demonstrator(task: PopulationTask, policy: Policy) -> Callable[[Observation], Tensor]:
    """Return an expert (N, B) for behaviour cloning.

    A rule asks for a position. Target actions are that position. Numbers say which share of the
    room to buy, or of the position to sell; codes are the BUY_* of the nearest size (ADD_POSITION
    where something is held), SELL_ALL (SELL_PARTIAL if the rule keeps some) or HOLD, and HOLD where
    that code is forbidden.

    Args:
        task: Where it acts; the position must be among what agents see of themselves.
        policy: Reads features, regimes and what the task shows; all else it sees as 0.

    Raises:
        ConfigError: If the task does not show the position.
    """
    if _SIZE not in task.private_names:
        rule = "the task must show the position to a rule"
        raise ConfigError(rule, was=", ".join(task.private_names), remedy=f"Show {_SIZE!r} too")
    n_features = len(task.world.feature_names)
    n_regimes = len(task.world.regime_names)
    flat = task.table.reshape(-1, task.table.shape[-1])
    places = torch.tensor([PRIVATE_NAMES.index(name) for name in task.private_names])
    places = places.to(flat.device)
    space = task.config.rules.action.space

    def act(observation: Observation) -> Tensor:
        row = observation.row.reshape(-1)
        seen = flat.index_select(0, row)
        private = seen.new_zeros(len(PRIVATE_NAMES), len(row))
        private[places] = observation.private.reshape(len(row), -1).T
        features, regimes = seen[:, :n_features], seen[:, n_features : n_features + n_regimes]
        wanted = policy(PolicyInputs(row, features, regimes, private)).view(observation.row.shape)
        if space == "target":
            return wanted.clamp(task.action.low, task.action.high)
        held = private[PRIVATE_NAMES.index(_SIZE)].view(observation.row.shape)
        wanted = apply_no_trade_band(
            wanted, held
        )  # a direction has no size: drift must not sell all
        if space == "continuous":
            return _numbers(wanted, held, task.config.rules.action.hold_zone)
        entries = torch.tensor(task.config.rules.action.entry_fracs, device=held.device)
        return _codes(wanted, held, observation.allowed, entries)

    return act


def _numbers(wanted: Tensor, held: Tensor, hold_zone: float) -> Tensor:
    """Return continuous actions, beyond the hold zone, that lead from one position to another.

    A position of the other sign is left first.
    """
    leaves = (wanted - held) * held < 0.0
    room = torch.where(leaves, held.abs(), (1.0 - held.abs()).clamp_min(0.0))
    share = ((wanted - held).abs() / room.clamp_min(1e-6)).clamp(0.0, 1.0)
    return torch.sign(wanted - held) * (hold_zone + (1.0 - hold_zone) * share)


def _codes(wanted: Tensor, held: Tensor, allowed: Tensor, entries: Tensor) -> Tensor:
    nearest = (wanted[..., None] - entries.to(wanted.dtype)).abs().argmin(-1)
    buy = torch.where(held > 0.0, int(Action.ADD_POSITION), int(Action.BUY_SMALL) + nearest)
    sell = torch.where(wanted > 0.0, int(Action.SELL_PARTIAL), int(Action.SELL_ALL))
    hold = torch.full_like(buy, int(Action.HOLD))
    code = torch.where(wanted > held, buy, torch.where(wanted < held, sell, hold))
    possible = allowed.gather(-1, code[..., None]).squeeze(-1)
    return torch.where(possible, code, hold)


_NAMES = tuple(feature.name for feature in PRIVATE_FEATURES)


def expert_actions(world: World, policy: Policy) -> NDArray[np.int64]:
    """Follow a rule through every symbol of a world, from the first bar to the last.

    Positions begin flat and become what was asked for, at once and without costs; of its account
    a rule sees the position only, all else is 0. Action t needs nothing after bar t.

    Returns:
        (N, T) 0 sell, 1 hold, 2 buy at the close of bar t: `envs.auxiliary.EXPERT_ACTIONS`.
    """
    if isinstance(policy, Expert):
        positions = np.pad(policy.positions(world.n_symbols), ((0, 0), (1, 0)))
        return np.asarray(1 + np.sign(np.diff(positions)).astype(np.int64))
    features, regimes = rows_of(world.features), rows_of(world.regimes)
    first_row = torch.arange(world.n_symbols) * world.n_bars
    actions = torch.ones(world.n_symbols, world.n_bars, dtype=torch.int64)
    private = torch.zeros(len(_NAMES), world.n_symbols, dtype=features.dtype)
    for bar in range(world.n_bars):
        row = first_row + bar
        held = private[_NAMES.index("size")]
        target = policy(PolicyInputs(row, features[row], regimes[row], private))
        actions[:, bar] += (target > held).long() - (target < held).long()
        private = private.clone()
        private[_NAMES.index("size")] = target
    return actions.numpy()
