"""How a deterministic play divides capital, beside equal weight of the same sleeves.

Capital that lies in one sleeve is no sign by itself: that sleeve may earn more than all together.
So both are played over the same episodes, and what the policy earned more is compared bar by bar.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tradingbot.learning.playing import PlayResult, play
from tradingbot.learning.task import ActionSpec, Observation, Task

Act = Callable[[Observation], Tensor]


class NotedBars:
    """A policy that notes the bars at which it acts."""

    def __init__(self, act: Act) -> None:
        """Begin with none noted."""
        self._act, self._rows = act, list[Tensor]()

    def __call__(self, seen: Observation) -> Tensor:
        """Act, and note the bar."""
        self._rows.append(seen.row)
        return self._act(seen)

    @property
    def rows(self) -> Tensor:
        """(S, N, B) rows of the task's table."""
        return torch.stack(self._rows)


def equal_weight(action: ActionSpec, row: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the same weight for every sleeve and none in cash, (N, B, K)."""
    weights = torch.full((*row.shape, *action.shape), 1.0, dtype=dtype, device=row.device)
    weights[..., -1] = 0.0
    return weights / (action.n_components - 1)


def measure_division(task: Task, played: PlayResult, rows: Tensor) -> dict[str, Tensor]:
    """Measure how a play divided capital, (N,) float64 each on the CPU.

    Args:
        task: Whose actions are weights; the same episodes are played by equal weight.
        played: Of what is judged.
        rows: (S, N, B) bars at which it acted, see `NotedBars`.

    Returns:
        Nothing where actions are no weights of several sleeves.
    """
    action = task.action
    if action.kind != "simplex" or action.n_components < 3:  # one sleeve and cash: no choice
        return {}
    even = NotedBars(lambda seen: equal_weight(action, seen.row, task.table.dtype))
    beside = play(task, even, played.reward.shape[0])
    weights = played.action / played.action.sum(-1, keepdim=True).clamp_min(1e-12)
    mean = weights[..., :-1].double().mean((0, 2)).cpu()
    largest, which = mean.max(-1)
    share = mean / mean.sum(-1, keepdim=True)
    gain = (played.reward - beside.reward).double().cpu()
    same = (rows == even.rows).cpu()  # after a ruin the episodes are no longer the same
    over = [
        _per_bar(gain[:, agent][same[:, agent]], rows[:, agent].cpu()[same[:, agent]])
        for agent in range(gain.shape[1])
    ]
    more, error = torch.tensor(over, dtype=torch.float64).unbind(1)
    return {
        "eval/largest_sleeve": which.double(),
        "eval/largest_sleeve_share": largest,
        "eval/effective_sleeves": 1.0 / share.square().sum(-1),
        "eval/over_equal": more,
        "eval/over_equal_error": error,
    }


def _per_bar(gain: Tensor, rows: Tensor) -> tuple[float, float]:
    """Return mean and standard error over different bars: environments may share them."""
    bars, place = torch.unique(rows, return_inverse=True)
    if len(bars) < 2:
        return math.nan, math.nan
    count = torch.zeros(len(bars), dtype=gain.dtype).index_add_(0, place, torch.ones_like(gain))
    each = torch.zeros(len(bars), dtype=gain.dtype).index_add_(0, place, gain) / count
    return float(each.mean()), float(each.std()) / math.sqrt(len(bars))
