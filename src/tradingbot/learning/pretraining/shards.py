"""The gradient of a batch in parts: by turns in this process, or side by side by workers.

A part is a function of weights, its segments and how many answers the whole batch has: it does not
matter where it is computed, or how often. Parts are added in their order, so that the sum has the
same bits for one worker and for many. Beside the gradient of the undivided batch it differs by
rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from tradingbot.executors.executor import Executor, Progress, Work, WorkItem
from tradingbot.executors.workers import are_elsewhere, news_of_workers, start_workers
from tradingbot.learning.pretraining.tasks import AuxiliaryTasks, Segments
from tradingbot.networks.precision import Precision


class ShardGradient(NamedTuple):
    """What a part of a batch adds."""

    gradients: list[Tensor]
    """By parameter, in the order of the module."""
    losses: dict[str, Tensor]
    """() of each task; parts add up to the loss of the batch."""


class Shards(Protocol):
    """Computes the gradients of parts."""

    def gradients(
        self, parts: Sequence[Segments], counts: Mapping[str, Tensor]
    ) -> list[ShardGradient]:
        """Return the gradient of each part at the present weights.

        Args:
            parts: Of a batch.
            counts: () answers that count in the whole batch, by task.
        """


@dataclass(frozen=True, eq=False)
class LocalShards:
    """Parts by turns in this process."""

    tasks: AuxiliaryTasks
    learning: nn.Module
    """Encoder and heads."""
    precision: Precision = "float32"

    def gradients(
        self, parts: Sequence[Segments], counts: Mapping[str, Tensor]
    ) -> list[ShardGradient]:
        """Compute one after the other."""
        return [self.gradient(part, counts) for part in parts]

    def gradient(self, part: Segments, counts: Mapping[str, Tensor]) -> ShardGradient:
        """Compute one."""
        self.learning.train()
        losses = self.tasks.losses(part, self.precision, counts)
        weights = list(self.learning.parameters())
        found = torch.autograd.grad(self.tasks.weighted(losses), weights, allow_unused=True)
        pairs = zip(found, weights, strict=True)
        gradients = [torch.zeros_like(at) if each is None else each for each, at in pairs]
        return ShardGradient(gradients, {name: loss.detach() for name, loss in losses.items()})


class RemoteShards:
    """Parts by workers; one that dies is replaced, and its part computed again to the same bits."""

    def __init__(self, local: LocalShards, executor: Executor) -> None:
        """Take weights from `local`, and hand parts to workers that were opened from it."""
        self._local, self._executor = local, executor
        self._asked, self._tell = 0, news_of_workers()

    def gradients(
        self, parts: Sequence[Segments], counts: Mapping[str, Tensor]
    ) -> list[ShardGradient]:
        """Compute all at once, as far as there are workers.

        Raises:
            UserError: If a part was lost with its worker too often.
        """
        weights = [each.detach().numpy() for each in self._local.learning.parameters()]
        totals = {name: count.numpy() for name, count in counts.items()}
        for number, part in enumerate(parts):
            arrays = [each.numpy() for each in part]
            name = f"gradient {self._asked} of part {number}"
            self._executor.submit(WorkItem(name, (number, weights, arrays, totals)))
        self._asked += 1
        found: dict[int, ShardGradient] = {}
        for _ in parts:
            outcome = self._executor.wait(self._tell)
            gradients, losses = outcome.result()
            number = outcome.item.payload[0]
            found[number] = ShardGradient(
                [torch.from_numpy(each) for each in gradients],
                {name: torch.from_numpy(loss) for name, loss in losses.items()},
            )
        return [found[number] for number in range(len(parts))]


@contextmanager
def open_shards(local: LocalShards, count: int) -> Iterator[Shards]:
    """Compute parts where the command's workers are, if they are elsewhere; else by turns here.

    Args:
        local: The tasks on a table; workers get a copy, which comes to a node once.
        count: Workers at most.
    """
    device = local.tasks.table.device.type
    if count > 1 and are_elsewhere() and device != "cpu":
        news_of_workers()(0, 0, f"parts of the gradient are computed here, on {device}")
    if count == 1 or not are_elsewhere() or device != "cpu":
        yield local
        return
    with start_workers(partial(_open_gradients, local), count) as executor:
        yield RemoteShards(local, executor)


def _open_gradients(local: LocalShards) -> Work:
    """Return what computes parts in a worker, which has one torch thread."""
    torch.set_num_threads(1)

    def compute(payload: Any, _: Progress) -> Any:
        _number, weights, arrays, totals = payload
        with torch.no_grad():
            for own, given in zip(local.learning.parameters(), weights, strict=True):
                own.copy_(_tensor(given))
        part = Segments(*(_tensor(each) for each in arrays))
        counts = {name: _tensor(total) for name, total in totals.items()}
        made = local.gradient(part, counts)
        gradients = [each.numpy() for each in made.gradients]
        return gradients, {name: loss.numpy() for name, loss in made.losses.items()}

    return compute


def _tensor(array: Any) -> Tensor:
    return torch.from_numpy(array.copy())  # what a cluster hands out is read only


def add_up(found: Sequence[ShardGradient], learning: nn.Module) -> dict[str, Tensor]:
    """Give parameters the sum of all parts' gradients, in their order; return the tasks' losses."""
    for place, parameter in enumerate(learning.parameters()):
        total = found[0].gradients[place].clone()
        for each in found[1:]:
            total += each.gradients[place]
        parameter.grad = total
    return {
        name: torch.stack([each.losses[name] for each in found]).sum() for name in found[0].losses
    }
