"""Observation, mask and risk gate of one account equal those of a batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fixtures.scalar_courses import (
    N_STEPS,
    OPTIONS,
    RTOL,
    SPACES,
    lane_rates,
    profile_of,
    restored,
    run,
)
from reference.scalar_simulator import (
    ScalarAccount,
    scalar_mask,
)
from reference.scalar_simulator.gate import judge_order
from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial
from tradingbot.domain.seeding import stream
from tradingbot.market.actions.discrete import action_mask, action_values
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.maths import FLOAT_MATHS
from tradingbot.market.observation import observe_accounts, private_features
from tradingbot.risk import RiskLimits
from tradingbot.risk.gate import judge
from tradingbot.risk.rule import OrderView


@pytest.mark.parametrize("space", SPACES)
def test_private_observation_of_floats_equals_that_of_tensors(space: str) -> None:
    course = run(space, "everything")
    for step in range(0, N_STEPS, 6):
        account, singles = restored(course, step)
        private = [private_features(course.rules, one, FLOAT_MATHS) for one in singles]

        batch = observe_accounts(course.rules, account).numpy()

        np.testing.assert_allclose(np.array(private).T, batch, rtol=RTOL, atol=1.0e-12)


def test_mask_of_one_account_equals_that_of_a_batch() -> None:
    rates, seen = lane_rates(), set()
    for option in OPTIONS:
        course = run("discrete", option)
        rules = course.rules
        for step in range(0, N_STEPS, 6):
            account, singles = restored(course, step)
            room = buying_power_of(rules.limits, rates, account, account.equity)
            values = action_values(rules.action, account, room)

            masks = action_mask(rules.action, rules.limits, account, values)

            scalar = [scalar_mask(rules, profile_of(i), one) for i, one in enumerate(singles)]
            assert masks.T.tolist() == [list(mask) for mask in scalar]
            seen |= set(scalar)
    assert {tuple(any(mask[code] for mask in seen) for code in Action)} == {(True,) * 7}
    assert (True, False, False, False, False, False, False) in seen


@pytest.mark.parametrize("allow_short", [False, True])
def test_gate_for_one_order_equals_the_gate_for_a_batch(allow_short: bool) -> None:
    n = 4_000
    rng = stream(7, "gate", int(allow_short))
    limits = RiskLimits(
        max_position_frac=0.8,
        max_order_frac=0.7,
        reserve_frac=0.3,
        min_trade_ccy=500.0,
        margin_frac=2.5,
        allow_short=allow_short,
    )
    units = rng.choice([0.0, 1.0, -1.0], n) * rng.uniform(0.0, 80.0, n)
    order = np.where(rng.random(n) < 0.2, -units, rng.uniform(-1.0, 1.0, n) ** 3 * 120.0)
    mark, cash = rng.uniform(50.0, 150.0, n), rng.uniform(-500.0, 9_000.0, n)
    for numbers in (order, mark, cash):
        numbers[rng.random(n) < 0.01] = rng.choice([np.nan, np.inf, -np.inf])
    mark[rng.random(n) < 0.01] = 0.0
    stale, halted = (rng.random(n) < 0.1).astype(np.int32), (rng.random(n) < 0.1).astype(np.int32)
    columns = [x.tolist() for x in (cash, units, mark, stale, halted)]
    with np.errstate(invalid="ignore"):
        equity = cash + units * mark
    view = OrderView(*map(torch.tensor, (order, units, mark, cash, equity, stale, halted)))
    singles = [
        ScalarAccount(cash=c, units=u, mark=m, stale_bars=s, halted=h)
        for c, u, m, s, h in zip(*columns, strict=True)
    ]

    scalar = [
        judge_order(limits, one, wanted, one.equity)
        for one, wanted in zip(singles, order.tolist(), strict=True)
    ]

    assert judge(limits, view).tolist() == scalar
    never = {Denial.MARGIN} if not allow_short else {Denial.SHORT_NOT_ALLOWED}
    assert set(scalar) == set(Denial) - never
