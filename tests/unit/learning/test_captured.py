"""A captured step does the work of every call once, and draws what it would have drawn."""

from __future__ import annotations

import pytest
import torch

from tradingbot.learning.device import CapturedStep

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="CUDA graphs need a CUDA device"
)


def test_calls_are_those_of_the_function_also_after_forgetting() -> None:
    device = torch.device("cuda")
    sums = []
    for captured in (True, False):
        draws = torch.Generator(device).manual_seed(7)
        total = torch.zeros(4, device=device)

        def step(draws: torch.Generator = draws, total: torch.Tensor = total) -> torch.Tensor:
            total.add_(torch.rand(4, generator=draws, device=device))
            return total * 2.0

        call = CapturedStep(step, [draws], device) if captured else step
        made = [call().clone() for _ in range(6)]
        if isinstance(call, CapturedStep):
            call.forget()
        made += [call().clone() for _ in range(6)]
        sums.append(torch.stack(made))

    assert torch.equal(*sums)
