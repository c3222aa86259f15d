"""Reading actions: continuous, target and discrete."""

from __future__ import annotations

import math

import pytest
import torch

from fixtures.plain_accounts import accounts, costs, money
from tradingbot.domain.action import Action
from tradingbot.domain.seeding import stream
from tradingbot.market import ActionRules, SimulatorParams
from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision
from tradingbot.market.actions.discrete import action_mask, action_values
from tradingbot.market.advance import decode
from tradingbot.market.buying_power import buying_power_of
from tradingbot.risk import RiskLimits

LONG = accounts(cash=9_000.0, units=10.0, entry=100.0)
SHORT = accounts(cash=11_000.0, units=-10.0, entry=100.0)


def decided(
    account: Account, action: float, *, allow_short: bool = False, **rules: object
) -> Decision:
    """Read one action; the largest position is 20 % of equity."""
    limits = RiskLimits(0.2, allow_short=allow_short)
    whole = SimulatorParams(limits=limits, action=ActionRules(**({"smoothing_bars": 1} | rules)))
    room = buying_power_of(limits, costs(), account, account.equity)
    return decode(whole, account, room, torch.tensor([action], dtype=torch.float64))


class TestContinuous:
    @pytest.mark.parametrize("action", [0.0, 0.05, -0.05, 0.1, -0.1])
    def test_action_in_the_hold_zone_does_nothing(self, action: float) -> None:
        decision = decided(LONG, action)
        assert money(decision.order) == [0.0]
        assert decision.code.item() == Action.HOLD

    @pytest.mark.parametrize(
        ("action", "units"), [(1.0, 20.0), (0.55, 10.0), (0.19, 2.0), (7.0, 20.0), (-1.0, 0.0)]
    )
    def test_action_of_a_flat_account_is_a_share_of_its_room(
        self, action: float, units: float
    ) -> None:
        decision = decided(accounts(), action)
        assert money(decision.order) == [units]
        assert not decision.violation.item()

    @pytest.mark.parametrize(("action", "units"), [(-1.0, -10.0), (-0.55, -5.0), (1.0, 10.0)])
    def test_action_of_a_long_sells_a_share_or_fills_the_place(
        self, action: float, units: float
    ) -> None:
        assert money(decided(LONG, action).order) == [units]

    def test_sale_never_opens_a_short_while_a_long_is_left(self) -> None:
        assert money(decided(LONG, -1.0, allow_short=True).order) == [-10.0]
        assert money(decided(accounts(), -1.0, allow_short=True).order) == [-20.0]
        assert money(decided(SHORT, 1.0, allow_short=True).order) == [10.0]
        assert money(decided(SHORT, -1.0, allow_short=True).order) == [-10.0]

    @pytest.mark.parametrize("action", [math.nan, math.inf, -math.inf])
    def test_action_that_is_no_number_is_a_violation_and_holds(self, action: float) -> None:
        wanting_more = LONG._replace(smoothed=torch.full_like(LONG.smoothed, 0.8))
        decision = decided(wanting_more, action, smoothing_bars=3)
        assert money(decision.order) == [0.0]
        assert decision.smoothed.item() == 0.8
        assert decision.violation.item()

    def test_smoothing_moves_half_way_at_a_span_of_three(self) -> None:
        decision = decided(accounts(smoothed=0.2), 1.0, smoothing_bars=3)
        assert decision.smoothed.item() == pytest.approx(0.6)
        assert money(decision.order) == [round(20.0 * 0.5 / 0.9, 4)]

    def test_smoothing_cuts_the_variance_of_random_actions_by_a_third_and_more(self) -> None:
        actions = stream(1, "actions").uniform(-1.0, 1.0, 1_000)
        account, taken = accounts(), []
        for action in actions:
            smoothed = decided(account, action, smoothing_bars=3).smoothed
            account = account._replace(smoothed=smoothed)
            taken.append(float(smoothed))
        kept = torch.tensor(taken).var() / torch.from_numpy(actions).var()
        assert kept < 0.7
        assert kept == pytest.approx(1.0 / 3.0, abs=0.06)  # α ÷ (2 − α) at α = 1/2


