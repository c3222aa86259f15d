"""Bars as they close: history first, then each close of the exchange's calendar.

A bar is taken when every symbol has it, or when the time for late ones is over; who is late then is
missing, for ever. Closes that were slept through come one after another, as old as they are. A row
that no market makes is not taken: it would stay in features that remember.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np
import polars as pl

from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import UserError
from tradingbot.features.inputs import BAR_FIELDS, FloatArray, MarketInputs, join_as_of
from tradingbot.market.bars import find_impossible
from tradingbot.runtime.session.bar_record import BarRecord, Row, SeenBars
from tradingbot.runtime.session.bars import DatasetBars, MarketBar, as_datetime, as_datetime64
from tradingbot.runtime.session.clock import ExchangeHours

LATE_S = 30.0
"""Seconds after a close for which symbols that have no bar yet are waited for."""
_LONGEST_WAIT_S = 60.0


class BarSupplier(Protocol):
    """Where bars come from: a vendor, or a folder that grows."""

    def fetch(self, since: datetime) -> pl.DataFrame:
        """Return bars that closed after a moment, in the bar schema; late symbols have no row.

        Raises:
            UserError: If it cannot be told; it is asked again later.
        """
        ...


class LiveBars:
    """A `BarFeed` of history and of what closes from now on."""

    def __init__(
        self,
        history: MarketInputs,
        record: BarRecord,
        supplier: BarSupplier,
        hours: ExchangeHours,
        *,
        clock: Clock,
        poll_s: float = 2.0,
    ) -> None:
        """Begin with what is known.

        Args:
            history: Bars before the session.
            record: Bars that the session saw.
            supplier: Where the next ones come from.
            hours: Which closes to expect, half days included.
            clock: Time.
            poll_s: How often the supplier is asked while a bar is due.
        """
        self._history, self._record, self._supplier = history, record, supplier
        self._hours, self._clock, self._poll_s = hours, clock, poll_s
        self._seen = list(record.read())
        self._found: dict[datetime, dict[str, Row]] = {}
        self._asked_at: datetime | None = None  # and it answered
        self._tried_at: datetime | None = None
        self._failures = 0
        self._problem: str | None = None

    @property
    def symbols(self) -> tuple[str, ...]:
        """M names."""
        return self._history.symbols

    @property
    def time_zone(self) -> str:
        """IANA name of the exchange's zone."""
        return self._history.time_zone

    @property
    def problem(self) -> str | None:
        """Why the supplier could not be asked the last time; None where it answered."""
        return self._problem

    def bars(self, after: int = -1) -> Iterator[MarketBar | None]:
        """Yield history, what was seen, and what closes; None while nothing does."""
        n_history = self._history.shape[0]
        yield from DatasetBars(self._history, ends=False).bars(after)
        number = max(after - n_history + 1, 0)
        while True:
            if number < len(self._seen):
                yield self._bar(n_history + number, self._seen[number])
                number += 1
                continue
            close = self._hours.next_close(self._last_close)
            rows = self._collect(close)
            if rows is None:
                yield None
                continue
            seen = SeenBars(close, rows)
            self._record.write(len(self._seen), seen)
            self._seen.append(seen)

    def known_bars(self, last: int) -> Iterator[MarketBar]:
        """Yield bars up to a number, as far as they closed."""
        for bar in self.bars():
            if bar is None or bar.number > last:
                return
            yield bar
            if bar.number == last:
                return

    @property
    def _last_close(self) -> datetime:
        return self._seen[-1].closed_at if self._seen else as_datetime(self._history.closed_at[-1])

    def _collect(self, close: datetime) -> dict[str, Row] | None:
        """Return what is there of a close; None where it is too early to say."""
        now = self._clock.now()
        if now < close:
            return None
        final = close + timedelta(seconds=LATE_S)
        if not self._has_asked(final) and self._is_due(now):
            self._ask(now)
        found = self._found.get(close, {})
        if len(found) < len(self.symbols) and not self._has_asked(final):
            return None
        self._found = {at: rows for at, rows in self._found.items() if at > close}
        if not found:
            self._problem = "bars of the last close must arrive, was none of any symbol"
        return found

    def _has_asked(self, since: datetime) -> bool:
        return self._asked_at is not None and self._asked_at >= since

    def _is_due(self, now: datetime) -> bool:
        if self._tried_at is None:
            return True
        wait = min(self._poll_s * 2.0**self._failures, _LONGEST_WAIT_S)
        return abs(now - self._tried_at) >= timedelta(seconds=wait)  # or the clock was set back

    def _ask(self, now: datetime) -> None:
        self._tried_at = now
        try:
            bars = self._supplier.fetch(self._last_close)
        except UserError as e:
            self._failures, self._problem = min(self._failures + 1, 10), str(e)
            return
        self._failures, self._problem, self._asked_at = 0, None, now
        known = frozenset(self.symbols)
        for row in bars.iter_rows(named=True):
            at = row["closed_at"].astimezone(UTC)
            values = {name: float(row[name]) for name in BAR_FIELDS}
            if row["symbol"] in known and at <= now and _is_possible(values):
                self._found.setdefault(at, {}).setdefault(row["symbol"], values)

    def _bar(self, number: int, seen: SeenBars) -> MarketBar:
        symbols = self.symbols
        present = np.array([symbol in seen.rows for symbol in symbols])
        fields: Mapping[str, FloatArray] = {
            name: np.array(
                [seen.rows[each][name] if each in seen.rows else np.nan for each in symbols]
            )
            for name in BAR_FIELDS
        }
        at = np.array([as_datetime64(seen.closed_at)])
        covariates = {
            name: join_as_of(events, at, len(symbols))[0]
            for name, events in self._history.covariates.items()
        }
        return MarketBar(number, seen.closed_at, present, fields, covariates)


def _is_possible(row: Row) -> bool:
    values = np.array([row[name] for name in BAR_FIELDS])
    is_finite = bool(np.isfinite(values).all())
    return is_finite and not find_impossible(values, np.array(True))
