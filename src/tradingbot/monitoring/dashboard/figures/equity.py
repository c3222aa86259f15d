"""Equity of a session beside what the backtest of its run would lead one to expect."""

from __future__ import annotations

import numpy as np

from tradingbot.evaluation.report.numbers import money, percent
from tradingbot.monitoring.dashboard.expectation import Expectation
from tradingbot.monitoring.dashboard.figures.downsample import COLUMNS, pick_points
from tradingbot.monitoring.dashboard.figures.style import (
    Picture,
    add_line,
    blank_figure,
    mark_times,
)
from tradingbot.monitoring.dashboard.moments import Zone
from tradingbot.monitoring.dashboard.palette import Palette
from tradingbot.monitoring.dashboard.sources.session_view import EquitySeries


def draw_equity(
    equity: EquitySeries,
    expectation: Expectation | None,
    palette: Palette,
    zone: Zone,
    *,
    columns: int = COLUMNS,
) -> Picture:
    """Draw equity (T,) bar by bar, and the band that an honest backtest allows.

    Args:
        equity: Of the session.
        expectation: Of the run's test part; None: no band.
        palette: Colours.
        zone: Of the times.
        columns: Of pixels; more points than four in each are not sent to the browser.
    """
    figure = blank_figure(
        palette, height_px=340, x=f"close of the bar ({zone.label})", y="equity, account currency"
    )
    if expectation is not None and len(equity) > 1:
        _add_band(figure, equity, expectation, palette, columns)
    places = pick_points(equity.equity_ccy, columns)
    shown = equity.equity_ccy[places]
    hover = "%{customdata}<br>equity %{y:,.2f}<extra></extra>"
    times = zone.moments(equity.at[places])
    add_line(
        *(figure, places, shown, "session", palette.accent), customdata=times, hovertemplate=hover
    )
    mark_times(figure, equity.at, zone)
    return Picture(figure, describe_equity(equity, zone))


def describe_equity(equity: EquitySeries, zone: Zone) -> str:
    """Say what the line does."""
    if not len(equity):
        return "No bar was settled yet."
    first, last = equity.equity_ccy[0], equity.equity_ccy[-1]
    begin, end = zone.moments(equity.at[[0, -1]])
    change = percent(last / first - 1, 2, signed=True) if first else ""
    low, high = (
        money(float(np.nanmin(equity.equity_ccy))),
        money(float(np.nanmax(equity.equity_ccy))),
    )
    return (
        f"Equity of {len(equity)} bars from {begin} to {end}: {money(float(first))} to "
        f"{money(float(last))}, {change}; lowest {low}, highest {high}."
    )


def _add_band(
    figure: object, equity: EquitySeries, expectation: Expectation, palette: Palette, columns: int
) -> None:
    n_bars = len(equity)
    places = np.unique(np.linspace(0, n_bars - 1, min(n_bars, columns)).round().astype(int))
    band = expectation.band(float(equity.equity_ccy[0]), places.astype(np.float64))
    quiet = {"hoverinfo": "skip"}
    clear = {"width": 0}
    fill = palette.tint(palette.soft, 0.16)
    add_line(figure, places, band.high, "", palette.soft, line=clear, showlegend=False, **quiet)
    add_line(
        figure,
        places,
        band.low,
        "95 % of the backtest",
        palette.soft,
        line=clear,
        fill="tonexty",
        fillcolor=fill,
        **quiet,
    )
    dots = {"dash": "dot", "width": 1.4}
    add_line(
        figure,
        places,
        band.middle,
        "expected by the backtest",
        palette.soft,
        line=dots,
        **quiet,
    )
