"""Whether bars are young enough to be traded on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tradingbot.serving.server.identity import identity_headers
from tradingbot.serving.server.parts import ServerParts
from tradingbot.serving.server.prediction import ServingModel, hold_all
from tradingbot.serving.server.problems import Problem, invalid

_FUTURE_S = 60.0
"""Seconds that a bar may have closed ahead of our clock."""


def require_fresh(
    parts: ServerParts, serving: ServingModel, closed_at: datetime, symbols: Sequence[str]
) -> None:
    """Refuse bars that are too old to trade on: HOLD, never a fresh order.

    Raises:
        Problem: 409, with a HOLD of every symbol.
    """
    require_past(parts, closed_at)
    old_s = age_s(parts, closed_at)
    if old_s > parts.settings.max_bar_age_s:
        why = f"the newest bar closed {old_s:.0f} s ago, {parts.settings.max_bar_age_s:g} s at most"
        held = hold_all(serving, symbols, "the bar is too old")
        raise Problem(
            *(409, "stale", why),
            headers=identity_headers(serving),
            more={"signals": [each.model_dump() for each in held.signals]},
        )


def require_past(parts: ServerParts, closed_at: datetime) -> None:
    """Refuse bars that have not closed yet.

    Raises:
        Problem: 422.
    """
    if age_s(parts, closed_at) < -_FUTURE_S:
        raise invalid("a bar must have closed by now", "closed_at", code="future")


def age_s(parts: ServerParts, closed_at: datetime) -> float:
    """Return how many seconds ago a bar closed."""
    return (parts.clock() - closed_at).total_seconds()
