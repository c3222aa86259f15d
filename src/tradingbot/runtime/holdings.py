"""Positions and cash of a session from fills: exact, and equal to the venue's or told apart.

What is held is a fold of entries, each of which counts once: fills by their id, splits, and units
that were found at the venue without a fill. A fill that the venue takes back is folded out again,
so that profit is restated as if it had never been.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from tradingbot.domain.exact_number import add, multiply
from tradingbot.domain.position import Fill, Position, apply_fill, require_replay
from tradingbot.runtime.stock_split import StockSplit, split_units


@dataclass
class Holdings:
    """What a session holds; changed only by its own methods."""

    cash_ccy: Decimal
    positions: dict[str, Position] = field(default_factory=dict)
    """By symbol, flat ones too once they were held."""
    fill_ids: dict[str, Fill] = field(default_factory=dict)
    """Every fill that counts."""
    external: dict[str, Decimal] = field(default_factory=dict)
    """Symbol → signed units at the venue that a person said are not the session's: never traded."""
    undone: dict[str, tuple[StockSplit, ...]] = field(default_factory=dict)
    """Id of a fill that was taken back → splits that came between it and that."""
    _entries: dict[str, list[Fill | StockSplit]] = field(default_factory=dict)

    def book(self, fill: Fill) -> bool:
        """Book a fill; False where it was booked before.

        Raises:
            TradingError: If another fill has its id.
        """
        known = self.fill_ids.get(fill.fill_id)
        if known is not None:
            require_replay(known, fill)
            return False
        self.fill_ids[fill.fill_id] = fill
        self._append(fill)
        self.cash_ccy = add(self.cash_ccy, _cash_of(fill))
        return True

    def bust(self, fill_id: str) -> bool:
        """Fold a fill out again; False where it is not booked."""
        fill = self.fill_ids.pop(fill_id, None)
        if fill is None:
            return False
        entries = self._entries[fill.symbol]
        place = entries.index(fill)
        later = (each for each in entries[place:] if isinstance(each, StockSplit))
        self.undone[fill_id] = tuple(later)
        del entries[place]
        self.cash_ccy = add(self.cash_ccy, -_cash_of(fill))
        position = Position(fill.symbol)
        for entry in self._entries[fill.symbol]:
            position = _fold(position, entry)
        self.positions[fill.symbol] = position
        return True

    def split(self, split: StockSplit) -> None:
        """Change units without a trade; what they cost stays, so that entries are re-based."""
        self._append(split)
        self.cash_ccy = add(self.cash_ccy, split.cash_ccy)

    def split_external(self, split: StockSplit) -> None:
        """Change what is not the session's; `adopt` after a restart has it changed already."""
        if split.symbol in self.external:
            self.external[split.symbol] = split.units(self.external[split.symbol])

    def adopt(self, units: Mapping[str, Decimal]) -> None:
        """Know units at the venue as external; they are added to those known before."""
        for symbol, found in units.items():
            self.external[symbol] = add(self.external.get(symbol, Decimal(0)), found)

    def units(self, symbol: str) -> Decimal:
        """Return signed units of a symbol; 0 where it was never held."""
        position = self.positions.get(symbol)
        return Decimal(0) if position is None else position.units

    def find_drift(self, at_venue: Mapping[str, Decimal]) -> dict[str, Decimal]:
        """Return our units, with external ones, less the venue's for each symbol that differs."""
        symbols, none = {*at_venue, *self.positions, *self.external}, Decimal(0)
        drift = {
            each: add(self.units(each), self.external.get(each, none), -at_venue.get(each, none))
            for each in symbols
        }
        return {symbol: units for symbol, units in sorted(drift.items()) if units}

    def equity_ccy(self, marks: Mapping[str, Decimal]) -> Decimal | None:
        """Return cash and positions at prices; None where a held symbol has no price."""
        total = self.cash_ccy
        for symbol, position in self.positions.items():
            if position.is_flat:
                continue
            mark = marks.get(symbol)
            if mark is None or not mark.is_finite():
                return None
            total = add(total, multiply(position.units, mark))
        return total

    def _append(self, entry: Fill | StockSplit) -> None:
        position = self.positions.get(entry.symbol) or Position(entry.symbol)
        self.positions[entry.symbol] = _fold(position, entry)
        self._entries.setdefault(entry.symbol, []).append(entry)


def _fold(position: Position, entry: Fill | StockSplit) -> Position:
    return apply_fill(position, entry) if isinstance(entry, Fill) else split_units(position, entry)


def _cash_of(fill: Fill) -> Decimal:
    return add(-multiply(fill.signed_units, fill.price), -fill.fee_ccy)
