"""From an actor's outputs to a distribution of actions, for every kind of action.

Numbers take two outputs each, a mean and a raw deviation: all means first, then all deviations. K
weights on a simplex take those of K − 1 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from tradingbot.learning.task import ActionSpec
from tradingbot.networks.actor_layout import ActorLayout, Squash, SquashKind
from tradingbot.networks.distributions import (
    MaskedCategorical,
    SimplexGaussian,
    SquashedGaussian,
    VectorGaussian,
    round_to_levels,
    round_weights,
)
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.member_inputs import MemberInputs
from tradingbot.networks.set_head import SetHead

Policy = MaskedCategorical | SquashedGaussian | VectorGaussian | SimplexGaussian


def n_numbers(action: ActionSpec) -> int:
    """Return how many numbers are drawn for an action that is no code."""
    return max(action.n_components, 1) - (action.kind == "simplex")


def n_policy_outputs(action: ActionSpec) -> int:
    """Return the outputs that an actor needs to draw actions: A codes, or two per number."""
    return action.n_actions or 2 * n_numbers(action)


def actor_head(
    n_agents: int,
    n_inputs: int,
    n_outputs: int,
    config: HeadConfig,
    generator: torch.Generator,
    members: MemberInputs | None = None,
) -> StackedHead | SetHead:
    """Draw the head of a policy; with `members`, one that gives each of them the same outputs."""
    if members is None:
        return StackedHead(n_agents, n_inputs, n_outputs, config, generator)
    return SetHead(members, n_inputs, n_outputs // members.n_members, config, generator)


def squashed_layout(
    config: Any, action: ActionSpec, private: tuple[str, ...], *, prefix: str, kind: SquashKind
) -> ActorLayout:
    """Say how a checkpoint's actor is read whose outputs are preferences, or squashed numbers.

    Args:
        config: Settings of a learner, with `actor`, `act_levels`, and `squash_gain` if it is not 1.
        action: What actions are.
        private: Names of private inputs.
        prefix: What the names of the actor's tensors begin with.
        kind: Of numbers in a box: `sigmoid` of one output each, or `tanh` of a mean.
    """
    n_outputs = n_policy_outputs(action)
    if kind == "sigmoid" and not action.n_actions:
        n_outputs = n_numbers(action)
    kind = "softmax" if action.kind == "simplex" else kind
    gain = getattr(config, "squash_gain", 1.0)
    squash = Squash(kind, gain, action.low, action.high, config.act_levels)
    read = None if action.n_actions else squash
    return ActorLayout(prefix, config.actor, n_outputs, read, private, action.n_components)


def open_value_head(
    config: Any, tensors: Mapping[str, Tensor], n_agents: int
) -> Callable[[Tensor], Tensor]:
    """Return a stored critic with one output: values (N, K) of inputs (N, K, I)."""
    n_inputs = tensors["weights.0"].shape[-2]
    critic = StackedHead(n_agents, n_inputs, 1, config.critic, torch.Generator())
    critic.load_state_dict(dict(tensors))
    critic.requires_grad_(False)
    return lambda inputs: critic(inputs).squeeze(-1)


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
    return VectorGaussian.of(mean, raw, action.low, action.high)


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
