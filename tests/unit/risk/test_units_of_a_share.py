"""Rules ask for money: shares that are split or merged, a thousand to one, change no verdict."""

from __future__ import annotations

import pytest
import torch

from tradingbot.domain.denial import Denial
from tradingbot.risk import RiskLimits
from tradingbot.risk.gate import judge
from tradingbot.risk.rule import OrderView

LONG = RiskLimits(0.2, 0.1, reserve_frac=0.3, min_trade_ccy=25.0)
SHORT = RiskLimits(0.2, 5.0, min_trade_ccy=25.0, allow_short=True, margin_frac=3.0)
RICH, POOR = 10_000.0, 100.0
CASES = [
    # limits, units held, units ordered, cash, verdict
    (LONG, 0.0, 5.0, RICH, Denial.NONE),
    (LONG, 0.0, 10.001, RICH, Denial.MAX_ORDER_VALUE),
    (LONG, 15.0, 5.0, RICH, Denial.NONE),
    (LONG, 15.0, 5.001, RICH, Denial.MAX_POSITION),
    (LONG, 30.0, -5.0, POOR, Denial.NONE),  # still above the largest position, but less of it
    (LONG, 30.0, 5.0, RICH, Denial.MAX_POSITION),
    (LONG, 5.0, -5.0, POOR, Denial.NONE),
    (LONG, 5.0, -5.001, RICH, Denial.SHORT_NOT_ALLOWED),
    (LONG, 5.0, 5.0, POOR, Denial.CASH_RESERVE),
    (LONG, 5.0, 0.2, RICH, Denial.MIN_TRADE_VALUE),
    (LONG, 5.0, -0.2, RICH, Denial.MIN_TRADE_VALUE),
    (LONG, 0.2, -0.2, RICH, Denial.NONE),  # closes whole
    (SHORT, 0.0, -5.0, RICH, Denial.NONE),
    (SHORT, 0.0, -5.0, POOR, Denial.MARGIN),
    (SHORT, 5.0, -10.0, POOR, Denial.MARGIN),  # turns
    (SHORT, -5.0, -5.0, POOR, Denial.MARGIN),
    (SHORT, -5.0, 3.0, POOR, Denial.NONE),
    (SHORT, -5.0, 5.0, POOR, Denial.NONE),
    (SHORT, -5.0, 9.0, POOR, Denial.CASH_RESERVE),
    (SHORT, -15.0, -6.0, RICH, Denial.MAX_POSITION),
    (SHORT, 15.0, -36.0, RICH, Denial.MAX_POSITION),
]


@pytest.mark.parametrize("split", [1.0, 1024.0, 1.0 / 1024.0])
@pytest.mark.parametrize(("limits", "units", "order", "cash", "denial"), CASES)
def test_verdict_is_the_same_whatever_a_share_is(
    limits: RiskLimits, units: float, order: float, cash: float, denial: Denial, split: float
) -> None:
    numbers = (order * split, units * split, 100.0 / split, cash, 10_000.0)
    view = OrderView(
        *(torch.tensor([x], dtype=torch.float64) for x in numbers),
        *(torch.zeros(1, dtype=torch.int32) for _ in range(2)),
    )
    assert Denial(int(judge(limits, view))) is denial
