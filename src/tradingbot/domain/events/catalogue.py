"""Every kind of event by name: what a journal may hold and a dashboard may be shown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tradingbot.domain.events import session, trading, training
from tradingbot.domain.events.event import Event

EVENTS: Mapping[str, type[Event]] = MappingProxyType(
    {
        kind.__name__: kind
        for module in (training, trading, session)
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Event)
        and kind.__module__ == module.__name__
        and not kind.__name__.startswith("_")
    }
)
"""Name → class."""
