"""What limits would deny: the bars before a session's first one, traded for nothing.

The session itself is rehearsed, with its own rules, limits, gate and venue, in a folder that is
thrown away. Features begin with the bars that they need, not with all there are.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tradingbot.app.paper.period import count_warm_up
from tradingbot.app.paper.session import desk_of
from tradingbot.domain.denial import Denial
from tradingbot.features.inputs import MarketInputs
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.session_rules import SESSION_RULES
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.session.bars import DatasetBars
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.settings import SessionSettings
from tradingbot.runtime.session.terms import SessionTerms
from tradingbot.runtime.session.venue import PaperVenue
from tradingbot.serving.served_model import ServedModel

REHEARSED_BARS = 40
"""Before the first one that is decided on."""
_NOTED_SHARE = 0.1
"""Of orders that are denied, from which on a person is told."""
_LIMITS = {
    **{rule.code.name: rule.limit for rule in SESSION_RULES if rule.limit},
    **{rule.code.name: rule.limit for rule in RULES if rule.limit},
}
_LOWEST, _POSITION = "min_confidence", "max_position_frac"
_NUMBERS = re.compile(r"limit=(\S+) observed=(\S+)")


@dataclass(frozen=True)
class Rehearsal:
    """What became of the orders that a model wanted."""

    n_bars: int
    n_wanted: int
    """Orders that were put before the gate; those that are too small to matter are left out."""
    denied: dict[str, int]
    """Code → orders, the most frequent first."""
    wider: dict[str, float]
    """Limit → what would have let the largest of them pass."""

    @property
    def is_worth_telling(self) -> bool:
        """Whether the limits keep the model from a good part of what it wants."""
        return sum(self.denied.values()) > _NOTED_SHARE * self.n_wanted

    @property
    def words(self) -> str:
        """The result in one line, with what to do about it."""
        codes = ", ".join(f"{code} {count}" for code, count in self.denied.items())
        told = (
            f"limits deny {sum(self.denied.values())} of {self.n_wanted} orders that the model "
            f"wants at the {self.n_bars} bars before: {codes}"
        )
        options = " ".join(f"--limit {name}={value:g}" for name, value in self.wider.items())
        return f"{told}. If that is not meant, try e.g. {options}" if options else told


def rehearse(
    settings: SessionSettings, model: ServedModel, inputs: MarketInputs, hours: ExchangeHours
) -> Rehearsal | None:
    """Trade the bars before a session's first; None where there are too few of them.

    Args:
        settings: Of the session.
        model: What decides.
        inputs: Bars of which those before the first one are traded.
        hours: Of the exchange.
    """
    needed, stop = count_warm_up(model), min(settings.first_bar, inputs.shape[0])
    first = max(needed - 1, stop - REHEARSED_BARS)
    if stop - first < 2:
        return None
    row = max(0, first - max(needed, model.lookback_bars) + 1)
    bars = DatasetBars(inputs.truncated(stop).from_row(row))
    terms = SessionTerms(settings.rules, settings.costs, first - row)
    with TemporaryDirectory() as temporary:
        reasons = _trade(Path(temporary), settings, model, bars, hours, terms)
    n_accounts = len(model.symbols) if model.portfolio is None else 1
    return _count(stop - first - 1, reasons, settings, n_accounts)


def _trade(
    folder: Path,
    settings: SessionSettings,
    model: ServedModel,
    bars: DatasetBars,
    hours: ExchangeHours,
    terms: SessionTerms,
) -> list[str | None]:
    """Return why each order was denied; None of those that were sent."""
    venue, rules = folder / "venue.sqlite", settings.rules
    broker = PaperBroker(venue, rules, settings.costs, settings.venue, clock=hours.clock)
    journal = SessionJournal.open(folder / "journal.sqlite", create=True)
    try:
        desk = desk_of(settings, journal, broker)
        session = TradingSession(desk, model, bars, hours, terms, venue=PaperVenue(broker))
        for bar in bars.bars():
            session.take(bar, bar.closed_at)
        return [order.reason for order in journal.orders(settings.name)]
    finally:
        journal.close()
        broker.close()


def _count(
    n_bars: int, reasons: list[str | None], settings: SessionSettings, n_accounts: int
) -> Rehearsal:
    small = f"{Denial.MIN_TRADE_VALUE.name}:"
    told = [each for each in reasons if each is None or not each.startswith(small)]
    denied = [each.partition(":")[0] for each in told if each is not None]
    wider: dict[str, float] = {}
    for each in told:
        code, _, numbers = (each or "").partition(":")
        found, name = _NUMBERS.search(numbers), _LIMITS.get(code)
        if found is None or name is None:
            continue
        limits = settings.limits if hasattr(settings.limits, name) else settings.session_limits
        value = _widened(name, getattr(limits, name), float(found[1]), float(found[2]))
        if value is not None:
            choose = min if name == _LOWEST else max
            wider[name] = choose(value, wider.get(name, value))
    if _POSITION in wider:  # what is denied at once never grows to what the model's rules allow
        whole = settings.rules.limits.max_position_frac / n_accounts
        wider[_POSITION] = min(1.0, max(wider[_POSITION], round(1.2 * whole, 2)))
    return Rehearsal(n_bars, len(told), dict(Counter(denied).most_common()), wider)


def _widened(name: str, value: object, limit: float, observed: float) -> float | None:
    """Return what a limit would have had to be, rounded away from what was observed."""
    if name == _LOWEST:
        return math.floor(observed * 100) / 100 if observed >= 0 else None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or limit <= 0:
        return None
    needed = value * observed / limit
    return math.ceil(needed * 105) / 100 if math.isfinite(needed) else None
