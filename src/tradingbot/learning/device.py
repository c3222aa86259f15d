"""Work on a device: steps that are recorded and replayed, and memory that does not suffice.

A gradient step is hundreds of small kernels (SAC) to tens of thousands (the direct gradient), and
starting them one by one takes longer than running them. A CUDA graph starts all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from tradingbot.domain.errors import UserError

_FIRST_CALLS = 3
"""Calls that run as they are: libraries set themselves up, and what the step creates exists."""

Made = TypeVar("Made")


class CapturedStep(Generic[Made]):
    """Calls a function, the first times as it is, from then on by replaying what it did.

    Always the same work on the same tensors, recorded once and replayed on a GPU.

    The function may read and write tensors that stay where they are, and draw from the generators
    it was captured with; nothing else that changes is seen. The tensors of its result are written
    over by the next call. Each call does the work once: neither capturing nor the first calls are
    extra. On a device without CUDA graphs every call runs the function.
    """

    def __init__(
        self,
        function: Callable[[], Made],
        generators: Sequence[torch.Generator],
        device: torch.device,
        *,
        first_calls: int = _FIRST_CALLS,
    ) -> None:
        """Keep a function; nothing runs yet. The generators live on the device.

        `first_calls`, 1 or more, run as they are before one is captured.
        """
        self._function, self._generators, self._device = function, generators, device
        self._first_calls = first_calls
        self._aside: torch.cuda.Stream | None = None
        self.forget()

    def forget(self) -> None:
        """Begin anew: to be called after tensors that the function reads were put elsewhere."""
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: Made | None = None
        self._calls = 0

    def __call__(self) -> Made:
        """Run the function once, in one way or the other."""
        if self._device.type != "cuda":
            return self._function()
        if self._calls < self._first_calls:
            self._calls += 1
            return self._run_aside()
        if self._graph is None or self._result is None:
            self._graph = self._capture()
        self._graph.replay()
        assert self._result is not None
        return self._result

    def _run_aside(self) -> Made:
        """Run on a stream of its own, as capturing will.

        It is the same one at each call, and waits for what was asked before: the memory of a result
        is not used again before its readers are done.
        """
        here = torch.cuda.current_stream(self._device)
        if self._aside is None:
            self._aside = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        self._aside.wait_stream(here)
        with torch.cuda.stream(self._aside):
            result = self._function()
        here.wait_stream(self._aside)
        return result

    def _capture(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            self._result = self._function()
        return graph


def rate_holder(device: torch.device) -> Tensor | float:
    """Return a learning rate of 0: on a GPU a tensor, which captured steps read."""
    return torch.zeros((), device=device) if device.type == "cuda" else 0.0


def set_rate(group: dict[str, Any], rate: float) -> None:
    """Set the learning rate of a group of an optimiser, in place where it is a tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate


@contextmanager
def within_memory(device: torch.device) -> Iterator[None]:
    """Say what to do where the block takes more memory than the device has.

    Raises:
        UserError: If it does.
    """
    try:
        yield
    except torch.OutOfMemoryError as e:
        rule = "training must fit into the device's memory"
        remedy = "Lower budget.n_envs or the learner's batch, or take fewer symbols"
        raise UserError(rule, was="out of memory", where=str(device), remedy=remedy) from e
