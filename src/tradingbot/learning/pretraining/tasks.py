"""Auxiliary tasks of an encoder: their heads, and the loss of runs of bars that are drawn.

Pre-training minimises it alone; `auxiliary_loss` adds it to what a learner minimises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.learning.pretraining.config import AuxiliaryWeights
from tradingbot.learning.pretraining.loss import TaskHeads, constant_of, point_losses, relative_loss
from tradingbot.learning.pretraining.targets import Period, Targets, draw_segments
from tradingbot.networks.embedding import autocast
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.precision import Precision


class Segments(NamedTuple):
    """Runs of consecutive bars, each with the bars of the encoder's lookback before it."""

    series: Tensor
    """(S,) of the table."""
    bars: Tensor
    """(S, L) that are learned from."""
    rows: Tensor
    """(S, W − 1 + L, F) what the encoder sees."""

    def divided(self, count: int) -> list[Segments]:
        """Return the same in parts whose sizes differ by one at most."""
        parts = zip(*(each.tensor_split(count) for each in self), strict=True)
        return [Segments(*part) for part in parts]


class AuxiliaryTasks:
    """Tasks with a weight, on the bars of the training period that are learned from."""

    def __init__(
        self,
        encoder: Encoder,
        table: Tensor,
        targets: Targets,
        weights: AuxiliaryWeights,
        *,
        held_out_frac: float,
        generator: torch.Generator,
    ) -> None:
        """Prepare; the encoder is moved to the table's device.

        Args:
            encoder: Reads rows of F features.
            table: (M, T, F) what may be seen, finite; rows after the training period are not read.
            targets: Answers by task; those whose weight is 0 are left out.
            weights: Of the tasks.
            held_out_frac: Last part of the training period that is not learned from; 0: none.
            generator: Of the heads' weights, on the CPU.

        Raises:
            ConfigError: If a task with a weight has no targets.
            DataError: If shapes disagree, numbers are not finite, or bars are too few.
        """
        _check_table(encoder, table, targets)
        self.table, self.encoder = table, encoder.to(table.device)
        self.targets, self._weights = _active_targets(targets, weights), weights.active
        self.period = Period.of(
            self.targets, held_out_frac=held_out_frac, lookback_bars=encoder.lookback_bars
        )
        if not bool(torch.isfinite(table[:, : self.period.stop]).all()):
            raise DataError("the table must be finite", was="a NaN or an infinity")
        self._learned = {name: self.period.learning_mask(t) for name, t in self.targets.items()}
        self.constants = {
            name: constant_of(target, self._learned[name]) for name, target in self.targets.items()
        }
        self.heads = TaskHeads(encoder.width, self.targets, generator).to(table.device)

    def draw(self, count: int, length: int, generator: torch.Generator) -> Segments:
        """Draw S runs of L bars that are learned from; shorter where the period is shorter."""
        n_series = self.table.shape[0]
        series, bars = draw_segments(
            self.period, n_series=n_series, count=count, length=length, generator=generator
        )
        before = torch.arange(1 - self.encoder.lookback_bars, 0, device=bars.device) + bars[:, :1]
        rows = self.table[series[:, None], torch.cat([before, bars], dim=1)]
        return Segments(series, bars, rows)

    def counts(self, segments: Segments) -> dict[str, Tensor]:
        """Return how many answers () of each task count in segments."""
        place = (segments.series[:, None], segments.bars)
        return {name: learned[place].sum() for name, learned in self._learned.items()}

    def losses(
        self,
        segments: Segments,
        precision: Precision = "float32",
        counts: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Return the loss () of each task with gradients, ÷ that of the best constant answer.

        Args:
            segments: What is learned from.
            precision: Of the encoder.
            counts: () answers that losses are means over, where these segments are a part of a
                batch; their own by default.
        """
        series, bars, rows = segments
        with autocast(rows.device, precision):
            embedding = self.encoder(rows, n_last=bars.shape[1])
        answers = self.heads(embedding.float(), self.constants)
        losses, place = {}, (series[:, None], bars)
        for name, target in self.targets.items():
            points = point_losses(answers[name], target.values[place], n_classes=target.n_classes)
            count = None if counts is None else counts[name]
            learned = self._learned[name][place]
            losses[name] = relative_loss(points, learned, self.constants[name], count)
        return losses

    def weighted(self, losses: Mapping[str, Tensor]) -> Tensor:
        """Return the weighted mean () of the tasks' losses; weights are scaled to sum to 1."""
        weights, total = self._weights, sum(self._weights.values())
        return torch.stack([weights[name] / total * loss for name, loss in losses.items()]).sum()


def _active_targets(targets: Targets, weights: AuxiliaryWeights) -> Targets:
    active = weights.active
    missing = [name for name in active if name not in targets]
    if missing:
        raise ConfigError(
            "every auxiliary task with a weight must have targets",
            was=f"none for {', '.join(missing)}",
            where="AuxiliaryWeights",
            remedy=f"Compute them, or set {missing[0]} to 0",
        )
    return {name: targets[name] for name in active}


def _check_table(encoder: Encoder, table: Tensor, targets: Targets) -> None:
    if table.dim() != 3 or table.shape[-1] != encoder.n_features:
        raise DataError(f"the table must be (M, T, {encoder.n_features})", was=tuple(table.shape))
    for name, target in targets.items():
        if target.values.shape != table.shape[:2] or target.values.device != table.device:
            raise DataError(
                f"targets of {name} must have shape {tuple(table.shape[:2])} on {table.device}",
                was=f"{tuple(target.values.shape)} on {target.values.device}",
            )
