"""From an actor's outputs to a distribution of actions, for every kind of action.

Numbers take two outputs each, a mean and a raw deviation: all means first, then all deviations. K
weights on a simplex take those of K − 1 numbers.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tradingbot.learning.task import ActionSpec
from tradingbot.networks.distributions import (
    MaskedCategorical,
    SimplexGaussian,
    SquashedGaussian,
    VectorGaussian,
)
from tradingbot.networks.levels import round_to_levels, round_weights

Policy = MaskedCategorical | SquashedGaussian | VectorGaussian | SimplexGaussian


def n_numbers(action: ActionSpec) -> int:
    """Return how many numbers are drawn for an action that is no code."""
    return max(action.n_components, 1) - (action.kind == "simplex")


def n_policy_outputs(action: ActionSpec) -> int:
    """Return the outputs that an actor needs to draw actions: A codes, or two per number."""
    return action.n_actions or 2 * n_numbers(action)


def policy_of(action: ActionSpec, output: Tensor, allowed: Tensor) -> Policy:
    """Return the distribution of actions.

    Args:
        action: What actions are.
        output: (N, M, O) of an actor.
        allowed: (N, M, A) bool, codes that may be chosen; not read for numbers.
    """
    if action.n_actions:
        return MaskedCategorical.of(output, allowed)
    if not action.n_components:
        mean, raw = output.unbind(-1)
        return SquashedGaussian.of(mean, raw, action.low, action.high)
    mean, raw = output.chunk(2, dim=-1)
    if action.kind == "simplex":
        return SimplexGaussian.of(mean, raw)
    return VectorGaussian(SquashedGaussian.of(mean, raw, action.low, action.high))


def entropy_of(policy: Policy, generator: torch.Generator) -> Tensor:
    """Return entropies (N, M) in nats, with gradients; of numbers an unbiased estimate."""
    if isinstance(policy, MaskedCategorical):
        return policy.entropy()
    return policy.entropy(generator)


def normalise_entropy(action: ActionSpec, entropy: Tensor) -> Tensor:
    """Put mean entropies (N,) in nats on the scale from 0 (decided) to 1 (uniform).

    Of vectors, the geometric mean over the components: a share of the range, or of the simplex,
    whose volume is 1 ÷ (K − 1)!.
    """
    if action.n_actions:
        return entropy / math.log(action.n_actions)
    if action.kind == "simplex":
        volume = math.lgamma(action.n_components)
        return torch.exp((entropy + volume) / n_numbers(action))
    return torch.exp(entropy / n_numbers(action)) / (action.high - action.low)


def round_action(action: ActionSpec, chosen: Tensor, levels: int) -> Tensor:
    """Round deterministic actions (N, B) or (N, B, K) to so many even levels; codes stay."""
    if action.n_actions:
        return chosen
    if action.kind == "simplex":
        return round_weights(chosen, levels)
    return round_to_levels(chosen, action.low, action.high, levels)
