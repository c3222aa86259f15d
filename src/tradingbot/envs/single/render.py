"""What an episode looked like so far: a few lines of text, or a picture of 900 × 700 points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.domain.errors import MissingExtraError
from tradingbot.envs.single.account import LaneAccount, LaneStep
from tradingbot.envs.single.info import ACTION_NAMES, summarise
from tradingbot.envs.world import World
from tradingbot.market.params import SimulatorParams

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_POINTS, HEIGHT_POINTS = 900, 700
_DOTS_PER_INCH = 100
_LEAD_BARS = 24
"""Bars before the first decision that the picture shows."""
_CLOCK_BARS = 70
"""Up to so many bars the axis shows the time of day, beyond only the day."""
_UNATTAINABLE = "fills at the close that was seen: not attainable"
_BLUE, _GREEN, _RED, _GREY, _PURPLE = "#0072B2", "#009E73", "#D55E00", "#7F7F7F", "#CC79A7"


def write_lines(
    world: World, rules: SimulatorParams, account: LaneAccount, history: Sequence[LaneStep]
) -> str:
    """Describe an episode in a few lines.

    Args:
        world: What was traded.
        rules: Initial cash and largest position.
        account: As it is now.
        history: Every step so far, oldest first.
    """
    symbol, bar = divmod(account.row, world.n_bars)
    summary = summarise(rules, account)
    equity = account.equity
    lines = [
        f"{world.symbols[symbol]}  {_moment(world, bar)}  step {account.steps}"
        + ("  SYNTHETIC DATA" if world.synthetic else ""),
        f"price    {account.mark:,.4g}   position {account.units:,.4g} units, "
        f"{_exposure(account):+.1%} of equity",
        f"equity   {equity:,.2f} ({summary['return_frac']:+.2%})   cash {account.cash:,.2f}   "
        f"drawdown {summary['drawdown_frac']:.2%}",
        f"trades   {summary['n_trades']} (win rate {summary['win_rate_frac']:.0%})   costs "
        f"{account.commission_paid + account.slippage_paid + account.borrow_paid:,.2f}   "
        f"sharpe {summary['sharpe']:+.3f} a bar",
    ]
    if history:
        lines.append("last     " + _told(history[-1]))
    if rules.episode.fill_at == "this_close":
        lines.append(_UNATTAINABLE)
    return "\n".join(lines)


def draw_picture(
    world: World, rules: SimulatorParams, account: LaneAccount, history: Sequence[LaneStep]
) -> NDArray[np.uint8]:
    """Draw an episode: price with its fills, position, equity with its drawdown.

    Args:
        world: What was traded.
        rules: Initial cash and largest position.
        account: As it is now.
        history: Every step so far, oldest first.

    Returns:
        (700, 900, 3) red, green, blue.

    Raises:
        MissingExtraError: If Matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as e:
        raise MissingExtraError("plot", package="matplotlib") from e
    figure = Figure(
        figsize=(WIDTH_POINTS / _DOTS_PER_INCH, HEIGHT_POINTS / _DOTS_PER_INCH),
        dpi=_DOTS_PER_INCH,
        layout="constrained",
    )
    canvas = FigureCanvasAgg(figure)
    accounts = [step.before for step in history] + [account]
    ratios = {"height_ratios": (5, 2, 3)}
    price, position, equity = figure.subplots(3, 1, sharex=True, gridspec_kw=ratios)
    _draw_price(price, world, accounts, history)
    _draw_position(position, world.n_bars, accounts, rules)
    _draw_equity(equity, world.n_bars, accounts, rules)
    _finish(figure, world, rules, account)
    canvas.draw()  # type: ignore[no-untyped-call]
    painted = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    return painted[..., :3].copy()


def _draw_price(
    axes: Axes, world: World, accounts: Sequence[LaneAccount], history: Sequence[LaneStep]
) -> None:
    symbol, last = divmod(accounts[-1].row, world.n_bars)
    first = accounts[0].row % world.n_bars
    shown = np.arange(max(0, first - _LEAD_BARS), last + 1)
    high, low, close = (world.prices[symbol, shown, column] for column in (1, 2, 3))
    axes.fill_between(shown, low, high, color=_GREY, alpha=0.25, lw=0, label="low to high")
    axes.plot(shown, close, color="black", lw=1.0, label="close")
    axes.axvline(first, color=_GREY, lw=0.8, ls=":", label="first decision")
    fills = [(step, step.fill) for step in history if step.fill.units != 0.0]
    agent = [(s, f) for s, f in fills if s.exit_reason == 0 or s.exit_fill.units != 0.0]
    forced = [(s, f) for s, f in fills if not (s.exit_reason == 0 or s.exit_fill.units != 0.0)]
    forced += [(step, step.exit_fill) for step in history if step.exit_fill.units != 0.0]
    kinds = (
        ("buy", "^", _GREEN, [(s, f) for s, f in agent if f.units > 0.0]),
        ("sell", "v", _RED, [(s, f) for s, f in agent if f.units < 0.0]),
        ("closed by a rule", "X", _PURPLE, forced),
    )
    for name, marker, colour, marked in kinds:
        if marked:
            bars = [step.after.row % world.n_bars for step, _ in marked]
            axes.scatter(
                bars,
                [fill.price for _, fill in marked],
                marker=marker,
                color=colour,
                s=46,
                edgecolors="white",
                linewidths=0.6,
                zorder=3,
                label=f"{name} ({len(marked)})",
            )
    axes.set_ylabel("price")
    _legend_above(axes)


