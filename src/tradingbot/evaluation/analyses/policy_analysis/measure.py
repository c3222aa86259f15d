"""What a policy does: its actions, what they follow, what its critic expects, how agents differ.

Pure functions of arrays; states, actions and weights of a run are collected beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.settings import PolicyAnalysisSettings
from tradingbot.evaluation.dossier.analysis import StateActionMap, StatePlane
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.heads import StackedHead

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def action_histogram(
    actions: FloatArray, spec: ActionSpec, code_names: Sequence[str], *, n_bins: int
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the bins in words, and the share of all actions (…) in each.

    Args:
        actions: Numbers in [low, high] or codes, at least one.
        spec: What actions are.
        code_names: Of codes, in order.
        n_bins: Bins of equal width of numbers.
    """
    if spec.kind == "discrete":
        names = tuple(code_names[: spec.n_actions])
        place = actions.astype(np.int64)
    else:
        edges = np.linspace(spec.low, spec.high, n_bins + 1)
        names = tuple(f"{low:.2f} … {high:.2f}" for low, high in pairwise(edges))
        width = (spec.high - spec.low) / n_bins
        place = ((actions - spec.low) / width).astype(np.int64)
    counts = np.bincount(np.clip(place, 0, len(names) - 1).ravel(), minlength=len(names))
    return names, tuple(float(share) for share in counts / max(1, actions.size))


def state_action_maps(
    inputs: FloatArray, names: Sequence[str], actions: FloatArray, settings: PolicyAnalysisSettings
) -> tuple[StateActionMap, ...]:
    """Return maps of the inputs that the action follows most, those first.

    How closely an action follows an input is the share of its variance that lies between quantile
    bins of the input, less what chance puts there (Kelley's ε²). Inputs at or below 0 are left out.

    Args:
        inputs: (M, F) what was seen.
        names: F names.
        actions: (M,) what was done.
        settings: How many bins and maps.

    Raises:
        DataError: If shapes disagree.
    """
    if inputs.shape != (len(actions), len(names)):
        raise DataError(
            "every action must have its inputs",
            was=inputs.shape,
            where=f"{len(actions)} actions, {len(names)} names",
        )
    found = []
    for column, name in zip(inputs.T, names, strict=True):
        place, edges = quantile_bins(column, settings.map_bins)
        count = np.bincount(place, minlength=len(edges) - 1)
        mean = np.bincount(place, weights=actions, minlength=len(edges) - 1) / np.maximum(count, 1)
        strength = _strength(actions, mean, count)
        if strength > 0.0:
            shown = StateActionMap(
                name, tuple(edges.tolist()), tuple(mean.tolist()), tuple(count.tolist())
            )
            found.append((strength, shown))
    found.sort(key=lambda pair: -pair[0])
    return tuple(shown for _, shown in found[: settings.n_maps])


def quantile_bins(values: FloatArray, n_bins: int) -> tuple[IntArray, FloatArray]:
    """Return the bin (M,) of each value and the edges (K + 1,) between quantiles.

    K is less than `n_bins` where many values are equal: equal values share a bin.
    """
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)))
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    return np.searchsorted(edges[1:-1], values, side="right"), edges


def state_action_planes(
    inputs: FloatArray,
    names: Sequence[str],
    actions: FloatArray,
    followed: Sequence[str],
    settings: PolicyAnalysisSettings,
) -> tuple[StatePlane, ...]:
    """Return the mean action by quantiles of two inputs: the first that it follows, and another.

    Args:
        inputs: (M, F) what was seen.
        names: F names.
        actions: (M,) what was done.
        followed: Names of inputs that the action follows, the one it follows most first.
        settings: How many bins and planes.
    """
    pairs = [(followed[0], other) for other in followed[1 : settings.n_planes + 1]]
    column = {name: inputs[:, names.index(name)] for pair in pairs for name in pair}
    return tuple(
        state_plane(pair, (column[pair[0]], column[pair[1]]), actions, settings.plane_bins)
        for pair in pairs
    )


