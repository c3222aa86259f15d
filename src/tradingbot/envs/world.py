"""What environments are made of: bars to trade in, numbers to look at, and where they came from.

Building a world from data belongs in `build_world.py`; here is the record, what must hold of it,
and how to cut it in symbols or time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError, require_known
from tradingbot.features.bar_scaling import REGIME_BOUND
from tradingbot.features.scaling import Scaler
from tradingbot.market.bars import require_rising

FloatArray = NDArray[np.float32]

FEATURE_BOUND = 10.0
"""Scaled features lie in [−this, this]: beyond ten deviations only the sign matters."""
_BY_BAR = ("prices", "present", "features", "regimes", "probabilities", "usable", "vwap")
"""Arrays (N, T, …)."""


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """N symbols on a common clock of T bars, with everything an observation shows of the market.

    Arrays are read-only views of those it was made of: nothing is copied, so their owner must not
    write to them either. To change a world, copy an array and use `dataclasses.replace`.
    """

    symbols: tuple[str, ...]
    """N names, in the order of the first axis."""
    prices: NDArray[np.float64]
    """(N, T, 5) open, high, low, close, volume; NaN where there is no bar."""
    present: NDArray[np.bool_]
    """(N, T) there is a bar, and the symbol may be traded (point-in-time membership)."""
    features: FloatArray
    """(N, T, F) technical features, scaled; 0 where undefined."""
    regimes: FloatArray
    """(N, T, R) regime features."""
    probabilities: FloatArray
    """(N, T, 3) supervised probabilities of down, flat, up, or of a rise by each of three models;
    1/3 each without a model."""
    usable: NDArray[np.bool_]
    """(N, T) an episode may begin here: a bar, and every number above is defined."""
    closed_at: NDArray[np.int64]
    """(T,) microseconds since 1970 UTC, rising."""
    feature_names: tuple[str, ...]
    """F names."""
    regime_names: tuple[str, ...]
    """R names."""
    label: str
    """Data, period and seed in words, for everything that prints a number."""
    synthetic: bool
    """Generated, not observed; said wherever a result is shown."""
    vwap: NDArray[np.float64] | None = None
    """(N, T) volume-weighted mean prices, NaN where there is no bar; None where none are known."""
    scalers: tuple[Scaler, ...] = ()
    """What the features were scaled by, in the order of their columns; empty where that is not
    known. Per-symbol ones are those of all symbols that were there when the world was made."""

    def __post_init__(self) -> None:
        """Refuse a world without bars, with arrays that disagree, or with numbers out of bounds."""
        _require_axes(self)
        require_rising(self.closed_at)
        if (self.usable & ~self.present).any():
            raise DataError("usable bars must be present", was="an absent one", where=self.label)
        _require_bounded("features", self.features, FEATURE_BOUND)
        _require_bounded("regimes", self.regimes, REGIME_BOUND)
        _require_bounded("probabilities", self.probabilities, 1.0)
        for name in (*_BY_BAR, "closed_at"):
            if getattr(self, name) is None:
                continue
            view = getattr(self, name).view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    def __deepcopy__(self, memo: object) -> World:
        """Return the world itself: nothing in it changes, and copies would fill the memory."""
        return self

    def __repr__(self) -> str:
        """Say what it holds, not every number of it."""
        first, last = self.closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
        kind = "synthetic" if self.synthetic else "observed"
        return (
            f"<World {self.label!r}: {self.n_symbols} symbols × {self.n_bars:,} bars, {first} … "
            f"{last}, {len(self.feature_names)} features, {len(self.regime_names)} regimes, {kind}>"
        )

    @property
    def n_symbols(self) -> int:
        """N."""
        return len(self.symbols)

    @property
    def n_bars(self) -> int:
        """T."""
        return len(self.closed_at)


def select_symbols(world: World, symbols: Sequence[str]) -> World:
    """Keep some symbols, in the order given.

    Raises:
        DataError: If there is none, or one is not in the world; names the closest.
    """
    rows = [symbol_index(world, symbol) for symbol in symbols]
    kept: dict[str, Any] = {name: values[rows] for name, values in _arrays(world)}
    return replace(world, symbols=tuple(symbols), **kept)


def symbol_index(world: World, symbol: str) -> int:
    """Find a symbol on the first axis.

    Raises:
        DataError: If it is not in the world; names the closest.
    """
    rule = "symbol must be one of the world's"
    require_known(symbol, world.symbols, rule, where=world.label, error=DataError)
    return world.symbols.index(symbol)


def cut_world(world: World, first_bar: int, last_bar: int) -> World:
    """Keep the bars from `first_bar` to `last_bar`, both included.

    Raises:
        DataError: If they are not bars of the world in this order.
    """
    if not 0 <= first_bar <= last_bar < world.n_bars:
        rule = "bars must be in the world, the first not after the last"
        where = f"{world.n_bars} bars, {world.label}"
        raise DataError(rule, was=f"{first_bar} … {last_bar}", where=where)
    cut = slice(first_bar, last_bar + 1)
    kept: dict[str, Any] = {name: values[:, cut] for name, values in _arrays(world)}
    label = f"{world.label}, bars {first_bar} to {last_bar}"
    return replace(world, closed_at=world.closed_at[cut], label=label, **kept)


def with_probabilities(
    world: World, probabilities: FloatArray, source: str, *, of_one_model: bool = True
) -> World:
    """Let observations show supervised probabilities.

    Args:
        world: Without its own, or whose own are to be replaced.
        probabilities: (N, T, 3) of down, flat, up; or of a rise, by each of three models.
        of_one_model: Whether they are of one model, and so must add up to 1.
        source: Where they are from; becomes part of the label.

    Raises:
        DataError: If they are no probabilities of the world's symbols and bars.
    """
    # NaN fails every comparison, so that "all sums are near 1" also says that none is NaN.
    whole = (
        np.abs(probabilities.sum(axis=-1) - 1.0) < 1e-4 if of_one_model else probabilities <= 1.0
    )
    if probabilities.min() < 0.0 or not whole.all():
        raise DataError(
            f"probabilities must be 0 or more and {'add up to' if of_one_model else 'at most'} 1",
            was=f"{probabilities.min():g} … {probabilities.max():g}",
            where=source,
        )
    label = f"{world.label}, {source}"
    return replace(world, probabilities=probabilities.astype(np.float32), label=label)


def require_world(world: object) -> None:
    """Refuse what is not a world.

    Raises:
        DataError: Saying how worlds are made.
    """
    if not isinstance(world, World):
        remedy = "Make one with synthetic_world, world_from_bars or world_from_panel"
        raise DataError("world must be a World", was=repr(world)[:40], remedy=remedy)


def _arrays(world: World) -> list[tuple[str, NDArray[Any]]]:
    """Return arrays (N, T, …) that there are, by name."""
    arrays = [(name, getattr(world, name)) for name in _BY_BAR]
    return [(name, values) for name, values in arrays if values is not None]


def _require_axes(world: World) -> None:
    n, t = len(world.symbols), len(world.closed_at)
    if not n or not t:
        rule = "a world must have a symbol and a bar"
        remedy = "Choose a period and symbols that the data has"
        raise DataError(rule, was=f"{n} symbols and {t} bars", remedy=remedy)
    if len(set(world.symbols)) != n:
        raise DataError("symbols must be named once each", was=", ".join(world.symbols)[:60])
    expected: dict[str, tuple[int, ...]] = {
        "prices": (n, t, 5),
        "present": (n, t),
        "features": (n, t, len(world.feature_names)),
        "regimes": (n, t, len(world.regime_names)),
        "probabilities": (n, t, 3),
        "usable": (n, t),
    }
    if world.vwap is not None:
        expected["vwap"] = (n, t)
    for name, shape in expected.items():
        if getattr(world, name).shape != shape:
            rule = f"{name} must have shape {shape}"
            raise DataError(rule, was=getattr(world, name).shape, where=f"{n} symbols, {t} bars")


def _require_bounded(name: str, values: FloatArray, bound: float) -> None:
    # max() of a NaN is NaN, and a comparison with NaN is false: both faults are caught at once.
    if values.size and not (values.max() <= bound and values.min() >= -bound):
        rule = f"{name} must be finite and lie in [{-bound:g}, {bound:g}]"
        remedy = "Scale and clip them; undefined is written 0"
        raise DataError(rule, was=f"{values.min():g} … {values.max():g}", remedy=remedy)
