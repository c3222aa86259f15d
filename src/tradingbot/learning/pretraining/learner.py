"""Trains an encoder on auxiliary tasks, so that its embedding holds what policies will need.

Whole runs of bars go through the encoder at once. The last part of the training period is held out
to choose the weights and to stop; validation and test periods are never touched. Afterwards the
heads are thrown away.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import ExitStack

import torch
from torch import Tensor, nn

from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.pretraining.config import PretrainingConfig
from tradingbot.learning.pretraining.scores import score_task
from tradingbot.learning.pretraining.shards import LocalShards, Shards, add_up, open_shards
from tradingbot.learning.pretraining.targets import Targets
from tradingbot.learning.pretraining.tasks import AuxiliaryTasks, Segments
from tradingbot.networks.embedding import embed_table, weights_hash
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.precision import Precision


class Pretrainer(Resumable):
    """Learns auxiliary tasks; the same seed, table and targets give the same bits on a CPU."""

    _STATE = name_parts(
        *("_learning", "_best", "_optimiser", "_segments", "_noise"),
        *("updates", "_best_loss", "_best_update", "_stale_looks"),
    )

    def __init__(
        self,
        encoder: Encoder,
        table: Tensor,
        targets: Targets,
        config: PretrainingConfig,
        *,
        seed: int,
    ) -> None:
        """Prepare; the encoder is trained in place and moved to the table's device.

        Args:
            encoder: Reads rows of F features.
            table: (M, T, F) what may be seen, finite; rows after the training period are not read.
            targets: Answers by task; those whose weight is 0 are left out.
            config: Weights, pace, end.
            seed: Root of the streams `heads`, `segments` and `noise`.

        Raises:
            ConfigError: If a task with a weight has no targets.
            DataError: If shapes disagree, numbers are not finite, or bars are too few.
        """
        self.table, self.config = table, config
        self._tasks = AuxiliaryTasks(
            encoder,
            table,
            targets,
            config.weights,
            held_out_frac=config.held_out_frac,
            generator=make_generator(seed, "pretraining", "heads"),
        )
        self.encoder, self.heads = self._tasks.encoder, self._tasks.heads
        self.targets, self.period = self._tasks.targets, self._tasks.period
        self._segments, self._noise = (
            make_generator(seed, "pretraining", name, device=table.device)
            for name in ("segments", "noise")
        )
        self._learning = nn.ModuleDict({"encoder": self.encoder, "heads": self.heads})
        self._best = copy.deepcopy(self._learning)
        self._local = LocalShards(self._tasks, self._learning, self._precision)
        self._shards: Shards = self._local
        self._optimiser = torch.optim.AdamW(
            self._learning.parameters(), lr=0.0, weight_decay=config.weight_decay
        )
        self.updates = 0
        self._best_loss, self._best_update, self._stale_looks = math.inf, 0, 0

    @property
    def finished(self) -> bool:
        """Whether all updates were made, or the held-out loss did not get better for too long."""
        is_stale = self._stale_looks >= self.config.patience
        return is_stale or self.updates >= self.config.updates

    def update(self) -> Metrics:
        """Learn from one batch of segments; look at the held-out part when it is time to."""
        config = self.config
        rate = learning_rate_at(config, self.updates)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._learning.train()
        self._optimiser.zero_grad(set_to_none=True)
        losses, total = self._backward(self._draw())
        norm = nn.utils.clip_grad_norm_(self._learning.parameters(), config.max_gradient_norm)
        self._optimiser.step()
        self.updates += 1
        metrics = {f"pretrain/train/{name}/loss": loss.detach() for name, loss in losses.items()}
        metrics["pretrain/train/loss"] = total.detach()
        metrics["pretrain/gradient_norm"] = norm.detach()
        metrics["pretrain/learning_rate"] = torch.tensor(rate)
        if self.updates % config.evaluate_every == 0 or self.updates == config.updates:
            metrics |= self._check_held_out()
        return metrics

    def complete(
        self,
        report: Callable[[int, Metrics], None] | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> str | None:
        """Update until it is finished, then take the best weights; return the encoder's hash.

        Args:
            report: Told (updates so far, metrics) after every update.
            interrupted: Asked before every update; true ends it where it is, without a hash.
        """
        with ExitStack() as stack:
            self._shards = stack.enter_context(open_shards(self._local, self.config.shards))
            stack.callback(setattr, self, "_shards", self._local)
            while not self.finished:
                if interrupted():
                    return None
                metrics = self.update()
                if report is not None:
                    report(self.updates, metrics)
        return self.take_best()

    def take_best(self) -> str:
        """Give the encoder the weights of the best look so far; return their hash."""
        self._learning.load_state_dict(self._best.state_dict())
        return weights_hash(self.encoder)

    @torch.no_grad()
    def evaluate(self) -> Metrics:
        """Score every task on the held-out part."""
        period, metrics, losses = self.period, Metrics(), {}
        answers = self.answers(period.held_out, period.stop)
        for name, target in self.targets.items():
            values = target.values[:, period.held_out : period.stop]
            constant, blocks = self._tasks.constants[name], self.config.score_blocks
            mask = period.scoring_mask(target)
            scores = score_task(answers[name], values, mask, constant, blocks)
            losses[name] = 1.0 - scores["skill"]
            metrics |= {f"pretrain/held_out/{name}/{key}": score for key, score in scores.items()}
        metrics["pretrain/held_out/loss"] = self._tasks.weighted(losses)
        return metrics

    @torch.no_grad()
    def answers(self, first_bar: int, stop_bar: int) -> dict[str, Tensor]:
        """Return what the heads answer at bars first … stop − 1: (M, bars) or logits (M, bars, C).

        For bars of any period; nothing is learned.
        """
        self._learning.eval()
        begin = max(0, first_bar - self.encoder.lookback_bars + 1)
        rows = self.table[:, begin:stop_bar]
        embedding = embed_table(self.encoder, rows, precision=self._precision)
        answers: dict[str, Tensor] = self.heads(
            embedding[:, first_bar - begin :], self._tasks.constants
        )
        return answers

    @property
    def _precision(self) -> Precision:
        return "bfloat16" if self.config.mixed_precision else "float32"

    def _backward(self, segments: Segments) -> tuple[dict[str, Tensor], Tensor]:
        """Leave the gradient in the parameters; return the tasks' losses, and the weighted mean."""
        if self.config.shards == 1:
            losses = self._tasks.losses(segments, self._precision)
            total = self._tasks.weighted(losses)
            total.backward()  # type: ignore[no-untyped-call]
            return losses, total
        parts, counts = segments.divided(self.config.shards), self._tasks.counts(segments)
        losses = add_up(self._shards.gradients(parts, counts), self._learning)
        return losses, self._tasks.weighted(losses)

    def _draw(self) -> Segments:
        config = self.config
        segments = self._tasks.draw(config.segments, config.segment_bars, self._segments)
        if config.input_noise:
            rows = segments.rows
            noise = torch.randn(rows.shape, generator=self._noise, device=rows.device)
            segments = segments._replace(rows=rows + config.input_noise * noise)
        return segments

    def _check_held_out(self) -> Metrics:
        metrics = self.evaluate()
        loss = float(metrics["pretrain/held_out/loss"])  # the one host sync, at looks only
        if loss < self._best_loss:
            self._best_loss, self._best_update = loss, self.updates
            self._stale_looks = 0
            self._best.load_state_dict(self._learning.state_dict())
        else:  # a loss that is not a number is never better
            self._stale_looks += 1
        metrics["pretrain/best_loss"] = torch.tensor(self._best_loss)
        metrics["pretrain/best_update"] = torch.tensor(self._best_update)
        metrics["pretrain/stale_looks"] = torch.tensor(self._stale_looks)
        return metrics


def learning_rate_at(config: PretrainingConfig, update: int) -> float:
    """Return the rate of an update: rising from near 0, then a cosine to 0."""
    warm_up = min(config.warm_up_updates, config.updates - 1)
    if update < warm_up:
        return config.learning_rate * (update + 1) / (warm_up + 1)
    progress = (update - warm_up) / (config.updates - warm_up)
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))
