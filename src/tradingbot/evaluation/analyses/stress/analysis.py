"""A run in bad times: those of history that its data cover, and others made of its test bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.settings import StressSettings
from tradingbot.evaluation.analyses.stress import scenarios
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.dossier.robustness import Stress, StressRow
from tradingbot.evaluation.metrics.returns import max_drawdown
from tradingbot.market.costs import CostProfile

COVERED_FRAC = 0.8
"""Share of the weekdays of a window on which most symbols must be usable; holidays have none."""


@dataclass(frozen=True)
class HistoricalWindow:
    """Days between which something happened, both included."""

    name: str
    first_day: date
    last_day: date
    words: str


HISTORY = (
    HistoricalWindow(
        "2018 Q4", date(2018, 10, 1), date(2018, 12, 31), "US shares fall by a fifth into Christmas"
    ),
    HistoricalWindow(
        "2020 crash", date(2020, 2, 19), date(2020, 4, 30), "the pandemic: a third lost in weeks"
    ),
    HistoricalWindow(
        "2022 bear market", date(2022, 1, 3), date(2022, 10, 14), "rates rise, shares fall all year"
    ),
    HistoricalWindow(
        "April 2025", date(2025, 4, 1), date(2025, 4, 30), "tariffs: a tenth lost in two days"
    ),
)


def covered_bars(
    window: HistoricalWindow, closed_at: NDArray[np.int64], usable: NDArray[np.bool_]
) -> IndexRange | None:
    """Return the bars of a window; None where the data do not cover it.

    Args:
        window: Days.
        closed_at: (T,) microseconds since 1970 UTC.
        usable: (N, T) features are defined.
    """
    days = closing_day(closed_at.astype("datetime64[us]"))
    first = int(np.searchsorted(days, np.datetime64(window.first_day, "D")))
    after = int(np.searchsorted(days, np.datetime64(window.last_day, "D"), side="right"))
    weekdays = int(np.busday_count(window.first_day, window.last_day)) + 1
    ready = usable[:, first:after].mean(axis=0) >= 0.5
    seen = len(np.unique(days[first:after][ready]))
    return IndexRange(first, after) if seen >= COVERED_FRAC * weekdays else None


_LARGEST_RATE = 0.5
_USES = {
    "learned": "; in sample: agents learned from these bars",
    "chosen": "; weights were chosen by these bars",
    "earlier": "; before training: agents never saw these bars, but learned from later ones",
    "none": "",
}
"""How a window's words end, by what a run has used its bars for."""
_Named = tuple[str, Literal["historical", "synthetic"], str]
"""Scenario, kind, and what happens in it."""


@dataclass(frozen=True, eq=False)
class _Scenario:
    """One made-up time."""

    name: str
    words: str
    change: Callable[[BarArrays, int], BarArrays]
    first_bar: int
    """From which on bars are others."""
    traded: IndexRange
    costs: CostProfile | None = None


def measure_stress(subject: EvaluatedRun, settings: StressSettings) -> Stress:
    """Trade bad times; hold is equal weight of the same symbols at the same costs.

    Raises:
        DataError: If the test part has too few bars.
    """
    past = [_historical(subject, window) for window in HISTORY]
    rows = [found for found in past if isinstance(found, StressRow)]
    left_out = [found for found in past if isinstance(found, str)]
    counterfactual = CounterfactualData(subject)
    for scenario in _scenarios(subject, settings):
        bars = scenario.change(counterfactual.bars, scenario.first_bar)
        remade = counterfactual.on(bars, first_bar=scenario.first_bar, words=scenario.name)
        named: _Named = (scenario.name, "synthetic", scenario.words)
        rows.append(_row(remade, named, scenario.traded, scenario.costs))
    return Stress(tuple(rows), tuple(left_out))


def _historical(subject: EvaluatedRun, window: HistoricalWindow) -> StressRow | str:
    world = subject.data.world
    if world.synthetic:
        return f"{window.name}: the bars are generated and have no history"
    bars = covered_bars(window, world.closed_at, world.usable)
    if bars is None:
        days = world.closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
        return (
            f"{window.name}: the data cover {days[0]} … {days[1]}; agents trade the symbols and "
            "the grid that they learned from, so other data cannot stand in"
        )
    words = window.words + _USES[subject.data.split.use_of(bars)]
    return _row(subject, (window.name, "historical", words), bars)


