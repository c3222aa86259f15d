"""Trains an encoder on auxiliary tasks, so that its embedding holds what policies will need.

Whole runs of bars go through the encoder at once. The last part of the training period is held out
to choose the weights and to stop; validation and test periods are never touched. Afterwards the
heads are thrown away.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Metrics
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.pretraining.config import PretrainingConfig
from tradingbot.learning.pretraining.loss import TaskHeads, constant_of, point_losses, relative_loss
from tradingbot.learning.pretraining.scores import score_task
from tradingbot.learning.pretraining.targets import Period, Targets, draw_segments
from tradingbot.networks.embedding import autocast, embed_table, weights_hash
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
        _check_table(encoder, table, targets)
        self.table, self.config, self.encoder = table, config, encoder.to(table.device)
        self.targets = _active_targets(targets, config)
        self.period = Period.of(
            self.targets, held_out_frac=config.held_out_frac, lookback_bars=encoder.lookback_bars
        )
        if not bool(torch.isfinite(table[:, : self.period.stop]).all()):
            raise DataError("the table must be finite", was="a NaN or an infinity")
        self._learned = {name: self.period.learning_mask(t) for name, t in self.targets.items()}
        self._constants = {
            name: constant_of(target, self._learned[name]) for name, target in self.targets.items()
        }
        drawn = make_generator(seed, "pretraining", "heads")
        self.heads = TaskHeads(encoder.width, self.targets, drawn).to(table.device)
        self._segments, self._noise = (
            make_generator(seed, "pretraining", name, device=table.device)
            for name in ("segments", "noise")
        )
        self._learning = nn.ModuleDict({"encoder": self.encoder, "heads": self.heads})
        self._best = copy.deepcopy(self._learning)
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
        losses = self._segment_losses()
        total = self._weighted(losses)
        self._optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
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
            constant, blocks = self._constants[name], self.config.score_blocks
            mask = period.scoring_mask(target)
            scores = score_task(answers[name], values, mask, constant, blocks)
            losses[name] = 1.0 - scores["skill"]
            metrics |= {f"pretrain/held_out/{name}/{key}": score for key, score in scores.items()}
        metrics["pretrain/held_out/loss"] = self._weighted(losses)
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
        answers: dict[str, Tensor] = self.heads(embedding[:, first_bar - begin :], self._constants)
        return answers

    @property
    def _precision(self) -> Precision:
        return "bfloat16" if self.config.mixed_precision else "float32"

    def _segment_losses(self) -> dict[str, Tensor]:
        n_series, count = self.table.shape[0], self.config.segments
        of, length = self._segments, self.config.segment_bars
        series, bars = draw_segments(
            self.period, n_series=n_series, count=count, length=length, generator=of
        )
        warm_up = self.encoder.lookback_bars - 1
        before = torch.arange(-warm_up, 0, device=bars.device) + bars[:, :1]
        rows = self.table[series[:, None], torch.cat([before, bars], dim=1)]
        if self.config.input_noise:
            noise = torch.randn(rows.shape, generator=self._noise, device=rows.device)
            rows = rows + self.config.input_noise * noise
        with autocast(rows.device, self._precision):
            embedding = self.encoder(rows, n_last=bars.shape[1])
        answers = self.heads(embedding.float(), self._constants)
        losses = {}
        for name, target in self.targets.items():
            place = (series[:, None], bars)
            points = point_losses(answers[name], target.values[place], n_classes=target.n_classes)
            losses[name] = relative_loss(points, self._learned[name][place], self._constants[name])
        return losses

    def _weighted(self, losses: Mapping[str, Tensor]) -> Tensor:
        weights = self.config.weights.active
        total = sum(weights.values())
        return torch.stack([weights[name] / total * loss for name, loss in losses.items()]).sum()

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


def _active_targets(targets: Targets, config: PretrainingConfig) -> Targets:
    active = config.weights.active
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
