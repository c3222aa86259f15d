"""A step that is always the same work on the same tensors, recorded once and replayed on a GPU.

A gradient step is some three hundred small kernels, and starting them one by one takes longer than
running them. A CUDA graph starts all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_FIRST_CALLS = 3
"""Calls that run as they are: libraries set themselves up, and what the step creates exists."""


class CapturedStep:
    """Calls a function, the first times as it is, from then on by replaying what it did.

    The function may read and write tensors that stay where they are, and draw from the generators
    it was captured with; nothing else that changes is seen. Its result is written over by the next
    call. Each call does the work once: neither capturing nor the first calls are extra.
    """

    def __init__(
        self,
        function: Callable[[], Tensor],
        generators: Sequence[torch.Generator],
        device: torch.device,
    ) -> None:
        """Keep a function; nothing runs yet. The generators live on the device, a CUDA one."""
        self._function, self._generators, self._device = function, generators, device
        self.forget()

    def forget(self) -> None:
        """Begin anew: to be called after tensors that the function reads were put elsewhere."""
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: Tensor | None = None
        self._calls = 0

    def __call__(self) -> Tensor:
        """Run the function once, in one way or the other."""
        if self._calls < _FIRST_CALLS:
            self._calls += 1
            return self._run_aside()
        if self._graph is None or self._result is None:
            self._graph = self._capture()
        self._graph.replay()
        assert self._result is not None
        return self._result

    def _run_aside(self) -> Tensor:
        """Run on a stream of its own, as capturing will."""
        here = torch.cuda.current_stream(self._device)
        aside = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            result = self._function()
        here.wait_stream(aside)
        result.record_stream(here)
        return result

    def _capture(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            self._result = self._function()
        return graph
