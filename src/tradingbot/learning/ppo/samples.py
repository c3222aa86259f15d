"""Rollouts as samples: flattened per agent, drawn as minibatches, embedded by a view.

Samples come in groups of L steps that follow each other: single steps where embeddings are ready,
segments where an encoder learns, because bars of a segment share their past.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.rollout import Rollout
from tradingbot.networks.view import View


class Samples(NamedTuple):
    """G groups of L steps per agent."""

    row: Tensor
    """(N, G, L) int64"""
    private: Tensor
    """(N, G, L, P)"""
    allowed: Tensor
    """(N, G, L, A) bool"""
    drawn: Tensor
    """(N, G, L) codes, or numbers before squashing."""
    log_prob: Tensor
    """(N, G, L) when they were drawn."""
    advantage: Tensor
    """(N, G, L)"""
    target: Tensor
    """(N, G, L) of the value, in the critic's units."""
    broken: Tensor
    """(N, G) bool on the host: rows of the group do not follow each other."""


class Minibatch(NamedTuple):
    """M samples of each agent."""

    inputs: Tensor
    """(N, M, I)"""
    allowed: Tensor
    """(N, M, A)"""
    drawn: Tensor
    """(N, M)"""
    log_prob: Tensor
    """(N, M)"""
    advantage: Tensor
    """(N, M)"""
    target: Tensor
    """(N, M)"""


def group_samples(rollout: Rollout, advantage: Tensor, target: Tensor, length: int) -> Samples:
    """Cut a rollout (S, N, B) into groups of `length` steps; advantage and target (S, N, B).

    Raises:
        ConfigError: If the length does not divide S.
    """
    if len(rollout.row) % length:
        raise ConfigError("segment_bars must divide rollout_steps", was=length)
    row = _grouped(rollout.row, length)
    # The host is asked once per rollout, and not at all where groups are single steps.
    whole = torch.zeros(row.shape[:2], dtype=torch.bool)
    broken = whole if length == 1 else (row.diff(dim=-1) != 1).any(-1).cpu()
    kept = (rollout.private, rollout.allowed, rollout.drawn, rollout.log_prob, advantage, target)
    return Samples._make([row, *(_grouped(part, length) for part in kept), broken])


def take_minibatch(
    samples: Samples, index: Tensor, view: View, *, index_on_host: Tensor
) -> Minibatch:
    """Take the same groups (g,) of every agent, and embed them."""
    row = samples.row.index_select(1, index)
    if row.shape[-1] == 1:
        embedding = view.look(row)
    else:
        broken = samples.broken.index_select(1, index_on_host) if samples.broken.any() else None
        embedding = embed_segments(view, row, broken)
    private = samples.private.index_select(1, index)
    taken = (part.index_select(1, index).flatten(1, 2) for part in samples[2:7])
    return Minibatch(torch.cat([embedding, private], dim=-1).flatten(1, 2), *taken)


def embed_segments(view: View, row: Tensor, broken: Tensor | None) -> Tensor:
    """Return embeddings (N, g, L, D) of rows (N, g, L), with gradients.

    Args:
        view: Its encoder may learn.
        row: Where a group is whole, rows that follow each other.
        broken: (N, g) bool on the host, groups with a reset inside: their rows are embedded one by
            one, each with its own past. None if there is none.
    """
    n_agents, n_groups, length = row.shape
    flat = row.flatten(0, 1)
    if broken is None or not broken.any():
        return view.segments(flat[:, 0], length).view(n_agents, n_groups, length, -1)
    whole, parts = (~broken).flatten().nonzero()[:, 0], broken.flatten().nonzero()[:, 0]
    order = torch.cat([whole, parts]).argsort().to(row.device)
    embedded = [view(flat[parts.to(row.device)])]
    if len(whole):
        embedded.insert(0, view.segments(flat[whole.to(row.device), 0], length))
    return torch.cat(embedded).index_select(0, order).view(n_agents, n_groups, length, -1)


def _grouped(values: Tensor, length: int) -> Tensor:
    """(S, N, B, …) → (N, S ÷ length · B, length, …)."""
    n_steps, n_agents, n_envs, *more = values.shape
    n_cuts = n_steps // length
    cut = values.view(n_cuts, length, n_agents, n_envs, *more)
    by_agent = cut.permute(2, 0, 3, 1, *range(4, cut.dim()))
    return by_agent.reshape(n_agents, n_cuts * n_envs, length, *more)
