"""Pictures of a training run: learning curves, deterministic actions, results beside the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tradingbot.evaluation.figures.style import BLUE, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TrainingCurves:
    """What was measured while agents learned."""

    steps: Sequence[int]
    """E environment steps per agent at each evaluation."""
    sharpe: Sequence[Sequence[float]]
    """(E, N) annual Sharpe ratio on the validation part, deterministic policy."""
    entropy: Sequence[float]
    """E, of deterministic actions, in [0, 1], mean over agents."""


@dataclass(frozen=True)
class NetBar:
    """Net return of one policy on one part, basis points per bar, with its 95 % interval."""

    label: str
    net_bps: float
    low_bps: float
    high_bps: float


def draw_learning_curves(curves: TrainingCurves, *, title: str) -> Figure:
    """Draw each agent's validation Sharpe ratio, their mean, and the entropy of actions."""
    figure = new_figure(10, 3.2, columns=2)
    left, right = figure.axes
    for agent in zip(*curves.sharpe, strict=True):
        left.plot(curves.steps, agent, color=BLUE, alpha=0.3, linewidth=0.8)
    mean = [sum(row) / len(row) for row in curves.sharpe]
    left.plot(curves.steps, mean, color=ORANGE, linewidth=2.0, label="mean of the agents")
    left.axhline(0.0, color="black", linewidth=0.6)
    left.set_title(title)
    left.set_ylabel("Sharpe ratio, annual", fontsize=8)
    left.legend(fontsize=8, frameon=False)
    right.plot(curves.steps, curves.entropy, color=ORANGE, linewidth=2.0)
    right.axhline(0.6, color=GREY, linewidth=0.8, linestyle="--")
    right.set_ylim(0.0, 1.0)
    right.set_title("Entropy of deterministic actions (limit dashed)")
    for axes in (left, right):
        axes.set_xlabel("environment steps per agent", fontsize=8)
    return figure


def draw_action_histogram(shares: Sequence[float], labels: Sequence[str], *, title: str) -> Figure:
    """Draw the share of each bin of deterministic actions, with the limit of 60 %."""
    figure = new_figure(10, 2.4)
    axes = figure.axes[0]
    axes.bar(range(len(shares)), [100.0 * share for share in shares], color=BLUE, alpha=0.7)
    axes.axhline(60.0, color=GREY, linewidth=0.8, linestyle="--")
    axes.set_xticks(range(len(shares)), labels, fontsize=8)
    axes.set_ylabel("% of bars", fontsize=8)
    axes.set_title(title)
    return figure


def draw_net_returns(bars: Sequence[NetBar], *, title: str) -> Figure:
    """Draw net returns with 95 % intervals, one row each."""
    figure = new_figure(10, 1.0 + 0.32 * len(bars))
    axes = figure.axes[0]
    rows = range(len(bars))
    middle = [bar.net_bps for bar in bars]
    errors = [
        [max(0.0, bar.net_bps - bar.low_bps) for bar in bars],
        [max(0.0, bar.high_bps - bar.net_bps) for bar in bars],
    ]
    axes.errorbar(middle, rows, xerr=errors, fmt="o", color=ORANGE, markersize=5, capsize=3)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(rows, [bar.label for bar in bars], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("net basis points per bar and symbol, 95 % interval", fontsize=8)
    axes.set_title(title)
    return figure
