"""How fast the simulator is, over environments stepped together, beside bounds and peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tradingbot.evaluation.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = Sequence[tuple[float, float]]
"""(where, steps per second), rising."""


@dataclass(frozen=True)
class SpeedCurves:
    """What is drawn; curves without points are left out."""

    environments: Mapping[str, Curve] = field(default_factory=dict)
    """Name → speed over environments, e.g. compiled, eager, GPU."""
    bound: Curve = ()
    """Speed over environments if moving bytes were all the work."""
    peers: Mapping[str, float] = field(default_factory=dict)
    """Name → symbol-steps per second."""
    windows: Curve = ()
    """Speed over bars in a window that is written out."""
    symbols: Curve = ()
    """Speed over symbols among which episodes are drawn."""


def draw_simulator_speed(curves: SpeedCurves) -> Figure:
    """Draw steps per second over environments on the left, over window and symbols on the right."""
    figure = new_figure(10, 4.6, columns=2)
    left, right = figure.axes
    for (name, curve), colour in zip(
        curves.environments.items(), (BLUE, ORANGE, GREEN, PURPLE), strict=False
    ):
        _plot(left, curve, name, colour, "o-")
    _plot(left, curves.bound, "memory bound", RED, "--")
    for name, speed in curves.peers.items():
        left.axhline(speed, color=GREY, linewidth=0.9, linestyle=":")
        left.annotate(
            name,
            (0.99, speed),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=7,
            color=GREY,
        )
    left.set(
        xlabel="environments stepped together",
        ylabel="steps per second",
        title="Steps per second (synthetic bars, reward v31)",
    )
    _plot(right, curves.windows, "bars in the window written", BLUE, "o-")
    _plot(right, curves.symbols, "symbols drawn from", GREEN, "s-")
    right.set(xlabel="bars, or symbols", title="At 4,096 environments")
    right.set_ylim(bottom=0)
    left.set_yscale("log")
    _label_places(left, [*curves.environments.values()])
    _label_places(right, [curves.windows, curves.symbols])
    return figure


def _label_places(axes: Axes, curves: Sequence[Curve]) -> None:
    """Label the measured places alone: a logarithmic axis would write numbers that nobody chose."""
    places = sorted({place for curve in curves for place, _ in curve})
    axes.set_xscale("log")
    axes.set_xticks(places, [f"{place:,.0f}" for place in places], rotation=45)
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(_plain)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)


def _plot(axes: Axes, curve: Curve, label: str, colour: str, style: str) -> None:
    if curve:
        axes.plot(*zip(*curve, strict=True), style, color=colour, label=label, markersize=5)


def _plain(value: float, _: float) -> str:
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
