"""Splits as Alpaca announces them, through its official client, and what it paid for fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.data_wire import FAILURES, DataWire
from tradingbot.runtime.brokers.alpaca.reading import SymbolNames, number
from tradingbot.runtime.stock_split import AnnouncedSplit

_KINDS = {"forward_splits": "forward_split", "reverse_splits": "reverse_split"}


@dataclass(frozen=True)
class AlpacaSplits:
    """A `SplitSource` of Alpaca's account."""

    credentials: AlpacaCredentials
    settings: AlpacaBrokerSettings
    clock: Clock = field(default_factory=Clock)

    def due(self, symbols: tuple[str, ...], after: date, until: date) -> tuple[AnnouncedSplit, ...]:
        """Ask for splits of symbols by their ex-date, in one request.

        Raises:
            BrokerUnavailableError: If it cannot be told, or an announcement cannot be read.
        """
        names = SymbolNames(symbols)
        kinds, first = tuple(_KINDS.values()), after + timedelta(days=1)
        with closing(DataWire(self.credentials, self.settings, self.clock)) as wire:
            try:
                answer = wire.splits(symbols, kinds, first, until)
                rows = [row for kind in _KINDS for row in answer.get(kind) or ()]
                paid = wire.payments(after) if rows else []
                found = {(each.symbol, each.ex_date): each for each in _read(rows, names, paid)}
            except FAILURES as e:
                raise _unavailable(wire.quote(e), self.settings) from e
            except (KeyError, TypeError, ValueError, ArithmeticError) as e:
                was = f"an announcement that cannot be read ({type(e).__name__})"
                raise _unavailable(was, self.settings) from e
        due = [each for each in found.values() if after < each.ex_date <= until]
        return tuple(sorted(due, key=lambda each: (each.ex_date, each.symbol)))


def _unavailable(was: str, settings: AlpacaBrokerSettings) -> BrokerUnavailableError:
    rule, remedy = "Alpaca must say which splits took place", "Nothing is assumed; look again"
    return BrokerUnavailableError(rule, was=was, where=settings.announcements_url, remedy=remedy)


def _read(
    rows: Sequence[dict[str, Any]], names: SymbolNames, paid: Sequence[dict[str, Any]]
) -> Iterable[AnnouncedSplit]:
    days = [(row["symbol"], date.fromisoformat(str(row["ex_date"]))) for row in rows]
    for row, (name, day) in zip(rows, days, strict=True):
        ratio = Fraction(str(row["new_rate"])) / Fraction(str(row["old_rate"]))
        symbol = names.ours(name)
        following = min((at for other, at in days if other == name and at > day), default=date.max)
        cash: list[Decimal] = [
            number(each["net_amount"])
            for each in paid
            if names.ours(each["symbol"]) == symbol
            and day <= date.fromisoformat(each["date"]) < following
        ]
        told = sum(cash, Decimal(0)) if cash else None
        yield AnnouncedSplit(symbol, ratio.numerator, ratio.denominator, day, told)
