"""Positions of exact numbers equal the tensor ledger on random streams of fills."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import TradingError
from tradingbot.domain.order_intent import Side
from tradingbot.domain.position import Fill, Position, apply_fill, position_from_fills
from tradingbot.domain.seeding import stream
from tradingbot.market.account import open_accounts
from tradingbot.market.ledger import FillBatch
from tradingbot.market.ledger import apply_fill as book

N_STREAMS, N_FILLS = 64, 60
AT = datetime(2026, 1, 5, tzinfo=UTC)


def random_fills(seed: int, *, closing_frac: float = 0.2) -> list[Fill]:
    """Buys and sales in hundredths of units; some close the position to the last unit."""
    rng, held, fills = stream(seed, "fills"), Decimal(0), []
    for number in range(N_FILLS):
        units = Decimal(int(rng.integers(1, 5_000))) / 100
        side = Side.BUY if rng.random() < 0.5 else Side.SELL
        if held and rng.random() < closing_frac:
            units, side = abs(held), Side.SELL if held > 0 else Side.BUY
        price = Decimal(int(rng.integers(5_000, 20_000))) / 100
        fee = Decimal(int(rng.integers(0, 300))) / 10_000
        fills.append(Fill(f"{number}", f"o{number}", "SPY", side, units, price, AT, fee))
        held += side.sign * units
    return fills


@pytest.fixture(scope="module")
def streams() -> list[list[Fill]]:
    return [random_fills(seed) for seed in range(N_STREAMS)]


def test_positions_equal_the_tensor_ledger_after_every_fill(streams: list[list[Fill]]) -> None:
    zeros = torch.zeros(N_STREAMS, dtype=torch.int32)
    account = open_accounts(1e6, zeros, torch.full((N_STREAMS,), 100.0, dtype=torch.float64))
    positions = [Position("SPY") for _ in streams]
    turns = closes = 0
    for step in range(N_FILLS):
        fills = [stream_[step] for stream_ in streams]
        numbers = np.array(
            [[float(f.signed_units), float(f.price), float(f.fee_ccy)] for f in fills]
        )
        units, price, fee = torch.from_numpy(numbers).unbind(1)
        account = book(account, FillBatch(units, price, price, fee), torch.full_like(price, 1e6))
        before = positions
        positions = [apply_fill(p, f) for p, f in zip(positions, fills, strict=True)]
        turns += sum(a.units * b.units < 0 for a, b in zip(before, positions, strict=True))
        closes += sum(p.is_flat for p in positions)
        expected = np.array(
            [
                [float(p.units), float(p.average_entry or 0), float(p.realised_pnl_ccy)]
                for p in positions
            ]
        )
        held = expected[:, 0] != 0.0
        # A binary remainder of units that closed to the last one is the ledger's, not ours.
        np.testing.assert_allclose(account.units.numpy(), expected[:, 0], atol=1e-9)
        np.testing.assert_allclose(account.entry.numpy()[held], expected[held, 1], rtol=1e-9)
        np.testing.assert_allclose(account.realised.numpy(), expected[:, 2], rtol=1e-9, atol=1e-6)
    assert turns > 200  # through zero
    assert closes > 200  # to the last unit
    assert all(float(c) == pytest.approx(float(p.fees_ccy)) for c, p in zip(
        account.commission_paid, positions, strict=True
    ))  # fmt: skip


def test_money_is_conserved_to_the_last_digit(streams: list[list[Fill]]) -> None:
    for fills in streams:
        position = position_from_fills("SPY", fills)
        paid = sum(f.signed_units * f.price + f.fee_ccy for f in fills)

        assert position.realised_pnl_ccy - position.cost_ccy == -paid
        assert position.units == sum(f.signed_units for f in fills)
        mark = Decimal("123.45")
        gain = position.realised_pnl_ccy + position.unrealised_pnl_ccy(mark)
        assert gain == position.units * mark - paid


def test_tenths_that_come_and_go_leave_nothing() -> None:
    def fill(number: int, side: Side, units: str) -> Fill:
        return Fill(str(number), "o", "SPY", side, Decimal(units), Decimal("0.1"), AT)

    fills = [fill(0, Side.BUY, "0.1"), fill(1, Side.BUY, "0.2"), fill(2, Side.SELL, "0.3")]

    position = position_from_fills("SPY", [*fills, fills[0]])  # the first arrives twice

    assert position.is_flat
    assert position.average_entry is None
    assert (position.cost_ccy, position.realised_pnl_ccy) == (0, 0)


def test_fills_that_do_not_belong_are_refused() -> None:
    fill = Fill("1", "o", "SPY", Side.BUY, Decimal(1), Decimal(1), AT)
    with pytest.raises(TradingError, match="position's symbol, was SPY"):
        apply_fill(Position("QQQ"), fill)
    with pytest.raises(TradingError, match="cost_ccy must have the sign of the units"):
        Position("SPY", Decimal(1), Decimal(-1))
    with pytest.raises(TradingError, match="price must be finite and above 0"):
        Fill("1", "o", "SPY", Side.BUY, Decimal(1), Decimal(0), AT)
    with pytest.raises(TradingError, match="fill_id must not be empty"):
        Fill("", "o", "SPY", Side.BUY, Decimal(1), Decimal(1), AT)
