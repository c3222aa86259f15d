"""Splits as Alpaca announces them, through its official client, and what it paid for fractions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.rate_budget import Lane
from tradingbot.runtime.brokers.alpaca.reading import SymbolNames, number
from tradingbot.runtime.brokers.alpaca.wire import (
    AnswerLostError,
    TooManyRequestsError,
    TradingWire,
    VenueRefusalError,
    wire_symbol,
)
from tradingbot.runtime.stock_split import AnnouncedSplit

with warnings.catch_warnings():  # the client loads a deprecated module
    warnings.filterwarnings("ignore", "websockets", DeprecationWarning)
    from alpaca.data.enums import CorporateActionsType
    from alpaca.data.historical.corporate_actions import CorporateActionsClient
    from alpaca.data.requests import CorporateActionsRequest

_KINDS = {"forward_splits": "forward_split", "reverse_splits": "reverse_split"}
FAILURES = (AnswerLostError, TooManyRequestsError, VenueRefusalError)
CASH_IN_LIEU = "CIL"
"""Kind of the activities by which Alpaca pays for fractions."""


class AnnouncementWire(TradingWire):
    """Announcements of the data interface, and payments of the account."""

    def __init__(
        self, credentials: AlpacaCredentials, settings: AlpacaBrokerSettings, clock: Clock
    ) -> None:
        super().__init__(credentials, settings, clock)
        self._data = CorporateActionsClient(
            credentials.key_id,
            credentials.secret_key,
            raw_data=True,
            url_override=settings.announcements_url,
        )
        self._data._session.close()
        self._data._session = self._session
        self._data._retry, self._data._retry_codes = 0, []

    def splits(self, wanted: CorporateActionsRequest) -> dict[str, Any]:
        """Return announcements by their kinds, over as many pages as needed."""
        return self._ask(lambda: self._data.get_corporate_actions(wanted), Lane.ORDINARY, dict)

    def payments(self, after: date) -> list[dict[str, Any]]:
        """Return what was paid for fractions after a day."""
        query = {"after": after.isoformat(), "direction": "asc", "page_size": 100}
        get = partial(self._client.get, f"/account/activities/{CASH_IN_LIEU}", query)
        return self._ask(get, Lane.ORDINARY, list)


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
        wanted = CorporateActionsRequest(
            symbols=[wire_symbol(each) for each in symbols],
            types=[CorporateActionsType(each) for each in _KINDS.values()],
            start=after + timedelta(days=1),
            end=until,
        )
        with closing(AnnouncementWire(self.credentials, self.settings, self.clock)) as wire:
            try:
                answer = wire.splits(wanted)
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
