"""Positions that a kill could not close yet, and why, as the journal of the session tells it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import ActAudited
from tradingbot.domain.order import Order
from tradingbot.runtime.breaker import Breaker

LEFT = "left:"
"""Before a symbol, among the details of a kill: why it is not closed yet."""


@dataclass(frozen=True)
class UnclosedPosition:
    """What is still held although a kill was to close it."""

    symbol: str
    units: Decimal
    why: str
    """The rule that denies it with its numbers, or that the venue could not be asked."""


def find_unclosed(
    acts: Iterable[Event], positions: Mapping[str, Decimal], orders: Iterable[Order]
) -> tuple[UnclosedPosition, ...]:
    """Return what the last kill left open; nothing where its exits are under way.

    Args:
        acts: Events of the session in their order; acts of persons count.
        positions: Symbol → signed units, as they were saved last.
        orders: Of the session.
    """
    last: ActAudited | None = None
    for act in acts:
        if isinstance(act, ActAudited) and act.act == "kill":
            is_whole = act.details.get("flatten") == "true"
            last = act if is_whole else last
        elif isinstance(act, ActAudited) and act.act == "arm":
            is_over = Breaker.KILL_SWITCH in act.details.get("breakers", "").split(", ")
            last = None if is_over else last
    if last is None:
        return ()
    told = last.details
    under_way = {
        each.intent.symbol
        for each in orders
        if each.status.is_at_venue and each.intent.reduces(_held(positions, each.intent.symbol))
    }
    held = {symbol: units for symbol, units in sorted(positions.items()) if units}
    if not told.get("cancelled", "").isdigit() and "exits" not in told:
        why = dict.fromkeys(held.keys() - under_way, told.get("cancelled", ""))
    else:
        why = {key.removeprefix(LEFT): each for key, each in told.items() if key.startswith(LEFT)}
    return tuple(
        UnclosedPosition(symbol, units, why[symbol])
        for symbol, units in held.items()
        if symbol in why
    )


def _held(positions: Mapping[str, Decimal], symbol: str) -> Decimal:
    return positions.get(symbol, Decimal(0))
