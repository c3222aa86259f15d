"""What an evaluation found: windows of time, costs by delay, seeds, kinds of action, trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tradingbot.evaluation.dossier.analysis import Seeds
from tradingbot.evaluation.dossier.robustness import Sensitivity, WalkForward
from tradingbot.evaluation.report.numbers import plain
from tradingbot.monitoring.dashboard.figures.heat_map import HeatScale, draw_heat_map
from tradingbot.monitoring.dashboard.figures.style import Picture, blank_figure
from tradingbot.monitoring.dashboard.palette import Palette
from tradingbot.monitoring.dashboard.sources.evaluations import SpaceRow
from tradingbot.monitoring.dashboard.sources.trials import TrialsOfData

_TRIALS_LABELLED = 12


def draw_windows(walk: WalkForward, palette: Palette) -> Picture:
    """Draw what each walk-forward window earned beside holding."""
    import plotly.graph_objects as go

    figure = blank_figure(palette, height_px=280, x="window, first day", y="return of the window")
    days = [window.first_day[:10] for window in walk.windows]
    for name, field, colour in (
        ("agents", "total_return_frac", palette.accent),
        ("buy & hold", "hold_return_frac", palette.soft),
    ):
        numbers = [getattr(window, field) for window in walk.windows]
        figure.add_trace(go.Bar(x=days, y=_known(numbers), name=name, marker_color=colour))
    figure.update_yaxes(tickformat="+.1%")
    figure.update_layout(barmode="group")
    won = sum(window.total_return_frac > 0 for window in walk.windows)
    return Picture(figure, f"{len(days)} walk-forward windows, {won} with a gain.")


def draw_costs(found: Sensitivity, palette: Palette) -> Picture:
    """Draw what is left by one-way cost and delay."""
    cells = np.array(found.surface_bps, np.float64).reshape(len(found.delay_bars), -1)
    columns = [f"{cost:g}" for cost in found.cost_bps]
    rows = [f"{delay}" for delay in found.delay_bars]
    judged = f"{found.judged}, basis points per bar"
    x = f"one-way cost, bp (assumed {found.assumed_cost_bps:g})"
    scale = HeatScale(x, "delay, bars", judged, "+.2f", is_signed=True)
    return draw_heat_map(cells, rows, columns, scale, palette)


def draw_seeds(seeds: Seeds, palette: Palette) -> Picture:
    """Draw what each seed earned, and the interquartile mean with its interval."""
    import plotly.graph_objects as go

    figure = blank_figure(palette, height_px=240, x="alpha, basis points per bar", y="seed")
    is_old = all(math.isnan(row.alpha_bps_per_bar) for row in seeds.rows)
    numbers = [row.net_bps_per_bar if is_old else row.alpha_bps_per_bar for row in seeds.rows]
    names = [str(row.seed) for row in seeds.rows]
    dot = {"size": 10, "color": palette.accent}
    figure.add_trace(
        go.Scatter(x=_known(numbers), y=names, mode="markers", marker=dot, name="seed")
    )
    mean = seeds.net_bps_iqm if seeds.alpha_bps_iqm is None else seeds.alpha_bps_iqm
    if math.isfinite(mean.low) and math.isfinite(mean.high):
        tint = palette.tint(palette.accent, 0.15)
        figure.add_vrect(x0=mean.low, x1=mean.high, fillcolor=tint, line_width=0)
        figure.add_vline(x=mean.estimate, line={"color": palette.accent, "dash": "dot"})
    figure.add_vline(x=0, line={"color": palette.soft, "width": 1})
    figure.update_yaxes(type="category")
    if is_old:
        figure.update_xaxes(title_text="net return, basis points per bar")
    told = f"{plain(mean.estimate)} [{plain(mean.low)}, {plain(mean.high)}]"
    return Picture(figure, f"{len(names)} seeds; interquartile mean {told} bp per bar.")


def draw_spaces(rows: Sequence[SpaceRow], palette: Palette) -> Picture:
    """Draw runs by their kind of action: alpha per bar of their test parts."""
    import plotly.graph_objects as go

    figure = blank_figure(palette, height_px=260, x="kind of action", y="net return, bp per bar")
    spaces = sorted({row.action_space for row in rows})
    for place, space in enumerate(spaces):
        own = [row for row in rows if row.action_space == space]
        nets = [row.agents.net_bps_per_bar for row in own]
        figure.add_trace(
            go.Scatter(
                x=[place] * len(own),
                y=_known([net.estimate for net in nets]),
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [_size(net.high - net.estimate) for net in nets],
                    "arrayminus": [_size(net.estimate - net.low) for net in nets],
                    "color": palette.soft,
                },
                mode="markers",
                marker={"size": 10, "color": palette.accent},
                name=space,
                text=[row.run for row in own],
                hovertemplate="%{text}<br>%{y:.2f} bp per bar<extra></extra>",
            )
        )
    figure.update_xaxes(tickvals=list(range(len(spaces))), ticktext=spaces)
    figure.update_layout(showlegend=False, hovermode="closest")
    told = "; ".join(
        f"{space}: {sum(row.action_space == space for row in rows)} runs" for space in spaces
    )
    return Picture(figure, f"Net return per bar on test by kind of action. {told or 'No run'}.")


def draw_trials(found: TrialsOfData, palette: Palette, best: float) -> Picture:
    """Draw Sharpe ratios of counted trials in their order, and what the best has by luck.

    Args:
        found: Trials on one set of bars.
        palette: Colours.
        best: Sharpe ratio per bar that the best of them would have by luck; NaN where unknown.
    """
    import plotly.graph_objects as go

    y = f"{ratio_words(found)}, test part"
    figure = blank_figure(palette, height_px=260, x="number of the trial in the ledger", y=y)
    known = [
        (place, trial, trial.judged_sharpe_per_bar)
        for place, trial in enumerate(found.counted)
        if trial.judged_sharpe_per_bar is not None
    ]
    figure.add_trace(
        go.Scatter(
            x=[place for place, _, _ in known],
            y=[ratio for _, _, ratio in known],
            mode="markers",
            marker={"size": 9, "color": palette.accent},
            text=[f"{trial.sequence}: {trial.kind} {trial.run}" for _, trial, _ in known],
            hovertemplate="%{text}<br>%{y:.4f}<extra></extra>",
            name="trial",
        )
    )
    if math.isfinite(best):
        figure.add_hline(y=best, line={"color": palette.warm, "dash": "dash"})
    figure.add_hline(y=0, line={"color": palette.soft, "width": 1})
    n_trials = max(len(found.counted), 1)
    labelled = list(range(0, len(found.counted), -(-n_trials // _TRIALS_LABELLED)))
    numbers = [str(found.counted[place].sequence) for place in labelled]
    figure.update_xaxes(range=[-0.5, n_trials - 0.5], tickvals=labelled, ticktext=numbers)
    figure.update_layout(showlegend=False, hovermode="closest")
    luck = f"; best of worthless ones expected at {plain(best, 4)}" if math.isfinite(best) else ""
    return Picture(figure, f"{len(found.counted)} trials, {len(known)} with a result{luck}.")


def ratio_words(found: TrialsOfData) -> str:
    """Say what the ratios of trials are of."""
    if found.is_of_alpha:
        return "Sharpe ratio of alpha per bar"
    return "Sharpe ratio per bar, of alpha or (older entries) net"


def _known(numbers: Sequence[float]) -> list[Any]:
    return [None if not math.isfinite(each) else each for each in numbers]


def _size(number: float) -> float:
    return number if math.isfinite(number) else 0.0
