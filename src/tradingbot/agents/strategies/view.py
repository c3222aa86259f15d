"""What a strategy sees when it decides at the close of a bar: the market until then, its positions.

The arrays of a view are buffers into which a bar is copied when it closes: what comes later is not
in their memory, so a strategy cannot read it by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
TableKind = Literal["bar", "feature", "scaled"]
BAR_NAMES = ("open", "high", "low", "close", "volume", "vwap")


class MarketTables(Protocol):
    """The whole market by name, from which views are revealed bar by bar."""

    symbols: tuple[str, ...]
    """N names."""
    closed_at: NDArray[np.int64]
    """(T,) microseconds since 1970 UTC."""
    present: NDArray[np.bool_]
    """(N, T) there is a bar."""

    def names(self, kind: TableKind) -> tuple[str, ...]:
        """Return the names there are of a kind."""

    def table(self, kind: TableKind, name: str) -> FloatArray:
        """Return one table (N, T).

        Raises:
            ConfigError: If there is none of that name.
        """


class _Revealed:
    """Buffers (N, T) of the tables that were asked for, filled until a bar; NaN after it."""

    def __init__(self, tables: MarketTables) -> None:
        self._tables, self._bar = tables, -1
        self._buffers: dict[tuple[TableKind, str], tuple[FloatArray, FloatArray]] = {}

    def advance(self, bar: int) -> None:
        """Reveal everything until a bar; an earlier one than before begins anew."""
        if bar < self._bar:
            self._buffers.clear()
        for buffer, source in self._buffers.values():
            buffer[:, self._bar + 1 : bar + 1] = source[:, self._bar + 1 : bar + 1]
        self._bar = bar

    def read(self, kind: TableKind, name: str) -> FloatArray:
        """Return a table until the bar (N, t + 1), read-only."""
        if (kind, name) not in self._buffers:
            source = self._tables.table(kind, name)
            buffer = np.full(source.shape, np.nan)
            buffer[:, : self._bar + 1] = source[:, : self._bar + 1]
            self._buffers[kind, name] = buffer, source
        values = self._buffers[kind, name][0][:, : self._bar + 1]
        values.flags.writeable = False
        return values


class _Columns(Mapping[str, FloatArray]):
    """Features by name, each (N, t + 1)."""

    def __init__(self, names: tuple[str, ...], read: Callable[[str], FloatArray]) -> None:
        self._names, self._read = names, read

    def __getitem__(self, name: str) -> FloatArray:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{len(self._names)} features: {', '.join(self._names)}>"


class MarketView:
    """The market of N symbols until bar t, and what is held; arrays are read-only, newest last.

    Prices of a symbol without a bar are its last ones, NaN before its first; its volume is 0.

    Example:
        `view.close[:, -1]` is the newest close of each symbol, `view.close[:, -20:].mean(axis=1)`
        its mean over 20 bars.
    """

    def __init__(
        self, tables: MarketTables, revealed: _Revealed, bar: int, position: FloatArray
    ) -> None:
        self._tables, self._revealed = tables, revealed
        self.symbols = tables.symbols
        """N names."""
        self.bar = bar
        """t, counted from the first bar of the data."""
        self.position = position
        """(N,) what is held ÷ the largest position, −1 … 1."""

    @property
    def n_bars(self) -> int:
        """Bars that are known, t + 1."""
        return self.bar + 1

    @property
    def closed_at(self) -> NDArray[np.datetime64]:
        """(t + 1,) closing times, UTC."""
        return self._tables.closed_at[: self.n_bars].astype("datetime64[us]")

    @property
    def present(self) -> NDArray[np.bool_]:
        """(N, t + 1) there is a bar."""
        return self._tables.present[:, : self.n_bars].copy()

    @property
    def open(self) -> FloatArray:
        """(N, t + 1) opening prices."""
        return self._revealed.read("bar", "open")

    @property
    def high(self) -> FloatArray:
        """(N, t + 1) highest prices."""
        return self._revealed.read("bar", "high")

    @property
    def low(self) -> FloatArray:
        """(N, t + 1) lowest prices."""
        return self._revealed.read("bar", "low")

    @property
    def close(self) -> FloatArray:
        """(N, t + 1) closing prices."""
        return self._revealed.read("bar", "close")

    @property
    def volume(self) -> FloatArray:
        """(N, t + 1) units traded; 0 where there is no bar."""
        return self._revealed.read("bar", "volume")

    @property
    def vwap(self) -> FloatArray:
        """(N, t + 1) volume-weighted mean prices; (high + low + close) / 3 where unknown."""
        return self._revealed.read("bar", "vwap")

    @property
    def features(self) -> Mapping[str, FloatArray]:
        """Registered features as traders know them, by name, each (N, t + 1)."""
        names = self._tables.names("feature")
        return _Columns(names, lambda name: self._revealed.read("feature", name))

    @property
    def scaled(self) -> Mapping[str, FloatArray]:
        """The same as learners see them, scaled by statistics of training bars; 0 if undefined."""
        names = self._tables.names("scaled")
        return _Columns(names, lambda name: self._revealed.read("scaled", name))

    def __repr__(self) -> str:
        return (
            f"<MarketView of {len(self.symbols)} symbols, {self.n_bars} bars until "
            f"{self.closed_at[-1].astype('datetime64[m]')}Z>"
        )


class MarketReel:
    """Makes views of one market in the order of its bars; each strategy has one of its own."""

    def __init__(self, tables: MarketTables) -> None:
        self.tables = tables
        self._revealed = _Revealed(tables)

    def view(self, bar: int, position: FloatArray) -> MarketView:
        """Return what is known at the close of a bar, with positions (N,)."""
        self._revealed.advance(bar)
        return MarketView(self.tables, self._revealed, bar, position)
