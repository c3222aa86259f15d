from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.example_dossier import bare_dossier, example_dossier, portfolio_dossier
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gate import Comparison, Gate, JudgedBy
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.gates.measurements import MEASUREMENTS
from tradingbot.evaluation.gates.result import GateResult
from tradingbot.evaluation.statistics.interval import Interval


def gate(
    metric: str, comparison: Comparison, target: float, judged_by: JudgedBy = "estimate"
) -> Gate:
    return Gate("x/y", "words", metric, comparison, target, judged_by=judged_by)


def judged(one: Gate, **benches: float) -> GateResult:
    return judge_gates(example_dossier(), [one], benches)[0]


def test_every_metric_reads_a_full_dossier() -> None:
    small = portfolio_dossier()
    assert small.training is not None
    dossier = replace(small, training=replace(small.training, universe_symbols=143))
    for name, measurement in MEASUREMENTS.items():
        found = measurement.read(dossier)
        assert found.value is not None, name
        assert found.interval is None or found.interval.estimate == found.value, name


def test_pieces_that_were_left_out_are_not_measured_and_say_why() -> None:
    results = {each.gate: each for each in judge_gates(bare_dossier(), load_gates(), {})}
    windows = results["validation/windows"]
    assert (windows.outcome, windows.reason) == ("not measured", "fewer days than a window of 60")
    assert results["validation/stress"].reason == "not evaluated"
    assert results["environment/speed"].outcome == "not measured"


@pytest.mark.parametrize(
    ("end", "outcome"), [("estimate", "pass"), ("low", "fail"), ("high", "pass")]
)
def test_gate_is_judged_by_the_end_it_names(end: JudgedBy, outcome: str) -> None:
    # The made-up edge is 11 ÷ 7 ± 0.4 bp per bar.
    result = judged(gate("edge_bps_per_bar", ">", 1.2, end))
    assert result.outcome == outcome
    assert result.interval == pytest.approx((11 / 7, 11 / 7 - 0.4, 11 / 7 + 0.4))


def test_end_of_an_interval_that_is_not_there_is_not_measured() -> None:
    assert judged(gate("max_drawdown_frac", "<", 1.0, "low")).outcome == "not measured"


def test_undefined_number_is_not_measured_instead_of_failing() -> None:
    dossier = example_dossier()
    stats = replace(dossier.statistics, deflated_sharpe=float("nan"))
    asked = gate("deflated_sharpe", ">=", 0.95)
    result = judge_gates(replace(dossier, statistics=stats), [asked], {})[0]
    assert (result.outcome, result.reason) == ("not measured", "undefined for this result")


def test_records_of_benchmarks_are_judged_where_they_are_given() -> None:
    asked = gate("bench/single_env", ">", 1000.0)
    assert judged(asked).reason == "no benchmark was given (--bench)"
    assert judged(asked, other=1.0).reason == "no such record among the benchmarks (--bench)"
    assert judged(asked, other=1.0).outcome == "not measured"
    assert judged(asked, single_env=20_000.0).outcome == "pass"
    assert judged(asked, single_env=10.0).outcome == "fail"


def test_policy_without_shorts_uses_its_full_range_from_zero_to_one() -> None:
    dossier = example_dossier()
    asked = gate("action_range_frac", ">=", 0.99)
    for lowest, highest, outcome in ((0.0, 1.0, "pass"), (-1.0, 1.0, "pass"), (-0.2, 0.5, "fail")):
        health = replace(dossier.health, lowest_action=lowest, highest_action=highest)
        assert judge_gates(replace(dossier, health=health), [asked], {})[0].outcome == outcome


def test_cost_reserve_is_break_even_over_assumed_costs() -> None:
    dossier = example_dossier()
    assert dossier.sensitivity is not None
    rows = ((6.0, 1.5, 4.0), (None, 1.5, 0.0), (0.6, 0.0, 0.5), (None, 0.0, 0.0))
    for break_even, assumed, value in rows:  # who assumes no cost is asked for the default 1.2 bp
        found = replace(
            dossier.sensitivity, break_even_cost_bps=(break_even,), assumed_cost_bps=assumed
        )
        result = MEASUREMENTS["cost_reserve"].read(replace(dossier, sensitivity=found))
        assert result.value == pytest.approx(value)


