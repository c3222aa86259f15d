"""Random matrices of which every column has a stream of its own.

Column j depends on the seed and its own name only, and its first rows do not depend on how many
rows are asked for: more symbols or a longer market leave what was there unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tradingbot.data.synthetic.market import FloatArray
from tradingbot.domain.seeding import stream

StreamName = tuple[str, ...]


def normals(seed: int, names: Sequence[StreamName], part: str, count: int) -> FloatArray:
    """(count, n) standard normal numbers."""
    return _columns(seed, names, part, lambda rng: rng.standard_normal(count), count)


def uniforms(seed: int, names: Sequence[StreamName], part: str, count: int) -> FloatArray:
    """(count, n) uniform numbers in [0, 1)."""
    return _columns(seed, names, part, lambda rng: rng.random(count), count)


def chi_squares(
    freedom: float, seed: int, names: Sequence[StreamName], part: str, count: int
) -> FloatArray:
    """(count, n) numbers of a chi-square distribution."""
    return _columns(seed, names, part, lambda rng: rng.chisquare(freedom, count), count)


def _columns(
    seed: int,
    names: Sequence[StreamName],
    part: str,
    draw: Callable[[np.random.Generator], FloatArray],
    count: int,
) -> FloatArray:
    rows = np.empty((len(names), count))
    for row, name in zip(rows, names, strict=True):
        row[:] = draw(stream(seed, *name, part))
    return np.ascontiguousarray(rows.T)