class TestTarget:
    @pytest.mark.parametrize(
        ("action", "units"), [(1.0, 20.0), (0.25, 5.0), (0.0, 0.0), (-1.0, 0.0), (3.0, 20.0)]
    )
    def test_target_of_a_flat_long_only_account(self, action: float, units: float) -> None:
        assert money(decided(accounts(), action, space="target").order) == [units]

    @pytest.mark.parametrize(
        ("action", "units"), [(1.0, 10.0), (0.5, 0.0), (0.25, -5.0), (0.0, -10.0), (-1.0, -10.0)]
    )
    def test_target_of_a_long_is_the_difference(self, action: float, units: float) -> None:
        assert money(decided(LONG, action, space="target").order) == [units]

    def test_target_may_turn_a_position_in_one_order(self) -> None:
        assert money(decided(LONG, -1.0, space="target", allow_short=True).order) == [-30.0]
        assert money(decided(SHORT, 1.0, space="target", allow_short=True).order) == [30.0]

    def test_target_that_is_no_number_keeps_the_position(self) -> None:
        decision = decided(LONG, math.nan, space="target")
        assert money(decision.order) == [0.0]
        assert decision.violation.item()

    def test_target_of_nothing_sells_every_unit_in_any_format(self) -> None:
        for dtype in (torch.float32, torch.float64):
            odd = torch.rand(512, generator=torch.Generator().manual_seed(0), dtype=dtype)
            fields = accounts(cash=[9_000.0] * 512, mark=[math.pi] * 512, entry=[3.0] * 512)
            many = Account(*(x.to(dtype) if x.is_floating_point() else x for x in fields))
            many = many._replace(units=odd * 300.0)
            limits = RiskLimits(0.2)
            rules = SimulatorParams(
                limits=limits, action=ActionRules(space="target", smoothing_bars=1)
            )
            room = buying_power_of(limits, costs(), many, many.equity)
            decision = decode(rules, many, room, torch.zeros(512))
            assert torch.equal(decision.order, -many.units)


class TestDiscrete:
    @pytest.mark.parametrize(
        ("account", "allowed"),
        [
            (accounts(), "0123"),
            (LONG, "045"),  # no profit yet
            (LONG._replace(entry=torch.tensor([99.0])), "0456"),
            (LONG._replace(entry=torch.tensor([99.0]), adds=torch.tensor([2])), "045"),
            (accounts(halted=1), "0"),
            (accounts(cash=9_000.0, units=10.0, entry=99.0, halted=1), "0"),
            (accounts(cash=100.0), "0"),  # the largest position is 20, below 25
            (accounts(cash=300.0), "023"),  # a third of 60 is too small
            (accounts(cash=0.0, units=0.3, entry=200.0), "05"),  # half of 30 is too small
            (accounts(cash=0.0, units=100.0, entry=90.0), "045"),  # nothing left to add with
        ],
    )
    def test_mask_of_each_state(self, account: Account, allowed: str) -> None:
        limits, rules = RiskLimits(0.2), ActionRules(space="discrete")
        room = buying_power_of(limits, costs(), account, account.equity)
        values = action_values(rules, account, room)
        mask = action_mask(rules, limits, account, values)
        assert "".join(str(code) for code in range(7) if mask[code]) == allowed

    @pytest.mark.parametrize(
        ("account", "code", "units"),
        [
            (accounts(), Action.BUY_SMALL, 20 / 3),
            (accounts(), Action.BUY_MEDIUM, 40 / 3),
            (accounts(), Action.BUY_LARGE, 20.0),
            (LONG, Action.SELL_PARTIAL, -5.0),
            (LONG, Action.SELL_ALL, -10.0),
            (LONG._replace(entry=torch.tensor([99.0])), Action.ADD_POSITION, 20 / 3),
            (LONG, Action.HOLD, 0.0),
        ],
    )
    def test_code_that_is_allowed_is_executed(
        self, account: Account, code: Action, units: float
    ) -> None:
        decision = decided(account, code, space="discrete")
        assert decision.order.item() == pytest.approx(units)
        assert (decision.code.item(), decision.violation.item()) == (code, False)

    @pytest.mark.parametrize("code", [-1.0, 7.0, 2.5, math.nan, math.inf, 1e12])
    def test_code_that_does_not_exist_is_hold_and_a_violation(self, code: float) -> None:
        decision = decided(accounts(), code, space="discrete")
        assert money(decision.order) == [0.0]
        assert (decision.code.item(), decision.violation.item()) == (Action.HOLD, True)

    def test_code_that_is_masked_is_hold_and_a_violation(self) -> None:
        decision = decided(accounts(), Action.SELL_ALL, space="discrete")
        assert (decision.code.item(), decision.violation.item()) == (Action.HOLD, True)
        assert decision.selected.item() == Action.SELL_ALL

    def test_fourth_repeat_is_hold_and_a_violation(self) -> None:
        codes, account = [], LONG
        for _ in range(5):
            decision = decided(account, Action.SELL_PARTIAL, space="discrete")
            codes.append((decision.code.item(), decision.violation.item()))
            account = account._replace(last_action=decision.selected, repeats=decision.repeats)
        assert codes == [(4, False)] * 3 + [(0, True)] * 2

    def test_repeats_start_again_after_another_code(self) -> None:
        tired = LONG._replace(last_action=torch.tensor([4]), repeats=torch.tensor([3]))
        assert decided(tired, Action.HOLD, space="discrete").repeats.item() == 0
        assert decided(tired, Action.SELL_ALL, space="discrete").repeats.item() == 1


