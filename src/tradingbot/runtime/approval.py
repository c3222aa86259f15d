"""The token of the risk gate: a broker sends nothing without it.

The seal is an HMAC over everything that the intent says, with a secret that lives as long as the
process, or until the kill switch is pressed: an intent that was changed after it was judged, or
never judged, has no true seal.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import plain_text
from tradingbot.domain.order_intent import OrderIntent

_FIELDS = tuple(each.name for each in fields(OrderIntent))
_SECRET = [secrets.token_bytes(32)]


@dataclass(frozen=True)
class Approval:
    """An intent that passed every rule, with the gate's seal."""

    intent: OrderIntent
    seal: bytes


def seal_intent(intent: OrderIntent) -> Approval:
    """Approve an intent. Only `runtime.gate` may call this, which a test holds."""
    return Approval(intent, _seal(intent))


def require_seal(approval: object) -> OrderIntent:
    """Return the intent of an approval whose seal is true: what a broker does first.

    Raises:
        TradingError: If it is none, or the intent is not the one that was approved.
    """
    remedy = "Send what SessionGate.judge returned, unchanged, in the process that judged it"
    if not isinstance(approval, Approval):
        rule, was = "an order must be approved by the session's gate", type(approval).__name__
        raise TradingError(rule, was=was, where="Broker.submit", remedy=remedy)
    if not hmac.compare_digest(approval.seal, _seal(approval.intent)):
        rule = "the seal of an approval must be the gate's own over this intent"
        where = f"Broker.submit {approval.intent.client_order_id}"
        raise TradingError(rule, was="another seal", where=where, remedy=remedy)
    return approval.intent


def revoke_approvals() -> None:
    """Make every approval of this process void: what the kill switch does first."""
    _SECRET[0] = secrets.token_bytes(32)


def _seal(intent: OrderIntent) -> bytes:
    values = (getattr(intent, name) for name in _FIELDS)
    content = json.dumps([intent.client_order_id, *(_text(each) for each in values)])
    return hmac.digest(_SECRET[0], content.encode(), "sha256")


def _text(value: object) -> str:
    """Write a field so that equal ones are equal texts: 1.50 is 1.5, and a moment is in UTC."""
    if isinstance(value, Decimal):
        return plain_text(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return repr(value)
