"""An order reaches a broker only with the gate's seal over exactly this intent."""

from __future__ import annotations

import ast
from dataclasses import replace
from datetime import timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

import tradingbot
from fixtures.order_records import AT, intent
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order_intent import OrderType, Side, TimeInForce
from tradingbot.runtime import approval as module
from tradingbot.runtime.approval import Approval, require_seal, seal_intent

SOURCE = Path(tradingbot.__file__).parent
MAY_SEAL = {"runtime/gate.py", "runtime/approval.py"}
CHANGES = {
    "symbol": "QQQ",
    "side": Side.SELL,
    "quantity_units": Decimal("10.000000001"),
    "decided_at": AT + timedelta(microseconds=1),
    "model": "5f3b",
    "sequence": 1,
    "time_in_force": TimeInForce.GOOD_TILL_CANCELLED,
    "confidence": 0.7,
}


def test_true_seal_gives_the_intent() -> None:
    assert require_seal(seal_intent(intent())) == intent()


def test_equal_intents_have_one_seal_however_they_are_written() -> None:
    there = timezone(timedelta(hours=-5))
    same = replace(intent(), quantity_units=Decimal("10.00"), decided_at=AT.astimezone(there))

    assert seal_intent(same).seal == seal_intent(intent()).seal


@pytest.mark.parametrize("field", CHANGES)
def test_intent_changed_after_the_gate_is_refused(field: str) -> None:
    changed = Approval(replace(intent(), **{field: CHANGES[field]}), seal_intent(intent()).seal)

    with pytest.raises(TradingError, match="seal of an approval must be the gate's own"):
        require_seal(changed)


def test_limit_price_is_part_of_the_seal() -> None:
    limited = intent(order_type=OrderType.LIMIT, limit_price=Decimal("100.25"))
    changed = replace(limited, limit_price=Decimal("1000.25"))

    with pytest.raises(TradingError, match="seal"):
        require_seal(Approval(changed, seal_intent(limited).seal))


@pytest.mark.parametrize("forged", [b"", b"0" * 32, "intent", None])
def test_forged_or_missing_seal_is_refused(forged: object) -> None:
    if isinstance(forged, bytes):
        forged = Approval(intent(), forged)
    elif forged == "intent":
        forged = intent()

    with pytest.raises(TradingError, match=r"approved by|seal of"):
        require_seal(forged)


def test_seal_of_another_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = seal_intent(intent())
    monkeypatch.setattr(module, "_SECRET", [b"of another process"])

    with pytest.raises(TradingError, match="seal"):
        require_seal(sealed)


def test_every_field_of_an_intent_is_tried() -> None:
    assert {*CHANGES, "limit_price", "order_type"} == set(intent().__dataclass_fields__)


def test_only_the_gate_makes_approvals() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
            if called and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
                *("Approval", "seal_intent", "_seal"),
            ):
                found.add(path.relative_to(SOURCE).as_posix())

    assert found <= MAY_SEAL
