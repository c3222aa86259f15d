"""From discrete to continuous actions: a new last layer on what an agent has already learned.

Hidden layers stay as they are, bit for bit; so do encoder and critic, which do not depend on the
kind of action. Only the seven logits are replaced, by a mean and a deviation.

Every code a stands for a signed size v_a (a third of a position bought, half of it sold …). What a
discrete policy π prefers in a state is the size it expects beyond an undecided policy in the same
state, over the codes M that the mask allows there:

    preference = Σ_{a ∈ M} (π_a − 1/|M|) v_a.

The new mean is the linear function of the last hidden layer h that comes closest to it,

    mean(h) = w · h + c,   minimise Σ (mean − atanh preference)² + λ ‖(w, c) − (w₀, c₀)‖²

on states the agent meets. w₀ · h + c₀ = (1/A) Σ_a (v_a − v̄) logit_a, the first-order expansion
around an undecided policy with every code allowed, decides what the states leave open. Where agents
share weights they share the fit; with partial pooling the directions are fitted too, and each
agent's z stays its own. The deviation is that of the seven sizes: as wide as an undecided policy.

Deterministic agents do what is most probable, by however little: an undecided one trades in full.
Its preferences are small numbers, most of them within the hold zone. So the mean is multiplied by a
factor (`scale_mean`), which what agents earn decides, see `tradingbot.training.migration_cost`; the
order of preferences stays.

A linear layer cannot know the mask, so the new agent follows the old one, and is not equal to it:
`prove_migration` says how closely, before any factor.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.market.params import ActionRules
from tradingbot.networks.distributions import LOG_STD_BOUNDS, MaskedCategorical
from tradingbot.networks.heads import StackedHead

REQUIRED_RANK_CORRELATION = 0.5
"""Of migrated actions with what the discrete policy preferred, over all agents and states."""
CLOSE_GAP, CLOSE_SIDES = 0.1, 0.75
"""Mean distance (a hold zone) up to which, and share of decided states on the same side from which
on, actions are close whatever their order: preferences of an agent that is nearly undecided hardly
differ, and the order of what hardly differs is chance."""
_LARGEST = 0.95
"""Preferences beyond are aimed at as this: atanh 1 is infinite."""
_PRIOR_SAMPLES = 1.0
"""λ, in samples of unit features: enough to decide what the states leave open."""


class MigrationProbe(NamedTuple):
    """States to fit and to prove on."""

    inputs: Tensor
    """(N, B, I) what the heads see."""
    allowed: Tensor
    """(N, B, 7) bool, codes that the market would execute."""


@dataclass(frozen=True)
class MigrationProof:
    """What was compared, on states that the fit did not see."""

    states: int
    """N · B."""
    decided_frac: float
    """Share of states in which the preference is beyond the hold zone."""
    hidden_is_equal: bool
    """Whether the last hidden layer is the same, bit for bit."""
    rank_correlation: float
    """Spearman's, of migrated actions with preferences, over all agents and states."""
    lowest_rank_correlation: float
    """Of the agent for which it is lowest."""
    same_side_frac: float
    """Share of the decided states in which the migrated action has the sign of the preference."""
    mean_gap: float
    """Mean distance between migrated action and preference."""


def signed_sizes(rules: ActionRules) -> Tensor:
    """Return the signed size of every code, (7,): of the largest position, or of what is held."""
    return torch.tensor(
        [0.0, *rules.entry_fracs, -rules.sell_partial_frac, -1.0, rules.add_frac],
        dtype=torch.float32,
    )


def preferences(head: StackedHead, probe: MigrationProbe, sizes: Tensor) -> Tensor:
    """Return the size a discrete policy expects beyond an undecided one, (N, B) in (−2, 2)."""
    policy = MaskedCategorical.of(head(probe.inputs), probe.allowed)
    allowed = probe.allowed.to(sizes.dtype)
    undecided = allowed / allowed.sum(-1, keepdim=True)
    return ((policy.log_probs.exp() - undecided) * sizes).sum(-1)


@torch.no_grad()
def continuous_head(head: StackedHead, probe: MigrationProbe, sizes: Tensor) -> StackedHead:
    """Return a head of [mean, raw log deviation] that follows a discrete one.

    Args:
        head: (N, B, I) → (N, B, 7) logits.
        probe: States to fit on.
        sizes: (7,) from `signed_sizes`.

    Raises:
        ConfigError: If the head does not have one logit per code.
    """
    if head.n_outputs != len(sizes):
        rule = f"head must have {len(sizes)} outputs to be migrated"
        remedy = "Only discrete agents can be; this one acts with numbers already"
        raise ConfigError(rule, was=head.n_outputs, remedy=remedy)
    n_inputs = head.weights[0].shape[-2]
    made = StackedHead(head.n_agents, n_inputs, 2, head.config, torch.Generator())
    for ours, theirs in zip(
        [*made.weights[:-1], *made.biases[:-1]],
        [*head.weights[:-1], *head.biases[:-1]],
        strict=True,
    ):
        ours.copy_(theirs)
    slope, intercept = _fit(head, probe, sizes)
    for parameter in (made.weights[-1], made.biases[-1]):
        parameter.zero_()
    made.weights[-1][..., 0] = slope[..., 0, :]
    made.biases[-1][..., 0] = intercept[..., None] if intercept.dim() else intercept
    made.biases[-1][..., 1] = _raw_log_std(float(sizes.std(correction=0)))
    if head.config.pooling == "partial":
        made.deviations.copy_(head.deviations)
        made.directions.zero_()
        directions = made.directions.view(-1, head.config.n_directions, 2)
        directions[..., 0] = slope[1:].t()
    return made


