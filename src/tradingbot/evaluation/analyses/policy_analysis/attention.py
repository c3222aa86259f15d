"""Where a transformer looks: attention by lag, and by lag and feature.

The weight of a lag is that of the encoder's last block, mean over heads. It says where the encoder
looks, not which features matter there; so each weight is multiplied by how far the action would
move with each feature of that bar:

    map[l, f] = mean over states of weight(l) · |∂ action ÷ ∂ feature f, l bars back| · σ(f)

The action is the number before it is rounded to levels, or the probability of codes that buy less
that of codes that sell; σ is the feature's deviation at those bars. A feature that passes through
another bar of an earlier block counts at its own lag.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tradingbot.data.splits import IndexRange
from tradingbot.envs.population.layout import market_table
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.policy_analysis.measure import evenly_spaced
from tradingbot.evaluation.analyses.policy_analysis.states import SIDES, States, ask_by_agent
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.encoders.transformer import TransformerEncoder
from tradingbot.networks.heads import StackedHead
from tradingbot.runs.policy import StoredPolicy


def attention_of(loaded: StoredPolicy) -> TransformerEncoder | None:
    """Return the part of a run's encoder that has attention; None where none has."""
    found = getattr(loaded.encoder, "inner", loaded.encoder)
    return found if isinstance(found, TransformerEncoder) else None


@torch.no_grad()
def attention_by_lag(encoder: TransformerEncoder, table: Tensor, bars: IndexRange) -> list[float]:
    """Return the mean weight of each lag at some bars of a table (N, T, F), all agents together."""
    begin = max(0, bars.start - encoder.lookback_bars)
    weights = encoder.attention(table[:, begin : bars.stop], last_bars=len(bars))
    mean: list[float] = weights.double().mean((0, 1)).tolist()
    return mean


def attention_by_feature(
    subject: EvaluatedRun, loaded: StoredPolicy, actor: StackedHead, states: States, most: int
) -> Tensor:
    """Return the map (L, F) over at most so many states; L is the span of the last block."""
    attending, encoder = attention_of(loaded), loaded.encoder
    assert attending is not None
    assert encoder is not None
    lookback = encoder.lookback_bars
    known = np.flatnonzero(states.bar >= lookback - 1)
    chosen = states.take(known[evenly_spaced(len(known), most)])
    table, bars = market_table(subject.data.world), chosen.bar[:, None] + np.arange(1 - lookback, 1)
    windows = table[torch.from_numpy(chosen.agent)[:, None], torch.from_numpy(bars)]
    private = chosen.private

    def act(seen: Tensor) -> Tensor:
        inputs = torch.cat([encoder.window(seen), private], dim=-1)
        output = ask_by_agent(actor, inputs, chosen.agent, actor.n_agents)
        return leaning(loaded.layout, output)

    with torch.no_grad():
        weights = attending.attention(windows, last_bars=1)[:, 0]
    return attention_map(weights, lag_sensitivity(act, windows), windows[:, -1])


def lag_sensitivity(act: Callable[[Tensor], Tensor], windows: Tensor) -> Tensor:
    """Return |∂ action ÷ ∂ feature|, (M, W, F), place l the bar l bars back.

    Args:
        act: Windows → actions (M,), each of its own window alone.
        windows: (M, W, F), the newest bar last.
    """
    windows = windows.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(act(windows).sum(), windows)
    return gradient.abs().flip(1)


def attention_map(weights: Tensor, sensitivity: Tensor, rows: Tensor) -> Tensor:
    """Return the map (L, F) of weights (M, L), sensitivities (M, W, F) and features (M, F)."""
    seen = weights[..., None] * sensitivity[:, : weights.shape[1]]
    return seen.double().mean(0) * rows.double().std(0, correction=0)


def leaning(layout: ActorLayout, output: Tensor) -> Tensor:
    """Return the action (M,) of outputs (M, O) before it is rounded or a code is chosen."""
    if layout.squash is None:
        return output.softmax(-1) @ torch.from_numpy(SIDES).to(output.dtype)
    return replace(layout.squash, levels=0)(output[..., 0])
