"""What passes from symbol to symbol at one grid time: means, one symbol's value, ranks.

Each row is taken by itself, with a fixed order of operations, so that one row at a time and many
rows at once give the same bits. A symbol without a bar is NaN and takes no part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tradingbot.domain.errors import DataError
from tradingbot.features.graph.nodes import AcrossSymbols, Crossing, CrossSection, Node
from tradingbot.features.graph.operations import Array

AcrossFunction = Callable[[Array], Array]  # (R, N) → (R, N), NaN where a symbol has no value


def cross(node: Crossing, values: Mapping[Node, Array], symbols: Sequence[str]) -> Array:
    """Evaluate a crossing at R grid times.

    Args:
        node: What to compute.
        values: Its arguments (R, N), NaN where a symbol has no bar.
        symbols: N names, in the order of the columns.

    Returns:
        (R, 1) for a value of the market, (R, N) for one of each symbol.

    Raises:
        DataError: If it is the value of a symbol that is not among them.
    """
    x, *groups = (values[argument] for argument in node.arguments)
    if isinstance(node, AcrossSymbols):
        return apply_across(node.function, x, *groups)
    symbol = node.symbol if isinstance(node, CrossSection) else ""
    if not symbol:
        return mean_over_symbols(x)
    if symbol not in symbols:
        rule = "a symbol that features compare with must be in the dataset"
        raise DataError(rule, was=f"no {symbol}", remedy="Import its bars with the others")
    place = list(symbols).index(symbol)
    return x[:, place : place + 1]


def mean_over_symbols(values: Array) -> Array:
    """(R, N) → (R, 1): mean of the defined values of each row, NaN where there are none."""
    defined = ~np.isnan(values)
    totals = np.where(defined, values, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(totals / defined.sum(axis=1, keepdims=True))


def _mean_of_others(values: Array) -> Array:
    """Mean of the other symbols' defined values; NaN where no other symbol has one."""
    defined = ~np.isnan(values)
    known = np.where(defined, values, 0.0)
    others = known.sum(axis=1, keepdims=True) - known
    return np.asarray(others / (defined.sum(axis=1, keepdims=True) - defined))


def _rank(values: Array) -> Array:
    """Place among the defined values, −1 the lowest, 1 the highest; equal ones share their mean."""
    result = np.full(values.shape, np.nan)
    for row, ranks in zip(values, result, strict=True):
        defined = ~np.isnan(row)
        known = row[defined]
        ordered = np.sort(known)
        below, up_to = (np.searchsorted(ordered, known, side=side) for side in ("left", "right"))
        ranks[defined] = (below + up_to - 1) / max(len(known) - 1, 1) - (len(known) > 1)
    return result


def _zscore(values: Array) -> Array:
    """Distance from the mean in population standard deviations; 0 where all are equal."""
    gap = values - mean_over_symbols(values)
    spread = np.sqrt(mean_over_symbols(gap * gap))
    return np.where(spread > 0.0, gap / spread, gap * 0.0)


ACROSS: Mapping[str, AcrossFunction] = {
    "mean_of_others": _mean_of_others,
    "rank": _rank,
    "zscore": _zscore,
}
_ACROSS_ROWS = 4096  # rows at a time: a whole history's temporaries would not fit the cache


def apply_across(function: str, values: Array, groups: Array | None = None) -> Array:
    """Apply a function of `ACROSS` to each row of (R, N) values, group by group where given.

    Where a symbol's group is NaN it is compared with nothing, and the result is NaN.
    """
    compute = ACROSS[function]
    result = np.full(values.shape, np.nan)
    for start in range(0, len(values), _ACROSS_ROWS):
        rows = slice(start, start + _ACROSS_ROWS)
        if groups is None:
            result[rows] = compute(values[rows])
            continue
        for group in np.unique(groups[rows][~np.isnan(groups[rows])]):
            members = groups[rows] == group
            found = compute(np.where(members, values[rows], np.nan))
            np.copyto(result[rows], found, where=members)
    return result