@pytest.mark.parametrize(
    ("account", "action", "code"),
    [
        (accounts(), 0.50, Action.BUY_SMALL),
        (accounts(), 0.51, Action.BUY_MEDIUM),
        (accounts(), 0.84, Action.BUY_LARGE),
        (accounts(), -0.50, Action.BUY_SMALL),  # a short is the mirror of a long
        (LONG, 1.0, Action.ADD_POSITION),
        (LONG, 0.10, Action.SELL_PARTIAL),
        (LONG, 0.004, Action.SELL_ALL),  # 99.2 % of the position
        (LONG, -1.0, Action.SELL_ALL),
        (SHORT, -1.0, Action.ADD_POSITION),
        (SHORT, -0.1, Action.SELL_PARTIAL),
        (LONG, 0.5, Action.HOLD),
    ],
)
def test_order_of_any_space_has_a_code(account: Account, action: float, code: Action) -> None:
    decision = decided(account, action, space="target", allow_short=True)
    assert Action(decision.code.item()) is code


class TestRemainder:
    """What would be left of a position and is too little to sell goes with the order."""

    # LONG holds 10 units at 100.
    @pytest.mark.parametrize(("kept_units", "sold"), [(0.3, -9.7), (0.24, -10.0)])
    def test_rest_below_the_smallest_trade_is_sold_too(
        self, kept_units: float, sold: float
    ) -> None:
        share = 1.0 - kept_units / 10.0
        action = -(0.1 + 0.9 * share)
        assert money(decided(LONG, action).order) == [pytest.approx(sold, abs=1e-4)]

    @pytest.mark.parametrize(("share", "sold"), [(0.985, -9.85), (0.991, -10.0)])
    def test_sale_of_nearly_all_is_a_sale_of_all(self, share: float, sold: float) -> None:
        account = LONG._replace(mark=LONG.mark * 100.0, cash=LONG.cash * 100.0)
        action = -(0.1 + 0.9 * share)
        assert money(decided(account, action).order) == [pytest.approx(sold, abs=1e-4)]

    def test_smoothed_sales_end_a_position_within_a_few_bars(self) -> None:
        account, bars_needed = LONG._replace(smoothed=torch.ones_like(LONG.smoothed)), 0
        while account.units.item() != 0.0:
            decision = decided(account, -1.0, smoothing_bars=3)
            account = account._replace(
                units=account.units + decision.order, smoothed=decision.smoothed
            )
            bars_needed += 1
        assert bars_needed <= 6


def test_target_of_a_long_only_account_never_goes_below_nothing_even_smoothed() -> None:
    decision = decided(accounts(smoothed=0.5), -1.0, space="target", smoothing_bars=3)
    assert decision.smoothed.item() == pytest.approx(0.25)  # halfway to 0, not to −1
