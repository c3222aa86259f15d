"""The translator: a code and the number it becomes give the same order, fill and account."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from reference.scalar_simulator import ScalarAccount
from reference.scalar_simulator.translation import scalar_number_of_code
from tradingbot.domain.action import Action
from tradingbot.domain.seeding import stream
from tradingbot.envs.translator import (
    code_of_number,
    is_reached,
    number_for_share,
    number_of_code,
    number_of_order,
    remember,
)
from tradingbot.market import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.actions.continuous import decode_continuous
from tradingbot.market.advance import advance
from tradingbot.market.bars import tensor_market
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.costs import CostProfile
from tradingbot.market.maths import FLOAT_MATHS, TENSOR_MATHS
from tradingbot.risk.limits import RiskLimits

LANES, BARS = 96, 100


def rough_market(seed: int, dtype: torch.dtype):
    rng = stream(seed, "test", "bars")
    close = 50.0 * np.exp(np.cumsum(0.02 * rng.standard_normal((LANES, BARS)), axis=1))
    open_ = close * np.exp(0.01 * rng.standard_normal(close.shape))
    high = np.maximum(open_, close) * 1.004
    low = np.minimum(open_, close) * 0.996
    volume = rng.uniform(0.0, 3000.0, close.shape)
    prices = np.stack((open_, high, low, close, volume), -1)
    present = rng.random(close.shape) > 0.03
    return tensor_market(prices, present, dtype=dtype)


def rules_of(space: str, *, hold_zone: float = 0.1, position: float = 0.15) -> SimulatorParams:
    return SimulatorParams(
        account=AccountRules(stop_loss_frac=0.08, take_profit_frac=0.15),
        limits=RiskLimits(max_position_frac=position, reserve_frac=0.02),
        action=ActionRules(space=space, smoothing_bars=1, hold_zone=hold_zone),
    )


@pytest.mark.parametrize(
    ("dtype", "hold_zone", "position"),
    [
        (torch.float32, 0.0, 1.0),
        (torch.float32, 0.1, 0.15),
        (torch.float32, 0.5, 1.0),
        (torch.float64, 0.1, 1.0),
    ],
)
def test_translated_codes_random_stream_fill_as_discrete(dtype, hold_zone, position):
    market = rough_market(3, dtype)
    discrete = rules_of("discrete", hold_zone=hold_zone, position=position)
    continuous = rules_of("continuous", hold_zone=hold_zone, position=position)
    rates = CostProfile(2e-4, 5e-4, spread_frac=2e-4, impact_coef=0.5).rates(dtype=dtype)
    first = torch.arange(LANES, dtype=torch.int32) * BARS + 30
    mark = market.rows[first.long(), 3]
    one = other = open_accounts(100_000.0, first, mark)
    rng = stream(4, "test", "codes")
    tolerance = 64.0 * torch.finfo(dtype).eps
    orders = violations = 0
    for _ in range(BARS - 31):
        code = torch.from_numpy(rng.integers(-1, 8, LANES))
        translation = number_of_code(continuous, rates, other, code)
        a = advance(discrete, rates, one, market.bar(one.row + 1), code)
        b = advance(continuous, rates, other, market.bar(other.row + 1), translation.number)
        assert translation.exact.all()
        torch.testing.assert_close(b.order, a.order, rtol=tolerance, atol=0.0)
        torch.testing.assert_close(b.fill.units, a.fill.units, rtol=tolerance, atol=0.0)
        torch.testing.assert_close(b.exit_fill.units, a.exit_fill.units, rtol=tolerance, atol=0.0)
        assert torch.equal(translation.decision.code, a.decision.code)
        assert torch.equal(translation.decision.violation, a.decision.violation)
        assert torch.equal(b.exit_reason, a.exit_reason)
        assert torch.equal(b.denial, a.denial)
        orders += int((a.order != 0.0).sum())
        violations += int(a.decision.violation.sum())
        one = a.after
        # The same money from here, so that what is measured is one step and not its echo.
        counted = remember(b.after, translation.decision)
        for name in ("last_action", "repeats", "violations", "action_ages", "n_trades", "adds"):
            assert torch.equal(getattr(counted, name), getattr(one, name)), name
        other = one._replace(smoothed=counted.smoothed)
    assert orders > 500
    assert violations > 500


def test_translated_codes_unbroken_run_stays_in_step():
    """Float64, the two accounts never put together again: counts equal, money to 1e-9."""
    market = rough_market(5, torch.float64)
    discrete, continuous = rules_of("discrete"), rules_of("continuous")
    rates = CostProfile().rates(dtype=torch.float64)
    first = torch.arange(LANES, dtype=torch.int32) * BARS + 30
    one = other = open_accounts(100_000.0, first, market.rows[first.long(), 3])
    rng = stream(6, "test", "codes")
    for _ in range(BARS - 31):
        code = torch.from_numpy(rng.integers(0, 7, LANES))
        translation = number_of_code(continuous, rates, other, code)
        one = advance(discrete, rates, one, market.bar(one.row + 1), code).after
        bar = market.bar(other.row + 1)
        moved = advance(continuous, rates, other, bar, translation.number).after
        other = remember(moved, translation.decision)
    for name in ("n_trades", "n_wins", "adds", "partial_exits", "entry_class", "halted"):
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    for name in ("cash", "units", "realised", "commission_paid", "turnover"):
        torch.testing.assert_close(getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-6)
    assert int(one.n_trades.sum()) > 200


def account_with(units: float, smoothed: float = 0.0, dtype: torch.dtype = torch.float64):
    row = torch.zeros(1, dtype=torch.int32)
    account = open_accounts(100_000.0, row, torch.tensor([100.0], dtype=dtype))
    held = torch.tensor([units], dtype=dtype)
    return account._replace(
        units=held,
        cash=account.cash - held * 90.0,
        entry=torch.where(held != 0.0, 90.0, 0.0).to(dtype),
        smoothed=torch.tensor([smoothed], dtype=dtype),
    )


FREE = CostProfile(0.0, 0.0).rates(dtype=torch.float64)


@pytest.mark.parametrize(
    ("units", "code", "number"),
    [
        (0.0, Action.HOLD, 0.0),
        (0.0, Action.BUY_SMALL, 0.1 + 0.9 / 3),
        (0.0, Action.BUY_MEDIUM, 0.1 + 0.9 * 2 / 3),
        (0.0, Action.BUY_LARGE, 1.0),
        (0.0, Action.SELL_ALL, 0.0),  # masked: nothing to sell
        (60.0, Action.SELL_PARTIAL, -0.55),
        (60.0, Action.SELL_ALL, -1.0),
        (60.0, Action.BUY_LARGE, 0.0),  # masked: a position exists
    ],
)
def test_number_of_code_hand_computed(units, code, number):
    account = account_with(units)
    translation = number_of_code(
        rules_of("continuous", position=0.15),
        FREE,
        account,
        torch.tensor([int(code)]),
    )
    assert translation.number.item() == pytest.approx(number, abs=1e-12)
    assert translation.exact.item()


def test_number_of_code_add_takes_share_of_what_is_left():
    # Equity 100,000 + 60 · 10 = 100,600; largest 15,090; held 6,000; left 9,090; add 5,030.
    account = account_with(60.0)
    rules = replace(rules_of("continuous"), limits=RiskLimits())
    translation = number_of_code(rules, FREE, account, torch.tensor([int(Action.ADD_POSITION)]))
    assert translation.number.item() == pytest.approx(0.1 + 0.9 * 5030.0 / 9090.0, abs=1e-12)


def test_number_of_code_fourth_repeat_is_hold_and_counted():
    account = account_with(60.0)
    rules = rules_of("continuous")
    partial = torch.tensor([int(Action.SELL_PARTIAL)])
    account = account._replace(last_action=partial.int(), repeats=torch.tensor([3]).int())
    translation = number_of_code(rules, FREE, account, partial)
    assert translation.number.item() == 0.0
    assert translation.decision.violation.item()
    assert remember(account, translation.decision).repeats.item() == 4


@pytest.mark.parametrize("smoothed", [-0.2, 0.0, 0.3, 0.5])
@pytest.mark.parametrize("share", [-1.0, -0.4, 0.0, 0.25, 0.6, 1.0])
def test_number_for_share_smoothed_reaches_or_says_so(smoothed, share):
    rules = ActionRules(smoothing_bars=3)
    number = number_for_share(rules, share, smoothed, FLOAT_MATHS)
    assert -1.0 <= number <= 1.0
    after = smoothed + 0.5 * (number - smoothed)
    got = np.sign(after) * np.clip((abs(after) - 0.1) / 0.9, 0.0, 1.0)
    exact = bool(is_reached(rules, share, smoothed, number, FLOAT_MATHS, slack=1e-12))
    assert exact == (abs(got - share) < 1e-9)
    assert exact or abs(number) == 1.0  # only the bounds of the space stand in the way


def test_number_for_share_of_hold_rests_inside_the_zone_whatever_the_rounding():
    rules = ActionRules(smoothing_bars=5, hold_zone=0.1)
    smoothed = torch.linspace(-0.6, 0.6, 20_001)  # float32
    number = number_for_share(rules, torch.zeros(20_001), smoothed, TENSOR_MATHS)
    rest = smoothed + rules.smoothing * (number - smoothed)
    assert float(number.abs().max()) <= 1.0
    assert float(rest.abs().max()) == pytest.approx(0.09, rel=1e-5)
    assert int((rest.abs() > 0.1).sum()) == 0


def test_number_for_share_single_equals_batch():
    rules = ActionRules(smoothing_bars=3)
    rng = stream(7, "test", "shares")
    share = np.where(rng.random(500) < 0.2, 0.0, rng.uniform(-1, 1, 500))
    smoothed = rng.uniform(-1, 1, 500)
    batch = number_for_share(
        rules, torch.from_numpy(share), torch.from_numpy(smoothed), TENSOR_MATHS
    )
    single = [
        number_for_share(rules, float(a), float(s), FLOAT_MATHS)
        for a, s in zip(share, smoothed, strict=True)
    ]
    assert batch.tolist() == single


def test_number_of_code_smoothing_out_of_reach_is_not_exact():
    rules = replace(rules_of("continuous"), action=ActionRules(smoothing_bars=3))
    account = account_with(60.0, smoothed=0.5)
    sell = torch.tensor([int(Action.SELL_ALL)])
    translation = number_of_code(rules, FREE, account, sell)
    assert translation.number.item() == -1.0
    assert not translation.exact.item()


def test_number_of_order_random_orders_are_given_back():
    rules = rules_of("continuous", position=1.0)
    rng = stream(8, "test", "orders")
    for units in (0.0, 500.0):
        account = account_with(units)
        room = buying_power_of(rules.limits, FREE, account, account.equity)
        most = float(torch.minimum(room.place, room.buy_room)) / 100.0
        for wanted in rng.uniform(-0.98 * units, most, 50):
            order = torch.tensor([wanted])
            number = number_of_order(rules, FREE, account, order)
            given = decode_continuous(rules.action, account, room, number).order
            torch.testing.assert_close(given, order, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("code", list(Action))
@pytest.mark.parametrize("units", [0.0, 60.0])
def test_code_of_number_inverts_number_of_code(units, code):
    account = account_with(units)
    rules = rules_of("continuous")
    wanted = torch.tensor([int(code)])
    translation = number_of_code(rules, FREE, account, wanted)
    assert torch.equal(
        code_of_number(rules, FREE, account, translation.number), translation.decision.code
    )


def test_code_of_number_nan_is_hold():
    account = account_with(60.0)
    number = torch.tensor([float("nan")], dtype=torch.float64)
    assert code_of_number(rules_of("continuous"), FREE, account, number).item() == Action.HOLD


def test_allowed_codes_flat_and_long():
    rules = rules_of("discrete")
    flat = allowed_codes(rules, FREE, account_with(0.0))[:, 0].tolist()
    long = allowed_codes(rules, FREE, account_with(60.0))[:, 0].tolist()
    assert flat == [True, True, True, True, False, False, False]
    assert long == [True, False, False, False, True, True, True]


@pytest.mark.parametrize("smoothing_bars", [1, 3])
def test_scalar_number_of_code_equals_batch(smoothing_bars):
    rng = stream(9, "test", "accounts")
    action = ActionRules(space="discrete", smoothing_bars=smoothing_bars)
    rules = SimulatorParams(
        limits=RiskLimits(max_position_frac=0.4, reserve_frac=0.01), action=action
    )
    costs = CostProfile()
    for _ in range(300):
        units = float(rng.choice([0.0, rng.uniform(0.0, 390.0)]))
        account = ScalarAccount(
            cash=100_000.0 - 90.0 * units,
            units=units,
            entry=90.0 if units else 0.0,
            mark=float(rng.uniform(60.0, 140.0)),
            peak=100_000.0,
            smoothed=float(rng.uniform(-1.0, 1.0)),
            last_action=int(rng.integers(0, 7)),
            repeats=int(rng.integers(0, 5)),
            adds=int(rng.integers(0, 3)),
        )
        code = int(rng.integers(0, 7))
        batch = as_batch(account)
        many = number_of_code(rules, costs.rates(dtype=torch.float64), batch, torch.tensor([code]))
        one = scalar_number_of_code(rules, costs, account, float(code))
        assert many.number.item() == pytest.approx(one.number, abs=1e-12)
        assert many.exact.item() == one.exact
        assert many.decision.code.item() == one.decision.code
        assert many.decision.repeats.item() == one.decision.repeats


def as_batch(account):
    return Account(
        **{
            name: torch.tensor([value], dtype=torch.float64)
            if isinstance(value, float)
            else torch.tensor(value, dtype=torch.int32).reshape(-1, 1).squeeze(0)
            for name, value in account._asdict().items()
        }
    )
