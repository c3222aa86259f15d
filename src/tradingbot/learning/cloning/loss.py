"""What it costs not to do what the expert did, and how often both do the same."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tradingbot.learning.cloning.config import CloningConfig
from tradingbot.learning.learner import Metrics
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.distributions import MaskedCategorical, SquashedGaussian

_EDGE = 0.99
"""The end of a range has no finite origin before squashing; this share of the way there has."""


def chosen_action(output: Tensor, allowed: Tensor, action: ActionSpec, gain: float) -> Tensor:
    """Return deterministic actions (N, M) of an actor.

    Args:
        output: (N, M, O): logits of codes; or mean and deviation before squashing by tanh (O = 2);
            or one number before squashing by a sigmoid (O = 1).
        allowed: (N, M, A) bool; not read for numbers.
        action: What actions are.
        gain: Of the sigmoid.
    """
    if action.n_actions:
        return MaskedCategorical.of(output, allowed).mode()
    if output.shape[-1] == 2:
        return _gaussian(output, action).mode()
    share = torch.sigmoid(gain * output.squeeze(-1))
    return action.low + (action.high - action.low) * share


def cloning_losses(
    output: Tensor, allowed: Tensor, expert: Tensor, action: ActionSpec, config: CloningConfig
) -> Tensor:
    """Return the loss of each sample, (N, M): nats, or Huber's in shares of the range."""
    if action.n_actions:
        return -MaskedCategorical.of(output, allowed).log_prob(expert)
    width = action.high - action.low
    if config.number_loss == "log_prob":
        place = 2.0 * (expert - action.low) / width - 1.0
        origin = torch.atanh(place.clamp(-_EDGE, _EDGE))
        return -_gaussian(output, action).log_prob(origin)
    chosen = chosen_action(output, allowed, action, config.squash_gain)
    return functional.huber_loss(
        chosen / width, expert / width, reduction="none", delta=config.huber_width
    )


def sample_weights(allowed: Tensor, expert: Tensor, action: ActionSpec, balance: float) -> Tensor:
    """Return how much each sample counts, (N, M), 1 on average of those that count.

    Codes that the task forbids cannot be learned: they count nothing. Others count by their
    frequency in the agent's samples to the power of −`balance`.
    """
    if not action.n_actions:
        return torch.ones_like(expert)
    possible = _is_allowed(allowed, expert).to(allowed.device, torch.float32)
    chosen = functional.one_hot(expert, action.n_actions).float() * possible[..., None]
    share = chosen.sum(1) / possible.sum(1, keepdim=True).clamp_min(1.0)
    weight = (share.clamp_min(1e-8) ** -balance).gather(1, expert) * possible
    return weight * (possible.sum(1, keepdim=True) / weight.sum(1, keepdim=True).clamp_min(1e-8))


def agreement(
    chosen: Tensor, expert: Tensor, allowed: Tensor, action: ActionSpec, tolerance_frac: float
) -> Metrics:
    """Compare actions (N, M) with the expert's; return (N,) each. See `docs/algorithms`."""
    if not action.n_actions:
        error = (chosen - expert).abs() / (action.high - action.low)
        alike = (error <= tolerance_frac).float()
        return {"clone/agreement": alike.mean(1), "clone/error": error.mean(1)}
    alike = (chosen == expert).float()
    codes = functional.one_hot(expert, action.n_actions).float()
    count = codes.sum(1)
    recall = (codes * alike[..., None]).sum(1) / count.clamp_min(1.0)
    occurs = (count > 0.0).float()
    return {
        "clone/agreement": alike.mean(1),
        "clone/balanced_agreement": (recall * occurs).sum(1) / occurs.sum(1),
        "clone/base_agreement": count.amax(1) / count.sum(1),
        "clone/forbidden": 1.0 - _is_allowed(allowed, expert).float().mean(1),
    }


def _is_allowed(allowed: Tensor, expert: Tensor) -> Tensor:
    return allowed.gather(-1, expert[..., None]).squeeze(-1)


def _gaussian(output: Tensor, action: ActionSpec) -> SquashedGaussian:
    mean, log_std = output.unbind(-1)
    return SquashedGaussian.of(mean, log_std, action.low, action.high)
