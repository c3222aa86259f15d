"""Whether a session may trade: ACTIVE, REDUCING, HALTED, and which changes are legal.

Tightening is free: any control may do it at once. Loosening needs a name and a reason, so that a
breaker that tripped stays tripped until it is armed again on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tradingbot.domain.errors import TradingError


class TradingState(StrEnum):
    """What a session may do; cancelling is allowed in each."""

    ACTIVE = "active"
    """Every order that the risk gate approves."""
    REDUCING = "reducing"
    """Orders that only make positions smaller."""
    HALTED = "halted"
    """No order."""

    def permits(self, *, reduces: bool) -> bool:
        """Tell whether an order may be sent.

        Args:
            reduces: It only makes a position smaller and does not turn it.
        """
        return self is TradingState.ACTIVE or (self is TradingState.REDUCING and reduces)


_STRICTNESS = (TradingState.ACTIVE, TradingState.REDUCING, TradingState.HALTED)


@dataclass(frozen=True)
class TradingStateChange:
    """A step from one state to another.

    Raises:
        TradingError: If it has no reason, or loosens without a name.
    """

    before: TradingState
    after: TradingState
    reason: str
    authorised_by: str | None = None
    """Name under which it is armed again; None where a control tightens."""

    def __post_init__(self) -> None:
        where = f"{self.before.value} → {self.after.value}"
        if not self.reason.strip():
            raise TradingError("a change must have a reason", was="none", where=where)
        if self.loosens and not (self.authorised_by or "").strip():
            raise TradingError(
                "a state must be loosened under a name",
                was=f"{self.reason!r} without a name",
                where=where,
                remedy="Give authorised_by",
            )

    @property
    def loosens(self) -> bool:
        """Whether more is allowed afterwards than before."""
        return _STRICTNESS.index(self.after) < _STRICTNESS.index(self.before)


def change_trading_state(
    state: TradingState, to: TradingState, *, reason: str, authorised_by: str | None = None
) -> TradingStateChange | None:
    """Return the change from one state to another; None where it is that state already.

    A kill switch that is pressed twice is not an error.

    Raises:
        TradingError: If it has no reason, or loosens without a name.
    """
    change = TradingStateChange(state, to, reason, authorised_by)
    return None if state is to else change
