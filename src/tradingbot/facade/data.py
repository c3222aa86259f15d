"""What façade functions accept as data, what it becomes to trade on, and `tb.build_panel`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradingbot.configuration.pipeline import PipelineConfig, SplitsConfig
from tradingbot.data.calendar import time_zone_of
from tradingbot.domain.errors import DataError, UncertifiedPanelError
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.envs.build_world import world_from_panel
from tradingbot.envs.world import World
from tradingbot.facade.bars import Bars, load_bars
from tradingbot.features.panel import Panel
from tradingbot.features.pipeline import build_features, panel_of, prove_features

_MICROSECONDS_PER_YEAR = 365.25 * 86_400e6


@dataclass(frozen=True, eq=False)
class TradedData:
    """A market as backtests take it."""

    prices: World
    """What is traded; of bars alone it has no features."""
    with_features: Callable[[], World]
    """Returns the same bars with every feature."""
    bars_per_year: float
    time_zone: str = "UTC"
    """Of the exchange; UTC where no calendar is known."""


def as_world(data: Bars | Panel | World | str | Path | Any) -> World:
    """Return a world with every feature, from bars, a panel, a world, or what `load_bars` reads."""
    if isinstance(data, World):
        return data
    if isinstance(data, Panel):
        return world_from_panel(data)
    return as_bars(data).world


def as_bars(data: Bars | str | Path | Any) -> Bars:
    """Return bars, read by `load_bars` where they are not yet.

    Raises:
        DataError: If it is a panel or a world, which hold no dataset.
    """
    if isinstance(data, Panel | World):
        raise DataError(
            "this needs bars", was=type(data).__name__, remedy="Give what tb.load_bars returned"
        )
    return data if isinstance(data, Bars) else load_bars(data)


def as_traded(data: Bars | Panel | World | str | Path | Any) -> TradedData:
    """Return a market to backtest on."""
    if isinstance(data, Panel | World):
        world = as_world(data)
        return TradedData(world, lambda: world, bars_per_year_of(world))
    bars = as_bars(data)
    zone = time_zone_of(bars.dataset.manifest.provenance.calendar)
    return TradedData(bars.prices, lambda: bars.world, bars.bars_per_year, zone)


def bars_per_year_of(world: World) -> float:
    """Return bars per year as the clock of a world has them, where no calendar is known."""
    span = float(world.closed_at[-1] - world.closed_at[0]) / _MICROSECONDS_PER_YEAR
    if not span > 0.0:
        raise DataError("a market must have two bars", was=world.n_bars, where=world.label)
    return (world.n_bars - 1) / span


RATIO = SplitsConfig(by="ratio", train=0.6, validation=0.2, test=0.2)
"""How time is divided by default."""


def build_panel(
    bars: Bars | str | Path | Any,
    *,
    splits: SplitsConfig | None = None,
    features: FeatureSet = "default",
) -> Panel:
    """Compute every registered feature of some bars and prove them causal; once for the same bars.

    The proof changes, cuts off and poisons the future at many cuts, and compares the past bit for
    bit. Features that a plugin or `tb.feature` declared are columns behind the package's own.

    Args:
        bars: What `tb.load_bars` returned, or anything it reads.
        splits: How time is divided; features are scaled by the training part. 60, 20 and 20 % of
            the bars by default.
        features: `relative` adds nine features of a symbol against the others to the 23.

    Raises:
        DataError: If there are too few bars.
        UncertifiedPanelError: If a feature looks ahead, naming it and the first value that moved.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("noise", symbols=["SPY"], timeframe="1d", start="2024-01-02")
        >>> panel = tb.build_panel(bars)
        >>> panel
        <Panel 1 symbols × 439 bars: 23 features, 10 regimes, 1 covariates, proved causal>
    """
    found = as_bars(bars)
    folder = panel_of(found.dataset, found.workspace, features)
    if folder.exists():
        with suppress(UncertifiedPanelError):
            return Panel.open(folder)
    built = build_features(found.dataset, found.workspace, feature_set=features)
    report, certificate = prove_features(built, PipelineConfig(splits=splits or RATIO))
    if certificate is None:
        failure = report.failures[0]
        raise UncertifiedPanelError(
            f"feature {failure.output} must not look ahead",
            was=str(failure.offence or failure.reason),
            where=found.name,
        )
    return Panel.open(folder)