@torch.no_grad()
def scale_mean(head: StackedHead, factor: float) -> StackedHead:
    """Return a copy of a head of [mean, raw log deviation] with a mean so many times as large."""
    scaled = copy.deepcopy(head)
    parts = [scaled.weights[-1], scaled.biases[-1]]
    if head.config.pooling == "partial":
        parts.append(scaled.directions.view(-1, head.config.n_directions, head.n_outputs))
    for part in parts:
        part[..., 0] *= factor
    return scaled


@torch.no_grad()
def prove_migration(
    head: StackedHead, made: StackedHead, probe: MigrationProbe, rules: ActionRules
) -> MigrationProof:
    """Compare a discrete head with the continuous one that was made of it.

    Args:
        head: The discrete one.
        made: The continuous one.
        probe: States that the fit did not see.
        rules: What codes mean.
    """
    preferred = preferences(head, probe, signed_sizes(rules))
    action = torch.tanh(made(probe.inputs)[..., 0])
    decided = preferred.abs() > rules.hold_zone
    agreeing = (preferred.sign() == action.sign()) & decided
    by_agent = [_rank_correlation(a, b) for a, b in zip(action, preferred, strict=True)]
    return MigrationProof(
        states=preferred.numel(),
        decided_frac=float(decided.float().mean()),
        hidden_is_equal=torch.equal(head.features(probe.inputs), made.features(probe.inputs)),
        rank_correlation=_rank_correlation(action.reshape(-1), preferred.reshape(-1)),
        lowest_rank_correlation=min(by_agent),
        same_side_frac=float(agreeing.sum() / decided.sum()) if bool(decided.any()) else 1.0,
        mean_gap=float((action - preferred).abs().mean()),
    )


def require_proof(proof: MigrationProof) -> None:
    """Refuse a migration that changed what was learned.

    Raises:
        DataError: Saying what differs.
    """
    if not proof.hidden_is_equal:
        raise DataError("hidden layers must be kept bit for bit", was="other features")
    is_close = proof.mean_gap <= CLOSE_GAP and proof.same_side_frac >= CLOSE_SIDES
    if not (proof.rank_correlation >= REQUIRED_RANK_CORRELATION or is_close):
        rule = f"rank correlation must be {REQUIRED_RANK_CORRELATION} or more to migrate, or the "
        rule += f"mean distance {CLOSE_GAP} or less with {CLOSE_SIDES:.0%} on the same side"
        was = f"{proof.rank_correlation:.3f}, {proof.mean_gap:.3f} and {proof.same_side_frac:.0%}"
        remedy = "One linear layer cannot follow what its mask decides; train a continuous agent"
        raise DataError(rule, was=was, remedy=remedy)


def _fit(head: StackedHead, probe: MigrationProbe, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Solve for slopes and intercept.

    Returns:
        Slopes (1 + K, H), those of the directions after the shared one, and an intercept (); for
        independent agents (N, 1, H) and (N,).
    """
    target = torch.atanh(preferences(head, probe, sizes).clamp(-_LARGEST, _LARGEST)).double()
    hidden = head.features(probe.inputs).double()
    prior, start = _expansion(head, sizes)
    design = _design(head, hidden)
    known = torch.cat([prior.flatten(-2), start[..., None]], dim=-1)
    if head.config.pooling != "independent":
        design, target = design.flatten(0, 1), target.flatten()
    gap = target - (design @ known[..., None]).squeeze(-1)
    gram = design.mT @ design + _PRIOR_SAMPLES * torch.eye(design.shape[-1]).double()
    change = torch.linalg.solve(gram, (design.mT @ gap[..., None])).squeeze(-1)
    found = known + change
    slope = found[..., :-1].unflatten(-1, (-1, hidden.shape[-1]))
    return slope.float(), found[..., -1].float()


def _design(head: StackedHead, hidden: Tensor) -> Tensor:
    """Return regressors (N, B, (1 + K) · H + 1): features, features times z, one."""
    parts = [hidden]
    if head.config.pooling == "partial":
        z = head.deviations.double()
        parts += [hidden * z[:, k, None, None] for k in range(z.shape[1])]
    return torch.cat([*parts, torch.ones_like(hidden[..., :1])], dim=-1)


def _expansion(head: StackedHead, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Return slopes and intercept of w₀ and c₀, shaped as `_fit`'s."""
    mixing = ((sizes - sizes.mean()) / len(sizes)).double()
    slope = head.weights[-1].double() @ mixing
    intercept = head.biases[-1].double() @ mixing
    if head.config.pooling == "independent":
        return slope[:, None, :], intercept[:, 0]
    slopes = slope[None]
    if head.config.pooling == "partial":
        directions = head.directions.view(-1, head.config.n_directions, head.n_outputs)
        slopes = torch.cat([slopes, (directions.double() @ mixing).t()])
    return slopes, intercept


def _rank_correlation(first: Tensor, second: Tensor) -> float:
    """Spearman's rank correlation; 1 where neither varies, 0 where only one does."""
    varies = [bool((values != values[0]).any()) for values in (first, second)]
    if not all(varies):
        return 0.0 if any(varies) else 1.0
    ranks = torch.stack([_ranks(values) for values in (first, second)])
    return float(torch.corrcoef(ranks)[0, 1])


def _ranks(values: Tensor) -> Tensor:
    """Ranks, the mean one for ties."""
    _, place, counts = torch.unique(values, return_inverse=True, return_counts=True)
    ranks: Tensor = counts.cumsum(0).double() - 0.5 * (counts.double() - 1.0)
    return ranks[place]


def _raw_log_std(std: float) -> float:
    """Invert the bounding of `SquashedGaussian.of`."""
    lowest, highest = LOG_STD_BOUNDS
    return math.atanh(2.0 * (math.log(std) - lowest) / (highest - lowest) - 1.0)
