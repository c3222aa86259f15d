"""Expressions: sharing, digests, warm-up, clocks, and evaluation in blocks of any size."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.seeding import stream
from tradingbot.features.graph.evaluator import Evaluator
from tradingbot.features.graph.nodes import (
    Input,
    Node,
    Windowed,
    across,
    apply,
    at_bars,
    lag,
    mean,
    over_symbols,
    running_sum,
    since,
    smooth,
)
from tradingbot.features.graph.plan import make_plan, make_stages

X = Input(name="x")
AVERAGE = smooth(X, 0.25, start=3, seed=mean(X, 4))


def evaluate(node: Node, x: np.ndarray, *, block: int) -> np.ndarray:
    plan = make_plan([node])
    evaluator = Evaluator(plan, x.shape[1], rows=block, capacity=block)
    rows: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for start in range(0, len(x), block):
            part = x[start : start + block]
            evaluator.advance({X: part}, len(part), lambda _, values: rows.append(values.copy()))
            evaluator.commit(len(part))
    return np.concatenate(rows)


def test_equal_expressions_are_one_node() -> None:
    assert lag(X + 1.0, 2) is lag(Input(name="x") + 1.0, 2)


@pytest.mark.parametrize(
    "other",
    [
        lag(X, 2),
        mean(X, 3),
        mean(X, 4) + 0.0,
        since(mean(X, 4), 9),
        mean(Input(name="y"), 4),
        mean(Input(name="x", optional=True), 4),
    ],
)
def test_another_formula_has_another_digest(other: Node) -> None:
    assert other.digest != mean(X, 4).digest


def test_warm_up_is_derived_from_the_expression() -> None:
    assert mean(lag(X, 5), 4).warm_up_bars == 8
    assert AVERAGE.warm_up_bars == 3
    assert (lag(AVERAGE, 2) - X).warm_up_bars == 5
    assert mean(lag(X, 5), 4).finite_memory
    assert not lag(AVERAGE, 2).finite_memory


def test_seed_that_is_not_ready_at_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="seed's warm-up of 3 bars"):
        smooth(X, 0.5, start=2, seed=mean(X, 4))


def test_window_of_one_bar_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 bars, was 1"):
        Windowed(arguments=(X,), function="sum", bars=1)


def test_market_value_is_read_at_the_symbols_bars_where_clocks_meet() -> None:
    mixed = X - over_symbols(X)

    assert mixed is X - at_bars(over_symbols(X))
    assert (mixed.clock, mixed.stage) == ("symbol", 1)


def test_recursion_on_one_clock_from_a_seed_on_another_is_refused() -> None:
    with pytest.raises(ValueError, match="must tick on one clock"):
        running_sum(X, start=0, seed=over_symbols(X))


def test_symbol_value_at_bars_is_refused() -> None:
    with pytest.raises(ValueError, match="must be given a market value"):
        at_bars(X)


def test_cross_section_of_a_market_value_is_refused() -> None:
    with pytest.raises(ValueError, match="must be taken of symbol values"):
        over_symbols(over_symbols(X))


def test_plan_computes_a_shared_expression_once() -> None:
    shared = mean(X, 4)

    plan = make_plan([shared + 1.0, shared * 2.0])

    assert [node for step in plan.steps for node in step].count(shared) == 1


def test_plan_advances_independent_recursions_together() -> None:
    slow = smooth(X, 0.1, start=3, seed=mean(X, 4))
    total = running_sum(X, start=0, seed=X)

    plan = make_plan([AVERAGE - slow, total])

    groups = [step for step in plan.steps if AVERAGE in step or total in step]
    assert groups == [(AVERAGE, slow), (total,)]


def test_plan_needs_a_seed_only_until_the_recursion_starts() -> None:
    plan = make_plan([AVERAGE])

    assert plan.needed_until[mean(X, 4)] == 3
    assert plan.needed_until[X] == np.inf


def test_stages_hand_on_what_crossings_are_taken_of() -> None:
    own, market = make_stages([X, mean(over_symbols(lag(X, 1)), 2)])

    assert own.plan.outputs == {X, lag(X, 1)}
    assert own.handed_on == {lag(X, 1)}
    assert (market.clock, market.plan.inputs) == ("market", ())


def test_each_crossing_begins_a_stage() -> None:
    excess = X - over_symbols(X)
    stages = make_stages([across("rank", lag(excess, 1)) - X])

    assert [stage.clock for stage in stages] == ["symbol", "market", "symbol", "symbol"]
    assert [len(stage.plan.sources) for stage in stages] == [1, 1, 2, 2]


@pytest.mark.parametrize("block", [1, 2, 7, 40])
@pytest.mark.parametrize(
    "node",
    [
        AVERAGE,
        lag(AVERAGE, 3) + mean(lag(X, 2), 5),
        running_sum(apply("sign", X), start=0, seed=X),
        since(smooth(AVERAGE, 0.5, start=6, seed=mean(AVERAGE, 3)), 9),
    ],
)
def test_blocks_of_any_size_give_the_same_bits(node: Node, block: int) -> None:
    x = stream(1, "blocks").normal(size=(40, 3))

    assert evaluate(node, x, block=block).tobytes() == evaluate(node, x, block=13).tobytes()


def test_smooth_equals_the_plain_recursion() -> None:
    x = stream(2, "recursion").normal(size=(20, 1))
    expected = [np.nan] * 3 + [x[:4].mean()]
    for value in x[4:, 0]:
        expected.append(expected[-1] + 0.25 * (value - expected[-1]))

    np.testing.assert_allclose(evaluate(AVERAGE, x, block=6)[:, 0], expected)


def test_recursion_without_a_value_keeps_its_own() -> None:
    x = np.array([[1.0], [2.0], [np.nan], [4.0]])

    total = evaluate(running_sum(X, start=0, seed=X), x, block=4)

    assert total[:, 0].tolist() == [1.0, 3.0, 3.0, 7.0]
