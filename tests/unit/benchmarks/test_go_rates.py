from __future__ import annotations

import math

import pytest

from tradingbot_benchmarks.evaluation.go_rates import (
    DEMO,
    NOISE,
    PLANTED,
    GoResult,
    judge_market,
    measure_rates,
    rate_record,
)


def result(market: str, seed: int, verdict: str) -> GoResult:
    return GoResult(market, seed, verdict, 0.0, 0.5, ())


def test_rate_is_the_share_of_go_on_its_own_markets() -> None:
    results = [
        *(result(NOISE, seed, "NO-GO") for seed in range(9)),
        result(NOISE, 9, "GO"),
        result(PLANTED, 0, "CONDITIONAL"),
    ]
    false_go = rate_record(NOISE, results)
    assert (false_go.name, false_go.value, false_go.reference) == ("false_go", 0.1, 0.02)
    assert "1 of 10 noise markets" in false_go.note
    assert rate_record(PLANTED, results).value == 0.0
    of_demo = rate_record(DEMO, [*results, result(DEMO, 3, "GO")])
    assert (of_demo.name, of_demo.value) == ("demo_go", 1.0)
    assert "1 of 1 training seeds on the demo's market" in of_demo.note


def test_rates_that_nobody_asked_for_are_absent_and_say_so() -> None:
    records = measure_rates({NOISE: 0, PLANTED: 0}, jobs=1, progress=lambda *_: None)
    assert [record.name for record in records] == ["false_go", "true_go"]
    assert all(math.isnan(record.value) for record in records)
    assert "no noise market" in records[0].note


@pytest.mark.slow
@pytest.mark.parametrize(("market", "verdict"), [(NOISE, "NO-GO"), (PLANTED, "GO")])
def test_market_is_judged_by_what_it_holds(market: str, verdict: str) -> None:
    assert judge_market(market, 1001).verdict == verdict