def _scenarios(subject: EvaluatedRun, settings: StressSettings) -> list[_Scenario]:
    test = subject.bars("test")
    at = _session_open(subject.data.world, test)
    around = IndexRange(
        max(test.start, at - settings.before_bars), min(test.stop, at + settings.after_bars)
    )
    gap, costs = settings.gap_frac, subject.env.costs
    factor, divisor, wilder = (
        settings.cost_factor,
        settings.volume_divisor,
        settings.volatility_factor,
    )
    dear = replace(
        costs,
        slippage_frac=min(factor * costs.slippage_frac, _LARGEST_RATE),
        spread_frac=min(factor * costs.spread_frac, _LARGEST_RATE),
    )
    made = _slides(settings, at, test)
    for name, move, side in (("gap down", -gap, "lower"), ("gap up", gap, "higher")):
        words = f"every symbol opens {gap:.0%} {side} overnight"
        change = partial(scenarios.gap, move_frac=move)
        made.append(_Scenario(name, words, change, at, around))
    words = f"spread and slippage × {factor:g}, volume ÷ {divisor:g}, over the whole test part"
    thinned = partial(scenarios.thin_volume, divisor=divisor)
    made.append(_Scenario("liquidity loss", words, thinned, test.start, test, dear))
    words = "all moves of the test part multiplied, mean log returns kept"
    shaken = partial(scenarios.shake, factor=wilder)
    made.append(_Scenario(f"volatility × {wilder:g}", words, shaken, test.start, test))
    return made


def _slides(settings: StressSettings, at: int, test: IndexRange) -> list[_Scenario]:
    """Return times in which every symbol moves far one way and stays there."""
    first, made = max(test.start, at - settings.before_bars), []
    for name, move, over_bars in (
        ("crash", -settings.crash_frac, settings.crash_bars),
        ("correction", -settings.correction_frac, settings.correction_bars),
        ("lasting rally", settings.rally_frac, settings.rally_bars),
    ):
        side = "loses" if move < 0.0 else "gains"
        words = f"every symbol {side} {abs(move):.0%} within {over_bars} bars and stays there"
        change = partial(scenarios.slide, move_frac=move, over_bars=over_bars)
        traded = IndexRange(first, min(test.stop, at + max(settings.after_bars, over_bars)))
        made.append(_Scenario(name, words, change, at, traded))
    return made


def _session_open(world: World, test: IndexRange) -> int:
    """Return the first bar of a day, a third into the test part; the bar there if days have one."""
    days = closing_day(world.closed_at.astype("datetime64[us]"))
    third = test.start + max(1, len(test) // 3)
    opens = 1 + np.flatnonzero(days[1:] != days[:-1])
    later = opens[(opens >= third) & (opens < test.stop - 1)]
    return int(later[0]) if len(later) else third


def _row(
    subject: EvaluatedRun, named: _Named, traded: IndexRange, costs: CostProfile | None = None
) -> StressRow:
    name, kind, words = named
    agents = subject.backtest(traded, costs=costs)
    hold = subject.backtest_hold(traded, costs=costs)
    if kind == "historical":
        words += _held_share(agents, hold)
    return StressRow(
        scenario=name,
        kind=kind,
        words=words,
        first_day=agents.first_day,
        last_day=agents.last_day,
        total_return_frac=float(agents.portfolio[-1] - 1.0),
        hold_return_frac=float(hold.portfolio[-1] - 1.0),
        max_drawdown_frac=max_drawdown(agents.portfolio_returns),
        hold_drawdown_frac=max_drawdown(hold.portfolio_returns),
    )


def _held_share(agents: Backtest, hold: Backtest) -> str:
    """Say what holding as much all the time gives: a smaller position falls less, without skill."""
    share = float(agents.position_frac.mean())
    alike = share * hold.portfolio_returns
    gained = f"{np.prod(1.0 + alike) - 1.0:+.1%}".replace("-", "−")
    return (
        f"; agents held {share:.0%} on average, and as much of equal weight all the time gives "
        f"{gained}, drawdown {max_drawdown(alike):.1%}"
    )
