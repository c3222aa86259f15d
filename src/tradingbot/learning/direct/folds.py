"""Deviations of agents learned in two folds of the bars, so that only what repeats is believed.

The z of an agent are a few numbers from few bars: on the bars that they were fitted to they always
look useful, and so does every direction that they multiply. Here each agent has two sets of z, one
fitted to even blocks of bars and one to odd ones:

* a lane that *fits* plays a bar with the z of the bar's own fold, and moves those z alone. It plays
  softly, with outputs near 0: a policy of all or nothing learns from the bars at its threshold, a
  soft one from all of them;
* a lane that *tests* plays it with the z of the other fold, and moves all that agents share: the
  directions learn what fits of other bars are good for, and shrink where those are luck.

What the two folds agree on over agents says how much of a fit is true. ρ, the correlations between
folds over agents in the canonical directions of z, are the shares of the variance of one fold's z
that agents truly differ by; of the mean of both folds it is 2ρ ÷ (1 + ρ) (Spearman 1910; Brown
1910). Each agent's z are shrunk towards the mean of all agents by these shares, direction by
direction (empirical Bayes; Efron & Morris 1973): where agents differ they are let differ, and in no
other way.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tradingbot.networks.heads import StackedHead

_FOLDS = 2
_LEAST_AGENTS = 3
"""Fewer have no spread that could be told from luck."""
_LEAST_VARIANCE = 1e-12
_SOFTNESS = 0.25
"""Outputs of lanes that fit ÷ those of lanes that test."""


class FoldedDeviations(nn.Module):
    """The z of both folds, and what they say together."""

    drawn: Tensor
    pooled: Tensor
    is_fitting: Tensor

    def __init__(
        self, actor: StackedHead, n_envs: int, fold_bars: int, generator: torch.Generator
    ) -> None:
        """Draw the z of both folds independently of each other, from a CPU generator.

        Args:
            actor: Partially pooled; its own deviations become what both folds say together.
            n_envs: B.
            fold_bars: Bars of a block; neighbouring blocks are of different folds.
            generator: Of the first z.
        """
        super().__init__()
        self.fold_bars, device = fold_bars, actor.deviations.device
        shape = (_FOLDS, *actor.deviations.shape)
        scale = actor.config.deviation_scale
        first = torch.empty(shape).normal_(0.0, scale, generator=generator).to(device)
        self.z = nn.Parameter(first)
        self.register_buffer("drawn", actor.deviations.detach().clone())
        self.register_buffer("pooled", torch.zeros(shape, device=device))
        self.register_buffer("is_fitting", torch.zeros(n_envs, dtype=torch.bool, device=device))

    @torch.no_grad()
    def begin_update(self, actor: StackedHead, updates: int) -> None:
        """Choose which lanes fit, every other one, by turns; take over what the actor was taught.

        Args:
            actor: As given; before the first update its deviations may have learned by imitation.
            updates: So far.
        """
        if updates == 0:
            self.z.add_(actor.deviations - self.drawn)
            self._pool()
        lanes = torch.arange(len(self.is_fitting), device=self.is_fitting.device)
        self.is_fitting.copy_((lanes + updates) % 2 == 0)

    @torch.no_grad()
    def end_update(self, actor: StackedHead) -> None:
        """Let the actor act by what both folds say together."""
        actor.deviations.copy_(self._pool())

    def output(self, actor: StackedHead, x: Tensor, bar: Tensor) -> Tensor:
        """Return outputs (N, B, O) to learn by, of inputs (N, B, I) at bars (N, B)."""
        hidden = actor.features(x)
        shared, offered = actor.shared(hidden), hidden @ actor.directions
        by_direction = offered.view(*bar.shape, self.z.shape[-1], actor.n_outputs)
        is_even = ((bar // self.fold_bars) % _FOLDS == 0)[..., None]
        own = torch.where(is_even, self.z[0, :, None], self.z[1, :, None])
        other = torch.where(is_even, self.pooled[1, :, None], self.pooled[0, :, None])
        fitted = _SOFTNESS * (shared.detach() + _mix(own, by_direction.detach()))
        return torch.where(self.is_fitting[:, None], fitted, shared + _mix(other, by_direction))

    def penalty(self) -> Tensor:
        """Return Σ_k z² of each agent, mean over folds, (N,)."""
        return self.z.square().sum(-1).mean(0)

    def _pool(self) -> Tensor:
        """Set what tests play with; return what agents act by, (N, K)."""
        halves, whole = pool_folds(self.z)
        self.pooled.copy_(halves)
        return whole.to(self.z)


def _mix(z: Tensor, by_direction: Tensor) -> Tensor:
    """Mix what directions offer (N, B, K, O) by z (N, B, K)."""
    return torch.einsum("nbk,nbko->nbo", z, by_direction)


def pool_folds(z: Tensor) -> tuple[Tensor, Tensor]:
    """Shrink z (2, N, K) of two folds to the mean over agents by how far the folds agree.

    Returns:
        What each fold says alone, (2, N, K), and what both say together, (N, K); float64, on the
        CPU. Of one or two agents as they are: there is nothing to compare them with.
    """
    z = z.detach().double().cpu()
    n_agents, n_directions = z.shape[1:]
    if n_agents < _LEAST_AGENTS:
        return z, z.mean(0)
    centre = z.mean(1, keepdim=True)
    apart = z - centre
    spread = (apart.mT @ apart).mean(0) / (n_agents - 1)
    cross = apart[0].mT @ apart[1] / (n_agents - 1)
    sizes, axes = torch.linalg.eigh(spread + _LEAST_VARIANCE * torch.eye(n_directions).to(z))
    whiten, unwhiten = axes * sizes.rsqrt(), (axes * sizes.sqrt()).mT
    agreement, turn = torch.linalg.eigh(whiten.mT @ (0.5 * (cross + cross.mT)) @ whiten)
    share = agreement.clamp(0.0, 1.0)
    forth, back = whiten @ turn, turn.mT @ unwhiten
    halves = centre + apart @ (forth * share) @ back
    whole = centre.mean(0) + apart.mean(0) @ (forth * (2.0 * share / (1.0 + share))) @ back
    return halves, whole