def _draw_position(
    axes: Axes, n_bars: int, accounts: Sequence[LaneAccount], rules: SimulatorParams
) -> None:
    bars = _bars_of(accounts, n_bars)
    exposure = np.array([100.0 * _exposure(account) for account in accounts])
    limit = 100.0 * rules.limits.max_position_frac
    axes.fill_between(bars, exposure, step="post", color=_BLUE, alpha=0.5, lw=0)
    axes.plot(bars, exposure, color=_BLUE, lw=0.9, drawstyle="steps-post")
    axes.axhline(0.0, color="black", lw=0.6)
    for side in (1.0, -1.0) if rules.limits.allow_short else (1.0,):
        axes.axhline(side * limit, color=_GREY, lw=0.8, ls="--")
    lowest = -1.15 * limit if rules.limits.allow_short else -0.05 * limit
    axes.set_ylim(min(lowest, exposure.min()), max(1.15 * limit, 1.05 * exposure.max()))
    axes.plot([], [], color=_BLUE, lw=6, alpha=0.5, label="position")
    axes.plot([], [], color=_GREY, lw=0.8, ls="--", label="largest allowed")
    axes.set_ylabel("% of equity")
    _legend_above(axes)


def _draw_equity(
    axes: Axes, n_bars: int, accounts: Sequence[LaneAccount], rules: SimulatorParams
) -> None:
    bars = _bars_of(accounts, n_bars)
    equity = np.array([account.equity for account in accounts])
    peak = np.array([account.peak for account in accounts])
    deepest = float(np.max(1.0 - equity / peak))
    axes.fill_between(bars, equity, peak, color=_RED, alpha=0.3, lw=0)
    axes.plot(bars, equity, color=_BLUE, lw=1.3, label="equity")
    axes.plot(bars[-1:], equity[-1:], "o", color=_BLUE, ms=4)
    axes.plot([], [], color=_RED, alpha=0.3, lw=6, label=f"below its peak, at most {deepest:.2%}")
    initial = rules.account.initial_cash_ccy
    axes.axhline(initial, color=_GREY, lw=0.8, ls="--", label="initial cash")
    axes.set_ylabel("equity")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if np.ptp(equity) < 1.0e-3 * initial:  # else rounding would fill the panel
        axes.set_ylim(0.9985 * initial, 1.0015 * initial)
    _legend_above(axes)


def _legend_above(axes: Axes) -> None:
    """Put the legend over the panel, where it hides no data."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 0.98),
        ncols=6,
        fontsize=8,
        frameon=False,
        borderaxespad=0.0,
        handlelength=1.6,
    )


def _finish(figure: Figure, world: World, rules: SimulatorParams, account: LaneAccount) -> None:
    summary = summarise(rules, account)
    symbol, bar = divmod(account.row, world.n_bars)
    for axes in figure.axes:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(alpha=0.25, lw=0.6)
        axes.tick_params(labelsize=8)
        axes.yaxis.label.set_fontsize(9)
    figure.align_ylabels()
    bottom = figure.axes[-1]
    first, last = bottom.get_xlim()
    letters = slice(0, 10) if last - first > _CLOCK_BARS else slice(5, 16)
    bottom.xaxis.set_major_formatter(lambda value, _: _moment_at(world, value)[letters])
    bottom.locator_params(axis="x", nbins=8, integer=True)
    bottom.set_xlabel("close of the bar, UTC", fontsize=8)
    mark = "SYNTHETIC DATA · " if world.synthetic else ""
    figure.suptitle(
        f"{world.symbols[symbol]} · {mark}{_moment(world, bar)} · step {account.steps}\n"
        f"return {summary['return_frac']:+.2%}, {summary['n_trades']} trades ended, "
        f"costs {account.commission_paid + account.slippage_paid + account.borrow_paid:,.0f}, "
        f"sharpe {summary['sharpe']:+.3f} a bar"
        + (f"\n{_UNATTAINABLE}" if rules.episode.fill_at == "this_close" else ""),
        fontsize=11,
    )


def _told(step: LaneStep) -> str:
    """Say in words what the last step did."""
    words = [ACTION_NAMES[step.code]]
    if step.denial:
        words.append(f"denied by {Denial(step.denial).name}")
    for fill in (step.fill, step.exit_fill):
        if fill.units != 0.0:
            side = "bought" if fill.units > 0.0 else "sold"
            words.append(f"{side} {abs(fill.units):,.4g} at {fill.price:,.4g}, fee {fill.fee:,.2f}")
    if step.exit_reason:
        words.append(f"closed by {ExitReason(step.exit_reason).name}")
    return "; ".join(words)


def _exposure(account: LaneAccount) -> float:
    equity = account.equity
    return account.units * account.mark / equity if equity > 0.0 else 0.0


def _bars_of(accounts: Sequence[LaneAccount], n_bars: int) -> NDArray[np.int64]:
    return np.array([account.row % n_bars for account in accounts], np.int64)


def _moment(world: World, bar: int) -> str:
    text = str(world.closed_at[bar : bar + 1].astype("datetime64[us]")[0])
    return text[:16].replace("T", " ") + " UTC"


def _moment_at(world: World, bar: float) -> str:
    inside = 0 <= bar < world.n_bars and float(bar).is_integer()
    return _moment(world, int(bar)) if inside else ""
