"""Perturbations of weights, drawn from a seed each: they are never stored, but drawn again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]
"""Name of a parameter → its values; of M members (M, …)."""
_SEEDS = 2**62


def draw_seeds(count: int, generator: torch.Generator) -> list[int]:
    """Draw seeds of perturbations from a CPU generator."""
    seeds: list[int] = torch.randint(_SEEDS, (count,), generator=generator).tolist()
    return seeds


def perturbation(seed: int, weights: Weights) -> Iterator[tuple[str, Tensor]]:
    """Draw numbers of deviation 1 for every weight, in order of the parameters."""
    device = next(iter(weights.values())).device
    generator = torch.Generator(device).manual_seed(seed)
    for name, weight in weights.items():
        yield name, torch.randn(weight.shape, generator=generator, device=device)


def mirrored_members(weights: Weights, scales: Weights, seeds: list[int]) -> dict[str, Tensor]:
    """Return the weights of two members per seed, (2 · seeds, …) each: + and − its perturbation.

    Args:
        weights: Of the mean.
        scales: Deviation of each weight, shaped to be broadcast.
        seeds: One per pair.
    """
    made = {
        name: weight.new_empty(2 * len(seeds), *weight.shape) for name, weight in weights.items()
    }
    for pair, seed in enumerate(seeds):
        for name, noise in perturbation(seed, weights):
            noise.mul_(scales[name])
            torch.add(weights[name], noise, out=made[name][2 * pair])
            torch.sub(weights[name], noise, out=made[name][2 * pair + 1])
    return made
