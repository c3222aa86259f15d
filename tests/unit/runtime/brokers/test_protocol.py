"""Records of brokers refuse what contradicts itself."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from fixtures.order_records import AT, accepted, fill
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.runtime.brokers.protocol import (
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
    UpdateKind,
)


def broker_order(**fields: Any) -> BrokerOrder:
    given = {
        "client_order_id": "a",
        "venue_order_id": "v",
        "symbol": "SPY",
        "side": Side.BUY,
        "quantity_units": Decimal(10),
        "filled_units": Decimal(0),
        "average_price": None,
        "status": OrderStatus.ACCEPTED,
        "submitted_at": AT,
    }
    return BrokerOrder(**(given | fields))


@pytest.mark.parametrize("outcome", [SubmitOutcome.REJECTED, SubmitOutcome.UNKNOWN])
def test_request_that_was_not_accepted_says_why(outcome: SubmitOutcome) -> None:
    assert SubmitReport(outcome, reason="504").reason == "504"
    with pytest.raises(TradingError, match="must say why"):
        SubmitReport(outcome)


@pytest.mark.parametrize("kind", UpdateKind)
def test_update_has_a_fill_where_units_moved_and_nowhere_else(kind: UpdateKind) -> None:
    moved = kind in (UpdateKind.FILLED, UpdateKind.BUSTED)
    given = fill(accepted(), "1")

    BrokerUpdate(kind, "a", AT, fill=given if moved else None)
    with pytest.raises(TradingError, match="fill must be given for filled and busted"):
        BrokerUpdate(kind, "a", AT, fill=None if moved else given)
    with pytest.raises(TradingError, match="time zone"):
        BrokerUpdate(kind, "a", AT.replace(tzinfo=None), fill=given if moved else None)


def test_order_of_a_status_that_is_not_known_counts_as_open() -> None:
    assert broker_order(status=None).is_open  # B11
    assert broker_order(status=OrderStatus.PENDING_CANCEL).is_open
    assert not broker_order(status=OrderStatus.FILLED).is_open
    assert not broker_order(status=OrderStatus.CANCELLED).is_open


@pytest.mark.parametrize(
    "field", [{"quantity_units": Decimal(0)}, {"quantity_units": 1.0}, {"filled_units": 0.5}]
)
def test_numbers_of_an_order_are_exact(field: dict[str, Any]) -> None:
    with pytest.raises(TradingError, match="must be"):
        broker_order(**field)