def test_track_record_is_measured_in_units_of_the_minimum() -> None:
    dossier = example_dossier()
    for needed, value in ((882.0, 2.0), (float("inf"), 0.0)):
        stats = replace(dossier.statistics, min_track_record_bars=needed)
        assert (
            MEASUREMENTS["track_record_frac"].read(replace(dossier, statistics=stats)).value
            == value
        )


def test_late_return_is_that_of_one_bar_and_not_of_none() -> None:
    dossier = example_dossier()
    for delayed, value in (((4.0, 3.0, 2.0), 3.0), ((4.0,), None)):
        leak_check = replace(dossier.leak_check, delayed_net_bps=delayed)
        found = MEASUREMENTS["net_bps_one_bar_late"].read(replace(dossier, leak_check=leak_check))
        assert found.value == value


def test_agents_that_lose_more_than_half_are_counted() -> None:
    dossier = example_dossier()
    lost = (-0.51, -0.99, -0.5, -0.1)
    rows = tuple(
        replace(row, total_return_frac=each)
        for row, each in zip(dossier.test.agents, lost, strict=False)
    )
    assert len(rows) == len(lost)
    parts = (*dossier.parts[:-1], replace(dossier.test, agents=rows))
    found = MEASUREMENTS["agents_losing_half"].read(replace(dossier, parts=parts))
    assert found.value == 2.0


def agents_with(*rows: tuple[bool, float, float, float | None]) -> Dossier:
    """Agents: trades, return, Sharpe ratio, return of the supervised model on the same symbol."""
    dossier = example_dossier()
    agents = tuple(
        replace(
            row,
            trades=trades,
            total_return_frac=own,
            sharpe_annual=sharpe,
            supervised_return_frac=model,
        )
        for row, (trades, own, sharpe, model) in zip(dossier.test.agents, rows, strict=False)
    )
    return replace(dossier, parts=(dossier.parts[0], replace(dossier.test, agents=agents)))


def test_agent_beats_the_supervised_model_on_its_own_symbol_and_by_trading() -> None:
    dossier = agents_with(
        (True, 0.10, 1.0, 0.05),  # beats it
        (True, 0.10, 1.0, 0.10),  # equals it
        (True, 0.10, 1.0, 0.30),  # the model is better on this symbol
        (False, 0.0, 0.0, -0.10),  # stays out
    )
    assert MEASUREMENTS["agents_beating_supervised"].read(dossier).value == 1.0


def test_agents_are_not_compared_with_a_model_that_is_not_there() -> None:
    found = MEASUREMENTS["agents_beating_supervised"].read(agents_with((True, 0.5, 2.0, None)))
    assert (found.value, found.reason) == (None, "no supervised model was given to the run")


def test_figures_of_the_plans_supervised_model_must_both_be_beaten() -> None:
    dossier = agents_with(
        (True, 0.13, 0.51, None), (True, 0.13, 0.50, None), (True, 0.12, 0.51, None)
    )
    assert MEASUREMENTS["agents_beating_supervised_figures"].read(dossier).value == 1.0


def test_win_rate_has_the_interval_of_a_share_of_trades() -> None:
    found = MEASUREMENTS["win_rate_frac"].read(example_dossier())
    assert isinstance(found.interval, Interval)
    assert found.interval.low < 0.54 < found.interval.high


def test_two_gates_of_one_name_or_none_are_refused() -> None:
    one = gate("deflated_sharpe", ">=", 0.95)
    with pytest.raises(ConfigError, match="x/y"):
        judge_gates(example_dossier(), [one, one], {})
    with pytest.raises(ConfigError, match="none"):
        judge_gates(example_dossier(), [], {})
