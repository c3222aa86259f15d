"""How options are used in one update: shares, availability, durations, success."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tradingbot.learning.learner import Metrics
from tradingbot.learning.task import Observation, TaskStep
from tradingbot.networks.options import OptionRun, Options


class OptionUsage:
    """Counts of N agents, (N, O) each; nothing leaves the device."""

    def __init__(self, names: tuple[str, ...], n_agents: int, device: torch.device) -> None:
        """Begin with nothing counted."""
        self._names = names
        zeros = torch.zeros(n_agents, len(names), dtype=torch.float64, device=device)
        self._steps, self._available, self._ended, self._succeeded, self._bars = (
            zeros.clone() for _ in range(5)
        )
        self._n_steps = 0

    def count(
        self, options: Options, seen: Observation, made: TaskStep, run: OptionRun, ended: Tensor
    ) -> None:
        """Count one step of all environments, and the options that ended by it."""
        followed = functional.one_hot(run.option, len(self._names)).double()
        self._steps += followed.sum(1)
        self._available += options.available(seen.row, seen.private).double().sum(1)
        over = followed * ended[..., None]
        aims = options.succeeds(made.final_row, made.final_private, run)
        self._ended += over.sum(1)
        self._succeeded += (over * aims[..., None]).sum(1)
        self._bars += (over * run.elapsed[..., None]).sum(1)
        self._n_steps += seen.row.shape[1]

    def metrics(self) -> Metrics:
        """Return what docs/algorithms/hierarchical_sac.md explains, (N,) each."""
        share = self._steps / max(self._n_steps, 1)
        count = self._ended.sum(1).clamp_min(1.0)
        largest, which = share.max(1)
        metrics: Metrics = {
            "options/duration": self._bars.sum(1) / count,
            "options/success": self._succeeded.sum(1) / count,
            "options/largest": which.double(),
            "options/largest_share": largest,
            "options/smallest_share": share.amin(1),
        }
        success = self._succeeded / self._ended.clamp_min(1.0)
        available = self._available / max(self._n_steps, 1)
        for place, name in enumerate(self._names):
            metrics[f"options/{name}_share"] = share[:, place]
            metrics[f"options/{name}_chosen"] = self._ended[:, place] / count
            metrics[f"options/{name}_available"] = available[:, place]
            metrics[f"options/{name}_success"] = success[:, place]
        return {name: each.float() for name, each in metrics.items()}
