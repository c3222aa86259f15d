"""Generators of random tensors: one per named stream of the root seed, on the device that uses it.

Their states are tensors, so that a resumed run draws what the run that never stopped would draw.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream

_SEEDS = 2**62


def make_generator(
    seed: int, *names: str | int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return the generator of a named stream.

    Example:
        >>> draw = lambda name: torch.rand(1, generator=make_generator(7, "ppo", name)).item()
        >>> draw("policy") == draw("policy"), draw("policy") == draw("shuffle")
        (True, False)
    """
    generator = torch.Generator(device=device)
    return generator.manual_seed(int(stream(seed, *names).integers(_SEEDS)))


def begin_another(generator: torch.Generator, number: int) -> None:
    """Let a generator draw another stream: the one of this number after its own first seed.

    Reproducible: a resumed run that comes here again draws the same.
    """
    seed = stream(generator.initial_seed(), "another", number).integers(_SEEDS)
    generator.manual_seed(int(seed))


def generator_state(generator: torch.Generator) -> Tensor:
    """Return where a generator stands, as uint8 on the CPU; its length depends on the device."""
    return generator.get_state().clone()


def set_generator_state(generator: torch.Generator, state: Tensor) -> None:
    """Put a generator where another of its device stood.

    Raises:
        ConfigError: If the state is not one of this kind of device.
    """
    expected = generator.get_state()
    if state.dtype != torch.uint8 or state.shape != expected.shape:
        rule = f"a generator state must be uint8 of shape {tuple(expected.shape)}"
        remedy = f"Resume on the kind of device it was made on, not on {generator.device.type}"
        raise ConfigError(rule, was=f"{state.dtype} of shape {tuple(state.shape)}", remedy=remedy)
    generator.set_state(state.cpu())
