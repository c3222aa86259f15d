"""What policies did: worth and drawdown through time, trades on a price, terms of the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tradingbot.evaluation.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    new_figure,
)
from tradingbot.evaluation.metrics.returns import drawdown_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tradingbot.evaluation.rollout import PolicyRollout

POLICY_COLOURS = {
    "random": GREY,
    "buy_and_hold": BLUE,
    "expert": ORANGE,
    "oracle": GREEN,
    "omniscient": PURPLE,
}
_TERM_COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, GREY, "#56B4E9", "#F0E442", "#332288", "#882255")


def draw_equity(rollout: PolicyRollout, *, title: str) -> Figure:
    """Draw the worth of each policy's sleeves together above, their drawdown below."""
    figure = new_figure(10, 5.2, rows=2)
    upper, lower = figure.axes
    closed_at = rollout.closed_at.astype("datetime64[us]")
    worth = np.stack([each.portfolio for each in rollout.backtests], axis=1)
    falls = drawdown_of(worth)
    for index, policy in enumerate(rollout.policies):
        colour = POLICY_COLOURS.get(policy, "black")
        name = policy.replace("_", " ")
        upper.plot(closed_at, 100.0 * worth[:, index], color=colour, linewidth=1.3, label=name)
        lower.fill_between(closed_at, -100.0 * falls[:, index], color=colour, alpha=0.12, lw=0)
        lower.plot(closed_at, -100.0 * falls[:, index], color=colour, linewidth=0.9)
    upper.axhline(100.0, color="black", linewidth=0.6)
    upper.set_ylabel("equity, start = 100", fontsize=8)
    lower.set_ylabel("drawdown, %", fontsize=8)
    lower.sharex(upper)
    upper.tick_params(labelbottom=False)
    upper.set_title(title)
    upper.legend(fontsize=8, ncols=5, loc="upper left", framealpha=0.85)
    return figure


def draw_trades(rollout: PolicyRollout, symbol: int, *, title: str, bars: int = 350) -> Figure:
    """Draw the last bars of one symbol, and above each other when each policy held it.

    Args:
        rollout: What happened.
        symbol: Position on the axis of symbols.
        title: What data this is; say so if it is synthetic.
        bars: How many of the last bars are shown.
    """
    figure = new_figure(10, 2.6 + 0.4 * len(rollout.policies), rows=2)
    upper, lower = figure.axes
    closed_at = rollout.closed_at.astype("datetime64[us]")[-bars:]
    # Bars side by side: nights and weekends would be most of the picture.
    place = np.arange(len(closed_at))
    upper.plot(place, rollout.closes[-bars:, symbol], color="black", linewidth=0.9)
    upper.set_ylabel("close", fontsize=8)
    upper.set_title(title)
    for row, policy in enumerate(rollout.policies):
        _draw_held(lower, rollout, (row, symbol), policy, bars=len(closed_at))
    lower.set_yticks(
        range(len(rollout.policies)), [name.replace("_", " ") for name in rollout.policies]
    )
    lower.set_ylim(len(rollout.policies) - 0.5, -0.5)
    ticks = np.linspace(0, len(place) - 1, 8).astype(int)
    lower.set_xticks(ticks, [str(closed_at[tick])[:10] for tick in ticks], fontsize=8)
    upper.sharex(lower)
    upper.tick_params(labelbottom=False)
    return figure


def _draw_held(
    axes: Axes, rollout: PolicyRollout, sleeve: tuple[int, int], policy: str, *, bars: int
) -> None:
    """Draw one line of spells, green where the trade won and orange where it lost."""
    row, symbol = sleeve
    trades = rollout.trades
    mine = trades.select((trades.policy == row) & (trades.symbol == symbol))
    first = len(rollout.closed_at) - bars
    begin = np.searchsorted(rollout.closed_at, mine.entered_at) - first
    end = np.searchsorted(rollout.closed_at, mine.left_at) - first
    shown = end >= 0
    spells = [
        (max(0, int(a)) - 0.5, max(1, int(b) - max(0, int(a))))
        for a, b in zip(begin[shown], end[shown], strict=True)
    ]
    colours = [GREEN if won else RED for won in mine.pnl_ccy[shown] > 0.0]
    axes.broken_barh(spells, (row - 0.32, 0.64), facecolors=colours, alpha=0.75, linewidth=0)


def draw_reward_terms(rollout: PolicyRollout, *, title: str) -> Figure:
    """Draw the mean reward of a sleeve per 1,000 bars, term by term; points mark the sum."""
    figure = new_figure(10, 1.5 + 0.42 * len(rollout.policies))
    axes = figure.axes[0]
    terms = 1_000.0 * rollout.reward_terms.mean(axis=2) / rollout.n_bars
    rows = np.arange(len(rollout.policies))
    above, below = np.zeros(len(rows)), np.zeros(len(rows))
    for index, name in enumerate(rollout.reward_names):
        values = terms[index]
        base = np.where(values >= 0.0, above, below)
        colour = _TERM_COLOURS[index % len(_TERM_COLOURS)]
        label = name.replace("_", " ")
        axes.barh(rows, values, left=base, color=colour, alpha=0.8, height=0.6, label=label)
        above, below = above + np.maximum(values, 0.0), below + np.minimum(values, 0.0)
    axes.plot(terms.sum(axis=0), rows, "D", color="black", markersize=5, label="reward")
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(rows, [name.replace("_", " ") for name in rollout.policies], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("weighted reward per 1,000 bars, mean of the sleeves", fontsize=8)
    axes.set_title(title)
    figure.legend(fontsize=8, loc="outside lower center", ncols=8, frameon=False)
    return figure
