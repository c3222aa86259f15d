"""One agent over its last bars: price with entries and exits, actions raw and smoothed."""

from __future__ import annotations

import numpy as np

from tradingbot.domain.order_intent import Side
from tradingbot.evaluation.report.numbers import plain, quantity
from tradingbot.monitoring.dashboard.figures.style import (
    Picture,
    add_line,
    blank_figure,
    mark_times,
)
from tradingbot.monitoring.dashboard.moments import Zone
from tradingbot.monitoring.dashboard.palette import Palette
from tradingbot.monitoring.dashboard.sources.agents_watch import AgentBars


def draw_price(bars: AgentBars, palette: Palette, zone: Zone) -> Picture:
    """Draw closes (T,), with a mark for every fill at its price."""
    x_name = f"close of the bar ({zone.label})"
    figure = blank_figure(palette, height_px=320, x=x_name, y="price, account currency")
    times = zone.moments(bars.at)
    places = np.arange(len(times))
    hover = "%{customdata}<br>close %{y:,.4f}<extra></extra>"
    add_line(
        *(figure, places, bars.price, "close", palette.soft),
        customdata=times,
        hovertemplate=hover,
    )
    for side, word, colour, symbol in (
        (Side.BUY, "bought", palette.pos, "triangle-up"),
        (Side.SELL, "sold", palette.neg, "triangle-down"),
    ):
        own = [fill for fill in bars.fills if fill.side is side]
        at = np.array([fill.filled_at.replace(tzinfo=None) for fill in own], "datetime64[us]")
        where = np.clip(np.searchsorted(bars.at, at), 0, max(len(bars.at) - 1, 0))
        texts = [
            f"{word} {quantity(fill.quantity_units)} at {zone.moment(fill.filled_at)}"
            for fill in own
        ]
        add_line(
            *(figure, where, np.array([float(fill.price) for fill in own]), word, colour),
            mode="markers",
            marker={"symbol": symbol, "size": 10, "line": {"width": 1, "color": palette.paper}},
            customdata=texts,
            hovertemplate="%{customdata}, price %{y:,.4f}<extra></extra>",
        )
    mark_times(figure, bars.at, zone)
    n_buys = sum(fill.side is Side.BUY for fill in bars.fills)
    last = plain(float(bars.price[-1])) if len(bars.price) else "unknown"
    told = f"{n_buys} bought, {len(bars.fills) - n_buys} sold"
    return Picture(figure, f"Price of {len(times)} bars, last {last}; fills: {told}.")


def draw_actions(bars: AgentBars, palette: Palette, zone: Zone) -> Picture:
    """Draw the action that the model gave (T,), and what smoothing made of it."""
    x_name = f"close of the bar ({zone.label})"
    figure = blank_figure(palette, height_px=220, x=x_name, y="action, −1 … 1")
    places = np.arange(len(bars.at))
    thin = {"width": 1}
    add_line(figure, places, bars.raw, "raw", palette.soft, line=thin)
    add_line(figure, places, bars.smoothed, "smoothed", palette.accent)
    mark_times(figure, bars.at, zone)
    known = bars.smoothed[np.isfinite(bars.smoothed)]
    if not len(known):
        figure.update_yaxes(range=[-1, 1])
    told = f"smoothed, last {plain(float(known[-1]))}" if len(known) else "none yet"
    return Picture(figure, f"Actions of {len(known)} bars: {told}.")
