"""How prices moved: a handful of symbols, with the market's regime behind them if it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.figures.style import REGIME_COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_prices(
    closed_at: NDArray[np.datetime64],
    closes: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    regimes: NDArray[np.int64] | None = None,
    regime_names: Sequence[str] = (),
) -> Figure:
    """Draw closes rebased to 100 on a log scale.

    Args:
        closed_at: (T,) closing times, UTC.
        closes: Symbol → (T,) close, NaN where absent.
        title: What data this is; say so if it is synthetic.
        regimes: (T,) index into `regime_names`, or None where no regime is known.
        regime_names: Names of the regimes, from `REGIME_COLOURS`.
    """
    figure = new_figure(10, 3.8)
    axes = figure.axes[0]
    for symbol, close in closes.items():
        first = close[np.isfinite(close)][0]
        axes.plot(closed_at, 100.0 * close / first, linewidth=0.9, label=symbol)
    if regimes is not None:
        _shade(axes, closed_at, regimes, regime_names)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}")
    axes.tick_params(axis="y", which="minor", labelsize=7)
    axes.set_ylabel("close, first = 100", fontsize=8)
    axes.set_title(title)
    axes.legend(fontsize=7, ncols=4, loc="upper left", framealpha=0.85)
    return figure


def _shade(
    axes: Axes,
    closed_at: NDArray[np.datetime64],
    regimes: NDArray[np.int64],
    names: Sequence[str],
) -> None:
    edges = np.flatnonzero(np.diff(regimes)) + 1
    starts, ends = np.r_[0, edges], np.r_[edges, len(regimes)] - 1
    seen: set[str] = set()
    for start, end in zip(starts, ends, strict=True):
        name = names[int(regimes[start])]
        label = f"regime: {name}" if name not in seen else None
        seen.add(name)
        axes.axvspan(
            closed_at[start],
            closed_at[end],
            color=REGIME_COLOURS[name],
            alpha=0.22,
            label=label,
            lw=0,
        )
