"""Auxiliary tasks beside what a learner learns, while its encoder learns with the agents."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.pretraining.config import AuxiliaryLossConfig
from tradingbot.learning.pretraining.targets import Targets
from tradingbot.learning.pretraining.tasks import AuxiliaryTasks
from tradingbot.networks.encoders.encoder import Encoder


class AuxiliaryLoss(Resumable):
    """A loss that learners add to their own; its heads are learned with their optimiser.

    Heads are no part of the networks that act: checkpoints hold them to resume alone.
    """

    _STATE = name_parts("_tasks.heads", "generator")

    def __init__(
        self,
        encoder: Encoder,
        table: Tensor,
        targets: Targets,
        config: AuxiliaryLossConfig,
        *,
        seed: int,
    ) -> None:
        """Prepare; see `AuxiliaryTasks`. All of the training period is learned from.

        Args:
            encoder: The one that the learner's view learns.
            table: (M, T, F) what it reads.
            targets: Answers by task.
            config: Weight, tasks, and the runs of bars of a step.
            seed: Root of the streams `heads` and `segments`.
        """
        heads = make_generator(seed, "auxiliary", "heads")
        self._tasks = AuxiliaryTasks(
            encoder, table, targets, config.tasks, held_out_frac=0.0, generator=heads
        )
        self._config = config
        self.generator = make_generator(seed, "auxiliary", "segments", device=table.device)
        """Draws the bars of the next step."""
        self._sums = torch.zeros(len(self._tasks.targets) + 1, device=table.device)

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield the weights of the heads, for the learner's optimiser."""
        return self._tasks.heads.parameters()

    def draw(self) -> Tensor:
        """Return the weighted loss () of bars that are drawn anew, with gradients."""
        config = self._config
        segments = self._tasks.draw(config.segments, config.segment_bars, self.generator)
        losses = self._tasks.losses(segments)
        counted = [*(loss.detach() for loss in losses.values()), self._sums.new_ones(())]
        self._sums.add_(torch.stack(counted))
        return config.weight * self._tasks.weighted(losses)

    def take_metrics(self) -> Metrics:
        """Return the mean loss () of each task since the last call, ÷ that of a constant answer."""
        means = self._sums[:-1] / self._sums[-1].clamp_min(1.0)
        self._sums.zero_()
        names = self._tasks.targets
        return {f"loss/auxiliary/{name}": mean for name, mean in zip(names, means, strict=True)}
