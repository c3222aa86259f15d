"""Splits that a person announced to the paper broker in a file: it does them on their day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from tradingbot.domain.errors import BrokerUnavailableError, ConfigError
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.paper.split_file import read_splits
from tradingbot.runtime.stock_split import AnnouncedSplit, StockSplit


@dataclass(frozen=True)
class PaperSplits:
    """A `SplitSource` of the built-in broker; the file is read each time: it may grow."""

    broker: PaperBroker
    path: Path
    begin_of: Callable[[date], datetime]
    """When a day begins at the exchange."""

    def due(self, symbols: tuple[str, ...], after: date, until: date) -> tuple[AnnouncedSplit, ...]:
        """Let the broker do what is due, once, and say what it paid.

        Raises:
            BrokerUnavailableError: If the file cannot be read now: a person may be writing it.
            ConfigError: If a symbol was traded since its split.
        """
        try:
            found = read_splits(self.path)
        except ConfigError as e:
            rule, remedy = "announced splits must be known", "Mend the file; nothing is sent before"
            raise BrokerUnavailableError(rule, was=e, remedy=remedy) from e
        due = [each for each in found if each.symbol in symbols and after < each.ex_date <= until]
        return tuple(replace(each, cash_ccy=self._do(each)) for each in due)

    def _do(self, announced: AnnouncedSplit) -> Decimal:
        split = StockSplit(announced.symbol, announced.numerator, announced.denominator)
        return self.broker.split(split, self.begin_of(announced.ex_date))
