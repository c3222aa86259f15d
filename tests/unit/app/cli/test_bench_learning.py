"""`tradingbot bench learning`: records, tables, and one line for names that are unknown."""

from __future__ import annotations

import pytest

from tradingbot_benchmarks.learning import known_answers as learning_bench
from tradingbot_benchmarks.learning.curve.measure import LearningResult, LearningRun
from tradingbot_benchmarks.learning.known_answers import record_of

RUNS: list[LearningRun] = []


@pytest.fixture
def fabricated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that take no hours; `tests/unit/app/bench/test_learning_bench.py` makes real ones."""

    def made(market: str, learner: str, seed: int, run: LearningRun, report: object) -> object:
        RUNS.append(run)
        return LearningResult(market, learner, seed, 1.9, 2.0, 1.0, "", 1.0)

    RUNS.clear()
    monkeypatch.setattr(learning_bench, "run_learning", made)


@pytest.mark.usefixtures("fabricated")
def test_json_has_a_record_with_interval_for_each_market_and_learner(call) -> None:
    answer = call(
        *("bench", "learning", "--json", "--markets", "planted_0.05, noise"),
        *("--learners", "direct,sac", "--seeds", "2", "--agents", "7", "--pooling", "pooled"),
    )
    records = {record["name"]: record for record in answer.document}
    assert set(records) == {
        *("planted_0.05/direct", "planted_0.05/sac", "noise/direct", "noise/sac")
    }
    found = records["planted_0.05/direct"]
    assert (found["value"], found["low"], found["high"]) == pytest.approx((0.95,) * 3)
    assert found["seeds"] == 2
    assert {(run.n_agents, run.pooling) for run in RUNS} == {(7, "pooled")}


@pytest.mark.usefixtures("fabricated")
def test_table_says_synthetic_and_what_must_be_reached(call) -> None:
    answer = call("bench", "learning", "--markets", "noise", "--learners", "ppo", "--seeds", "1")
    assert "synthetic" in answer.out
    assert "must reach" in answer.out


@pytest.mark.parametrize(
    ("option", "word"), [("--markets", "nois"), ("--learners", "a2c"), ("--pooling", "some")]
)
def test_unknown_name_is_one_line(call, option: str, word: str) -> None:
    answer = call("bench", "learning", option, word)
    assert answer.code == 2
    assert f"'{word}'" in answer.err
    assert "Traceback" not in answer.err


def test_interval_of_records_is_that_of_seeds() -> None:
    results = [LearningResult("noise", "direct", s, 0.1 * s, 0.0, 1.0, "", 1.0) for s in range(4)]
    found = record_of(results, LearningRun(n_agents=1))
    assert found.low < found.value < found.high
