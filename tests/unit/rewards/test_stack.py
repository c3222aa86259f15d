"""Stacks: order, weights, bounds, what was cut, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from fixtures.reward_steps import rollout, wild_step
from tradingbot.domain.errors import ConfigError
from tradingbot.market import SimulatorParams
from tradingbot.market.maths import TENSOR_MATHS
from tradingbot.rewards import RewardStack, reward_identity, reward_preset, reward_stack
from tradingbot.rewards.inputs import reward_inputs


def test_stack_orders_terms_by_catalogue_and_leaves_out_zeros() -> None:
    stack = reward_stack({"repeat": 0.5, "cost": 0.25, "hold": 0.0, "pnl": 1.0})

    assert stack.names == ("pnl", "cost", "repeat")
    assert stack.weights == {"pnl": 1.0, "cost": 0.25, "repeat": 0.5}


def test_bounds_are_the_weighted_bounds_of_the_terms() -> None:
    # pnl ±1, cost −1…0, repeat −0.5…0; a negative weight swaps the ends.
    assert reward_stack({"pnl": 0.75, "cost": 0.5}).bounds == (-1.25, 0.75)
    assert reward_stack({"cost": 0.5, "repeat": -2.0}).bounds == (-0.5, 1.0)


def test_identity_tells_stacks_apart_and_knows_no_foreign_terms() -> None:
    plain = reward_stack({"pnl": 1.0})
    others = [
        reward_stack({"pnl": 0.5}),
        reward_stack({"cost": 1.0}),
        reward_stack({"pnl": 1.0}, {"pnl": {"scale": 2.0}}),
    ]
    layer = plain.layers[0]
    foreign = replace(layer.term, formula=lambda step, options, maths: step)

    assert len({reward_identity(each) for each in (plain, *others)}) == 4
    assert reward_identity(reward_stack({"pnl": 1.0})) == reward_identity(plain)
    assert reward_identity(RewardStack((replace(layer, term=foreign),))) == ""
    assert reward_identity(object()) == ""


def test_row_is_weight_times_term() -> None:
    stack = reward_stack({"pnl": 0.5, "diversity": 2.0})
    *_, (rules, done) = rollout("discrete", 12)

    terms = stack(rules, done)

    step = reward_inputs(rules, done, TENSOR_MATHS)
    assert terms.shape == (2, 32)
    expected = 0.2 / 50 * (step.distinct_actions - 2.0).clamp(0.0, 3.0)
    torch.testing.assert_close(terms[1], expected)


def test_options_reach_the_term() -> None:
    *_, (rules, done) = rollout("discrete", 5)
    usual = reward_stack({"cost": 1.0})(rules, done)
    tenth = reward_stack({"cost": 1.0}, {"cost": {"scale": 10.0}})(rules, done)

    assert usual.abs().sum() > 0.0
    torch.testing.assert_close(tenth, usual / 10.0)


def test_clipped_tells_where_a_term_was_cut() -> None:
    stack = reward_stack({"cost": 0.1, "pnl": 1.0})
    done = wild_step(5, 512)
    step = reward_inputs(SimulatorParams(), done, TENSOR_MATHS)

    clipped = stack.clipped(SimulatorParams(), done)

    assert clipped.dtype == torch.bool
    outside = (step.cost * 100.0 > 1.0) | (step.cost < 0.0)
    assert torch.equal(clipped[1], outside)
    assert outside.any()
    assert not outside.all()


def test_clipped_counts_what_is_not_a_number() -> None:
    *_, (rules, done) = rollout("discrete", 3, n_lanes=2)
    holed = done._replace(after=done.after._replace(cash=torch.full((2,), math.nan).double()))

    assert reward_stack({"pnl": 1.0}).clipped(rules, holed).all()


def test_gradient_of_profit_reaches_the_price() -> None:
    stack = reward_stack({"pnl": 1.0, "cost": 1.0, "log_growth": 1.0})
    *_, (rules, done) = rollout("discrete", 6)
    mark = done.after.mark.clone().requires_grad_()

    stack(rules, done._replace(after=done.after._replace(mark=mark))).sum().backward()

    held = done.after.units != 0.0
    assert mark.grad is not None
    assert torch.isfinite(mark.grad).all()
    assert (mark.grad[held] > 0.0).all()
    assert (mark.grad[~held] == 0.0).all()


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        ({"pnll": 1.0}, {}, "Did you mean 'pnl'?"),
        ({"pnl": 1.0}, {"cots": {}}, "Did you mean 'cost'?"),
        ({"pnl": 1.0}, {"pnl": {"scal": 2.0}}, "Did you mean 'scale'?"),
        ({"pnl": 0.0}, {}, "weight is not 0"),
        ({}, {}, "weight is not 0"),
        ({"pnl": math.nan}, {}, "must be a number of at most 1000"),
        ({"pnl": math.inf}, {}, "must be a number of at most 1000"),
        ({"pnl": "1"}, {}, "must be a number of at most 1000"),
        ({"pnl": True}, {}, "must be a number of at most 1000"),
        ({"pnl": 1.0}, {"pnl": {"scale": "big"}}, "scale must be a number, was 'big'"),
        ({"pnl": 1.0}, {"pnl": {"realised_only": 1}}, "realised_only must be true or false"),
        ({"pnl": 1.0}, {"pnl": {"scale": -1.0}}, "scale must lie in (0, 1e6], was -1.0"),
        ({"pnl": 1.0}, {"pnl": {"scale": math.nan}}, "scale must lie in"),
        ({"pnl": 1.0}, {"cost": {"scale": 1.0}}, "'cost'"),
    ],
)
def test_impossible_stack_is_refused(
    weights: dict[str, float], options: dict[str, dict[str, object]], message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        reward_stack(weights, options)

    assert message in str(refused.value)


def test_traced_stack_is_one_graph_and_equals_eager() -> None:
    stack: RewardStack = reward_preset("v31")
    *_, (rules, done) = rollout("discrete", 30, dtype=torch.float32)

    # Generating code takes half a minute and is the simulator's test; one graph is shown without.
    compiled = torch.compile(lambda x: stack(rules, x), fullgraph=True, backend="aot_eager")

    torch.testing.assert_close(compiled(done), stack(rules, done), rtol=1e-5, atol=1e-7)
