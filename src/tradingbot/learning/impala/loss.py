"""The loss of IMPALA: a pure function, one number per agent."""

from __future__ import annotations

from torch import Tensor


def policy_gradient_loss(
    log_prob: Tensor, behaviour: Tensor, advantage: Tensor, ratio_clip: float
) -> Tensor:
    """Return − mean of ρ · log π(a) · advantage of each agent, (N,), of (N, M) each.

    ρ = min(ρ̄, π(a) ÷ μ(a)) has no gradient, and is that of the policy as it is in this step: what
    the policy has given up already pushes it no further.

    Args:
        log_prob: log π(a), with gradient.
        behaviour: log μ(a), of the policy that acted.
        advantage: r + γ v′ − V.
        ratio_clip: ρ̄.
    """
    ratio = (log_prob.detach() - behaviour).exp().clamp_max(ratio_clip)
    return -(ratio * log_prob * advantage.detach()).mean(-1)
