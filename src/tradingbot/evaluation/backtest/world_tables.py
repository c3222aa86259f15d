"""The tables of a world that strategies look at: prices, and features in both forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.price_rules import carry_forward
from tradingbot.agents.strategies.view import BAR_NAMES, FloatArray, TableKind
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.envs.world import World
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.registry import registered_features
from tradingbot.features.time_fields import TIME_FIELDS


class WorldTables:
    """Tables of a world, each made when it is asked for; satisfies `MarketTables`."""

    def __init__(self, world: World, scaled: Callable[[], World] | None = None) -> None:
        """Keep where numbers come from.

        Args:
            world: What is traded.
            scaled: Returns the same bars with scaled features, where the world has none.
        """
        self._world, self._scaled = world, scaled
        self.symbols, self.closed_at, self.present = world.symbols, world.closed_at, world.present
        self._tables: dict[tuple[TableKind, str], FloatArray] = {}

    def names(self, kind: TableKind) -> tuple[str, ...]:
        """Return the names there are of a kind."""
        if kind == "bar":
            return BAR_NAMES
        if kind == "feature":
            return tuple(registered_features())
        shown = self._shown
        return (*shown.feature_names, *shown.regime_names)

    def table(self, kind: TableKind, name: str) -> FloatArray:
        """Return one table (N, T).

        Raises:
            ConfigError: If there is none of that name.
        """
        if (kind, name) not in self._tables:
            known = self.names(kind)
            if name not in known:
                raise ConfigError(
                    "a strategy must look at what there is", was=name, remedy=suggest(name, known)
                )
            self._tables[kind, name] = self._make(kind, name)
        return self._tables[kind, name]

    def _make(self, kind: TableKind, name: str) -> FloatArray:
        if kind == "bar":
            values = self._bars[name]
            return np.nan_to_num(values) if name == "volume" else carry_forward(values)
        if kind == "feature":
            return self._raw(name)
        shown = self._shown
        if name in shown.feature_names:
            return shown.features[..., shown.feature_names.index(name)].astype(np.float64)
        return shown.regimes[..., shown.regime_names.index(name)].astype(np.float64)

    def _raw(self, name: str) -> FloatArray:
        spec = registered_features()[name]
        if set(spec.inputs) - {*BAR_NAMES, *TIME_FIELDS}:
            raise ConfigError(
                f"the raw form of {name} needs more than bars",
                was=", ".join(set(spec.inputs) - set(BAR_NAMES)),
                remedy=f"Look at view.scaled[{name!r}]",
            )
        world = self._world
        inputs = MarketInputs(
            symbols=world.symbols,
            closed_at=world.closed_at.astype("datetime64[us]"),
            present=np.ascontiguousarray(world.present.T),
            bars={field: np.ascontiguousarray(values.T) for field, values in self._bars.items()},
        )
        return np.ascontiguousarray(compute_features(inputs, [spec], form="raw")[name].T)

    @cached_property
    def _bars(self) -> dict[str, FloatArray]:
        """Prices (N, T) by name; NaN where there is no bar."""
        world = self._world
        prices = np.where(world.present[..., None], world.prices, np.nan)
        typical = prices[..., 1:4].mean(axis=-1)
        vwap = typical if world.vwap is None else np.where(world.present, world.vwap, np.nan)
        return {**{name: prices[..., i] for i, name in enumerate(BAR_NAMES[:5])}, "vwap": vwap}

    @cached_property
    def _shown(self) -> World:
        return self._scaled() if self._scaled is not None else self._world


def known_closes(world: World, closed_at: NDArray[np.int64]) -> FloatArray:
    """Return the last close (S + 1, N) of every symbol that was known at some closes of a world.

    Args:
        world: With bars before the first of these, which count.
        closed_at: (S + 1,) closes of neighbouring bars.

    Returns:
        NaN before the first bar of a symbol.
    """
    first = int(np.searchsorted(world.closed_at, closed_at[0]))
    stop = first + len(closed_at)
    seen = np.where(world.present[:, :stop], world.prices[:, :stop, 3], np.nan)
    return carry_forward(seen)[:, first:].T