def state_plane(
    axes: Sequence[str], columns: tuple[FloatArray, FloatArray], values: FloatArray, n_bins: int
) -> StatePlane:
    """Average values (M,) by quantiles of two inputs (M,) each; NaN where no state lies."""
    (row, row_edges), (column, column_edges) = (quantile_bins(each, n_bins) for each in columns)
    shape = (len(row_edges) - 1, len(column_edges) - 1)
    place = np.ravel_multi_index((row, column), shape)
    size = shape[0] * shape[1]
    count = np.bincount(place, minlength=size)
    total = np.bincount(place, weights=values, minlength=size)
    mean = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
    return StatePlane(
        axes=(axes[0], axes[1]),
        edges=(tuple(row_edges.tolist()), tuple(column_edges.tolist())),
        cells=tuple(map(tuple, mean.reshape(shape).tolist())),
        count=tuple(map(tuple, count.reshape(shape).tolist())),
    )


def value_landscape(
    axes: tuple[str, str], signal: FloatArray, positions: FloatArray, values: FloatArray
) -> StatePlane:
    """Average values by the quantile of a signal, for each position that was asked about.

    Args:
        axes: Names of signal and position.
        signal: (M,) an input at each state.
        positions: (G,) the most quantile bins as well.
        values: (M, G) what each state would be worth with each position.

    Returns:
        Cells (K, G), low signals first.
    """
    place, edges = quantile_bins(signal, len(positions))
    rows = [values[place == each] for each in range(len(edges) - 1)]
    return StatePlane(
        axes=axes,
        edges=(tuple(edges.tolist()), tuple(positions.tolist())),
        cells=tuple(tuple(row.mean(axis=0).tolist()) for row in rows if len(row)),
        count=tuple((len(row),) * len(positions) for row in rows if len(row)),
    )


def reward_shares(names: Sequence[str], terms: FloatArray) -> tuple[tuple[str, float], ...]:
    """Return each term's share of Σ|terms|, the largest first; nothing where all are 0.

    Args:
        names: K terms.
        terms: (K, N) of N agents, summed over bars.
    """
    sizes = np.abs(terms).sum(axis=1)
    total = float(sizes.sum())
    if total == 0.0:
        return ()
    shares = [(name, float(size) / total) for name, size in zip(names, sizes, strict=True)]
    return tuple(sorted(shares, key=lambda pair: -pair[1]))


@torch.no_grad()
def head_deviations(head: StackedHead, agents: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return how far each agent's last layer departs from the shared one, the farthest first.

    Frobenius norm of what it adds ÷ norm of the shared weights; nothing unless partially pooled.
    """
    if head.config.pooling != "partial":
        return ()
    directions = head.directions.view(-1, head.config.n_directions, head.n_outputs)
    added = torch.einsum("nk,hko->nho", head.deviations, directions)
    shared = float(torch.linalg.vector_norm(head.weights[-1]))
    norms = torch.linalg.vector_norm(added, dim=(1, 2)) / max(shared, 1e-12)
    pairs = zip(agents, norms.tolist(), strict=True)
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))


def evenly_spaced(count: int, most: int) -> IntArray:
    """Choose at most so many of `count` places, evenly, the first among them."""
    return np.arange(0, count, max(1, -(-count // most)))


def _strength(actions: FloatArray, mean: FloatArray, count: IntArray) -> float:
    """Share of variance between bins, corrected for their number; 0 where nothing varies."""
    total = float(np.sum((actions - actions.mean()) ** 2))
    bins = int((count > 0).sum())
    if total <= 0.0 or len(actions) <= bins:
        return 0.0
    between = float(np.sum(count * (mean - actions.mean()) ** 2))
    within = (total - between) / (len(actions) - bins)
    return 1.0 - within / (total / (len(actions) - 1))
