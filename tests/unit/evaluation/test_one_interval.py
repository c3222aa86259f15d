"""One policy has one interval on the same bars, in every place that shows it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.example_dossier import example_dossier
from tradingbot.agents import rule_policy
from tradingbot.envs.world import cut_world
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import measure_performance
from tradingbot.evaluation.analyses.settings import PerformanceSettings
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.measurements import MEASUREMENTS
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.performance.record import AGENTS, HOLD, PolicyPerformance
from tradingbot.evaluation.pipeline.backtest_terms import BacktestTerms
from tradingbot.evaluation.pipeline.backtests import backtest_named
from tradingbot.evaluation.report.dossier_page import render_dossier
from tradingbot.evaluation.rollout import roll_out, sleeve_config
from tradingbot.evaluation.tables import as_csv, as_json, tables_of
from tradingbot.training.result_file import read_result

_HELD = "buy_and_hold"


@pytest.fixture(scope="module")
def dossier(subject: EvaluatedRun) -> Dossier:
    """The run's own figures among made-up ones."""
    performance = measure_performance(AnalysisInputs(subject), PerformanceSettings(draws=100))
    return replace(example_dossier(), parts=performance.parts)


def shown(row: PolicyPerformance | None) -> tuple[object, ...]:
    assert row is not None
    return row.sharpe_annual, row.net_bps_per_bar


def test_training_backtest_rollout_and_dossier_have_the_same_intervals(
    subject: EvaluatedRun, dossier: Dossier, evaluated_workspace: Path
) -> None:
    trained = read_result(subject.run.path).part("test")
    played = backtest_named([subject.run.id, _HELD], evaluated_workspace, BacktestTerms())
    agents, hold = (each.performance for each in played.figures())
    part = subject.data.split.test
    rolled = roll_out(
        cut_world(subject.data.world, part.start, part.stop - 1),
        sleeve_config(subject.env.costs),
        {_HELD: rule_policy(_HELD, seed=0, regime_names=())},
        bars_per_year=subject.bars_per_year,
    )

    assert shown(trained.policy(AGENTS)) == shown(agents) == shown(dossier.test.policy(AGENTS))
    held = shown(policy_performance(rolled.backtests[0], "baseline"))
    assert shown(trained.policy(HOLD)) == shown(hold) == shown(dossier.test.policy(HOLD)) == held
    assert trained.excess_over_hold_bps == dossier.test.excess_over_hold_bps
    rows = (trained.policy(AGENTS), agents, dossier.test.policy(AGENTS))
    one, two, three = (None if row is None else row.earned for row in rows)
    assert one == two == three
    assert one is not None
    means = (one.market_bps, one.timing_bps, one.alpha_bps)
    total = sum(each.estimate for each in means)
    assert total == pytest.approx(agents.net_bps_per_bar.estimate, abs=1e-9)


def test_gates_memo_page_json_and_csv_say_the_intervals_of_the_dossier(dossier: Dossier) -> None:
    agents, memo = dossier.test.policies[0], write_memo(dossier, load_gates())
    net, sharpe = agents.net_bps_per_bar, agents.sharpe_annual
    alpha = agents.alpha_bps
    assert alpha is not None
    assert alpha != net
    words = f"[{alpha.low:.2f}, {alpha.high:.2f}]"

    assert MEASUREMENTS["net_bps_per_bar"].read(dossier).interval == net
    assert MEASUREMENTS["edge_bps_per_bar"].read(dossier).interval == alpha
    assert MEASUREMENTS["sharpe_annual"].read(dossier).interval == sharpe
    edge = next(each for each in memo.gates if each.gate == "edge/net")
    assert edge.interval == alpha
    assert words in edge.found
    assert all(
        words in text for text in (*memo.reasons, memo.headline) if f"{alpha.estimate:.2f}" in text
    )
    assert any(words in text for text in (*memo.reasons, memo.headline))
    stored = json.loads(as_json(dossier))["parts"][-1]["policies"][0]
    assert stored["net_bps_per_bar"] == net._asdict()
    assert stored["earned"]["alpha_bps"] == alpha._asdict()
    assert stored["sharpe_annual"] == sharpe._asdict()
    rows = csv.DictReader(io.StringIO(as_csv(tables_of(dossier, memo)["policies"])))
    row = [each for each in rows if each["policy"] == AGENTS][-1]
    assert float(row["net_bps_per_bar_low"]) == net.low
    assert float(row["earned_alpha_bps_low"]) == alpha.low
    assert float(row["sharpe_annual_high"]) == sharpe.high
    assert words.replace("-", "−") in render_dossier(dossier, memo).replace("-", "−")
