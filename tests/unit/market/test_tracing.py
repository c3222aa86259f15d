"""Straight-line functions: the same numbers as the formulas, bit for bit."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

from tradingbot.domain.seeding import stream
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.maths import FLOAT_MATHS, FloatMaths
from tradingbot.market.observation import private_features
from tradingbot.market.params import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.scalar import ScalarAdvanced, ScalarBar, open_account, scalar_advance
from tradingbot.market.tracing import SymbolicMaths, straight_line
from tradingbot.rewards import REWARD_PRESETS, reward_inputs, reward_preset
from tradingbot.risk.limits import RiskLimits


class Pair(NamedTuple):
    a: float
    b: float

    @property
    def total(self) -> float:
        return self.a + self.b


class Nested(NamedTuple):
    pair: Pair
    ages: tuple[int, ...]
    code: int


NUMBERS = (0.0, -0.0, 1.5, -2.0, 1e-300, -1e300, math.inf, -math.inf, math.nan)


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("name", ["minimum", "maximum", "absolute", "sign", "clip", "where"])
def test_function_of_any_number_equals_that_of_floats(name: str) -> None:
    def formula(record: Any, maths: Any) -> list[Any]:
        if name == "clip":
            return [maths.clip(record.a, -1.0, 2.0)]
        if name == "where":
            return [maths.where(record.a > record.b, record.a, 3.0)]
        arguments = (record.a,) if name in ("absolute", "sign") else (record.a, record.b)
        return [getattr(maths, name)(*arguments)]

    evaluate = straight_line(formula, Pair(1.0, 1.0))

    for a in NUMBERS:
        for b in NUMBERS:
            expected = formula(Pair(a, b), FLOAT_MATHS)
            assert same(evaluate(Pair(a, b))[0], expected[0]), (a, b)


def test_operators_and_roots_equal_those_of_floats() -> None:
    def formula(x: Any, maths: Any) -> list[Any]:
        both = (x.a > 0.0) & (x.b >= x.a) | (x.a == 2.0)
        return [
            1.0 - x.a * 2.0 / (x.b + 0.5),
            -x.a,
            maths.sqrt(x.b) + maths.log(x.b) + maths.log1p(x.b),
            maths.where(both, 1.0, 0.0),
            x.total,
            maths.maximum(2.0, 1.0),
            7.0,
        ]

    evaluate = straight_line(formula, Pair(1.0, 1.0))

    for record in (Pair(2.0, 3.0), Pair(-1.0, 0.25), Pair(4.0, 1.0)):
        assert evaluate(record) == formula(record, FLOAT_MATHS)


def test_tuples_can_be_counted_and_indexed_by_a_number_of_the_record() -> None:
    def formula(x: Any, maths: Any) -> list[Any]:
        return [x.ages[x.code], len(x.ages) - x.ages.count(50), sum(age < 9 for age in x.ages)]

    evaluate = straight_line(formula, Nested(Pair(0.0, 0.0), (0, 0, 0), 0))

    assert evaluate(Nested(Pair(0.0, 0.0), (3, 50, 8), 2)) == [8, 2, 2]


def test_formula_that_branches_is_refused() -> None:
    with pytest.raises(TypeError, match="must not branch"):
        straight_line(lambda x, _: [1.0 if x.a > 0.0 else 2.0], Pair(1.0, 1.0))


def test_constants_beyond_numbers_are_written_so_that_they_can_be_read() -> None:
    evaluate = straight_line(
        lambda x, maths: [maths.minimum(x.a, math.inf), x.a * math.nan], Pair(1.0, 1.0)
    )

    low, unknown = evaluate(Pair(5.0, 0.0))

    assert low == 5.0
    assert math.isnan(unknown)


def test_symbolic_maths_has_every_function_of_maths() -> None:
    public = {name for name in vars(FloatMaths) if not name.startswith("_")}

    assert public == {name for name in vars(SymbolicMaths) if not name.startswith("_")}


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
@pytest.mark.parametrize("preset", sorted(REWARD_PRESETS))
def test_rewards_and_observations_of_random_steps_are_equal_bit_for_bit(
    preset: str, space: Any
) -> None:
    rules = SimulatorParams(
        account=AccountRules(stop_loss_frac=0.02, take_profit_frac=0.03),
        limits=RiskLimits(max_position_frac=0.6, allow_short=space != "discrete"),
        action=ActionRules(space=space),
    )
    stack = reward_preset(preset)

    def weighted(step: Any, maths: Any) -> list[Any]:
        inputs = reward_inputs(rules, step, maths)
        return [layer.evaluate(inputs, maths) for layer in stack.layers]

    steps = random_steps(rules, 300, seed=5)
    reward = straight_line(weighted, steps[0])
    private = straight_line(lambda a, maths: private_features(rules, a, maths), steps[0].after)

    for step in steps:
        assert reward(step) == stack.scalar(rules, step)
        assert private(step.after) == private_features(rules, step.after, FLOAT_MATHS)


def random_steps(rules: SimulatorParams, count: int, *, seed: int) -> list[ScalarAdvanced]:
    rng = stream(seed, "steps")
    account, price, steps = open_account(1e5, 0, 100.0), 100.0, []
    for _ in range(count):
        opened, close = (price * (1 + rng.normal(0, 0.01, 2))).tolist()
        high, low = max(opened, close) * 1.004, min(opened, close) * 0.996
        bar = ScalarBar(opened, high, low, close, 1e5, 0.01, float(rng.random() > 0.1))
        discrete = rules.action.space == "discrete"
        action = float(rng.integers(7)) if discrete else float(rng.uniform(-1, 1))
        steps.append(scalar_advance(rules, COST_PROFILES["impact"], account, bar, action))
        account, price = steps[-1].after, close
    return steps
