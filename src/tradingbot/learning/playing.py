"""Playing a task without learning, and what the play says of each agent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.task import ActionSpec, Observation, Task

_BOX_BINS = 7
_BASIS_POINTS = 1e4


class PlayResult(NamedTuple):
    """S steps of N agents in B environments each."""

    reward: Tensor
    """(S, N, B)"""
    wealth: Tensor
    """(S + 1, N, B) before each step and after the last one; after the reset where one ended."""
    action: Tensor
    """(S, N, B) codes or numbers, or (S, N, B, K) vectors."""
    executed: Tensor
    """(S, N, B) int64 codes of what was carried out."""
    traded: Tensor
    """(S, N, B) bool"""
    ended: Tensor
    """(S, N, B) bool, whether the episode ended in this step and another began: the wealth after it
    is that of the new one. Never in a backtest, where the bar of ruin counts like any other."""


@torch.no_grad()
def play(task: Task, act: Callable[[Observation], Tensor], n_steps: int) -> PlayResult:
    """Begin a task and play it; `act` is a learner's `act` or `sample`, or any rule (N, B)."""
    state, observation = task.begin()
    wealths = [task.wealth(state)]
    steps, actions = [], []
    for _ in range(n_steps):
        action = act(observation)
        made = task.step(state, action)
        state, observation = made.state, made.observation
        actions.append(action)
        steps.append((made.reward, made.executed, made.traded, made.terminated | made.truncated))
        wealths.append(task.wealth(state))
    reward, executed, traded, ended = (torch.stack(column) for column in zip(*steps, strict=True))
    ended = ended & task.resets
    return PlayResult(reward, torch.stack(wealths), torch.stack(actions), executed, traded, ended)


def score(
    played: PlayResult, action: ActionSpec, *, bars_per_year: float, n_bins: int = _BOX_BINS
) -> dict[str, Tensor]:
    """Say per agent what a play was worth; steps before a reset count for actions only.

    Args:
        played: Of deterministic actions for the figures that gates ask for.
        action: What actions are.
        bars_per_year: To annualise the Sharpe ratio.
        n_bins: Bins of equal width over [low, high]; codes have a bin each.

    Returns:
        (N,) each: `return_bp` mean simple return per bar in basis points; `sharpe` of bar returns,
        annualised, 0 where nothing varies; `trades_per_1000` steps; `entropy` of the histogram in
        [0, 1]; `lowest` and `highest` action; `histogram` (N, bins) shares.
    """
    lives = ~played.ended
    simple_return = torch.where(lives, simple_returns(played.wealth), 0.0).double()
    count = lives.sum((0, 2)).clamp_min(1)
    mean = simple_return.sum((0, 2)) / count
    square = torch.where(lives, (simple_return - mean[None, :, None]).square(), 0.0)
    deviation = (square.sum((0, 2)) / count).sqrt()
    sharpe = mean / deviation.clamp_min(1e-300) * math.sqrt(bars_per_year)
    histogram = action_histogram(played.action, action, n_bins)
    return {
        "return_bp": mean * _BASIS_POINTS,
        "sharpe": torch.where(deviation > 0.0, sharpe, 0.0),
        "trades_per_1000": played.traded.double().mean((0, 2)) * 1_000.0,
        "entropy": histogram_entropy(histogram),
        "lowest": played.action.flatten(2).amin((0, 2)).double(),
        "highest": played.action.flatten(2).amax((0, 2)).double(),
        "histogram": histogram,
    }


def simple_returns(wealth: Tensor) -> Tensor:
    """Return the change of wealth (S + 1, …) per step, (S, …); 0 where nothing is left to lose."""
    before, after = wealth[:-1], wealth[1:]
    return torch.where(before > 0.0, after / before - 1.0, 0.0)


def bins_of(actions: Tensor, action: ActionSpec, n_bins: int) -> Tensor:
    """Return the bin (…,) int64 of actions (…,); what is not a number falls in the first.

    Codes have a bin each; numbers have `n_bins` of equal width over [low, high].
    """
    if action.kind == "discrete":
        return actions.long()
    place = (actions - action.low) / (action.high - action.low) * n_bins
    return place.nan_to_num(0.0).clamp(0, n_bins - 1).long()


def count_actions(actions: Tensor, action: ActionSpec, n_bins: int = _BOX_BINS) -> Tensor:
    """Count actions (S, N, B) or (S, N, B, K) in their bins, (N, bins) float64.

    Components of a vector count like environments.
    """
    actions, n_bins = actions.flatten(2), action.n_actions or n_bins
    n_agents = actions.shape[1]
    agent = torch.arange(n_agents, device=actions.device)[None, :, None]
    places = (bins_of(actions, action, n_bins) + agent * n_bins).reshape(-1)
    # Counted by adding ones: bincount is not deterministic on a GPU, and asks the host for a size.
    counts = torch.zeros(n_agents * n_bins, dtype=torch.int64, device=actions.device)
    counts.index_add_(0, places, torch.ones_like(places))
    return counts.view(n_agents, n_bins).double()


def action_histogram(actions: Tensor, action: ActionSpec, n_bins: int = _BOX_BINS) -> Tensor:
    """Return the share of each bin, (N, bins), of what `count_actions` counts."""
    counted = actions.flatten(2)
    return count_actions(actions, action, n_bins) / (counted.shape[0] * counted.shape[2])


def histogram_entropy(histogram: Tensor) -> Tensor:
    """Return entropy ÷ ln(bins) of shares (…, bins): 0 for one bin only, 1 for all alike."""
    # 0 is added so that one bin only is 0, not −0.
    return 0.0 - torch.xlogy(histogram, histogram).sum(-1) / math.log(histogram.shape[-1])
