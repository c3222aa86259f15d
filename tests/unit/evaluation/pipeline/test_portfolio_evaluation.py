"""The dossier of a portfolio run: what it has, what it says it has not, and the gates of cash."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tradingbot.app.cli.application import run as run_command
from tradingbot.evaluation.allocation.rules import ALLOCATION_RULES, EQUAL_WEIGHT, FLAT
from tradingbot.evaluation.analyses.allocation_figures import measure_allocation
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.backtest.portfolios import backtest_portfolio
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.evaluation.pipeline.session import Evaluation, EvaluationRequest, evaluate_run
from tradingbot.learning.allocation_shrinkage import EQUAL_CASH_FRAC
from tradingbot.market.portfolio.net_orders import SleeveBars

SETTINGS = {
    "analyses": ["regimes", "stress", "sensitivity", "ensemble", "policy"],
    "sensitivity.cost_bps": [0.0, 2.0],
    "sensitivity.delay_bars": [0, 1],
    "sensitivity.slippage_bps": [1.0],
    "sensitivity.limit_shares": [0.1, 1.0],
    "sensitivity.capital_ccy": [1e5, 1e9],
    "leak_check.cuts": 2,
    "leak_check.feature_rounds": 2,
    "statistics.draws": 200,
}


def evaluate(workspace: Path) -> Evaluation:
    config = load_evaluate_config("quick", dict(SETTINGS))
    return evaluate_run(EvaluationRequest(run="master", config=config), workspace)


@pytest.fixture(scope="module")
def evaluated(portfolio_workspace: Path) -> Evaluation:
    return evaluate(portfolio_workspace)


def test_dossier_has_the_chain_beside_allocation_rules(evaluated: Evaluation) -> None:
    dossier = evaluated.dossier
    names = [row.policy for row in dossier.test.policies]

    assert names[0] == AGENTS
    assert {name for name in ALLOCATION_RULES if name != FLAT} <= set(names)
    assert dossier.test.policies[0].earned is not None
    assert not set(ALLOCATION_RULES) & set(dossier.statistics.spa_against)  # agents are in them
    assert dossier.statistics.n_trials >= 1
    assert dossier.leak_check.is_clean
    assert dossier.leak_check.actions_compared > 0
    assert dossier.tear_sheet is not None
    assert dossier.tear_sheet.trades.n_trades > 0
    assert evaluated.memo.verdict in ("GO", "CONDITIONAL", "NO-GO")
    assert from_plain(Dossier, to_plain(dossier)) == dossier


def test_capital_cash_and_the_fixed_allocation_are_measured(evaluated: Evaluation) -> None:
    found, test = evaluated.dossier.allocation, evaluated.dossier.test
    assert found is not None
    master, fixed = test.policy(AGENTS), test.policy(EQUAL_WEIGHT)
    assert master is not None
    assert fixed is not None

    gained = master.annual_return_frac - fixed.annual_return_frac
    assert found.over_fixed_annual_frac == pytest.approx(gained)
    assert master.earned is not None
    assert fixed.earned is not None
    adds, alone = found.over_fixed_bps, found.fixed_alpha_bps
    assert adds is not None
    assert alone == fixed.earned.alpha_bps
    in_cash = 1.0 - EQUAL_CASH_FRAC
    paired = master.earned.alpha_bps.estimate - in_cash * fixed.earned.alpha_bps.estimate
    assert adds.estimate == pytest.approx(paired)
    assert adds.low < adds.estimate < adds.high
    (gate,) = (each for each in evaluated.memo.gates if each.gate == "master/over_fixed")
    assert gate.interval == adds
    assert gate.outcome == ("pass" if adds.low > 0.0 else "fail")
    assert 0.0 <= found.least_cash_frac < found.mean_cash_frac < found.most_cash_frac <= 1.0
    assert [row.symbol for row in found.rows] == ["SPY", "AAPL"]
    assert sum(row.mean_weight_frac for row in found.rows) < 1.0
    earned = sum(row.pnl_ccy for row in found.rows)
    assert earned == pytest.approx(1e5 * master.total_return_frac, rel=1e-6)


def test_costs_limits_and_capital_are_those_of_one_account(evaluated: Evaluation) -> None:
    found = evaluated.dossier.sensitivity
    assert found is not None
    net = {(row.axis, row.setting): row.net_bps_per_bar.estimate for row in found.rows}

    assert net["cost", 0.0] > net["cost", 2.0]
    assert net["capital", 1e5] != net["capital", 1e9]  # impact, and what a bar fills
    assert len({net["position limit", 1.0], net["position limit", 0.1]}) == 2


def test_what_is_not_for_portfolios_says_so(
    evaluated: Evaluation, portfolio_workspace: Path
) -> None:
    reasons = dict(evaluated.dossier.left_out)
    assert reasons["policy"].startswith("not for portfolios: ")
    page = evaluated.page.read_text(encoding="utf-8")
    assert "ot for portfolios: " in page
    assert "Allocation" in page
    assert "traded by the agents of run agents" in page
    named = ["evaluate", "master", "--preset", "required", "--analyses", "policy", "--jobs", "1"]
    assert run_command(["--workspace", str(portfolio_workspace), *named]) == 2


def test_portfolio_evaluated_twice_gives_the_same_dossier(
    evaluated: Evaluation, portfolio_workspace: Path
) -> None:
    shutil.rmtree(evaluated.folder / "analyses")
    again = evaluate(portfolio_workspace)

    first, second = (
        to_plain(replace(each.dossier, header=replace(each.dossier.header, evaluated_at="")))
        for each in (evaluated, again)
    )
    assert first == second
    assert again.memo == evaluated.memo


@pytest.mark.parametrize(
    ("most", "least", "outcomes"),
    [
        (0.3, 0.1, ("pass", "pass")),
        (0.05, 0.0, ("pass", "pass")),
        (0.0499, 0.0, ("fail", "pass")),
        (1.0, 0.9501, ("pass", "fail")),
        (1.0, 0.95, ("pass", "pass")),
    ],
)
def test_cash_gates_below_at_and_above_their_bounds(
    evaluated: Evaluation, most: float, least: float, outcomes: tuple[str, str]
) -> None:
    assert evaluated.dossier.allocation is not None
    divided = replace(evaluated.dossier.allocation, most_cash_frac=most, least_cash_frac=least)
    judged = cash_gates(replace(evaluated.dossier, allocation=divided))
    assert judged == outcomes


def cash_gates(dossier: Dossier) -> tuple[str, ...]:
    gates = [gate for gate in load_gates() if gate.name.startswith("master/not_all")]
    return tuple(each.outcome for each in judge_gates(dossier, gates, {}))


@pytest.mark.parametrize(
    ("logits", "in_market", "outcomes"),
    [
        ((0.0, 0.0, 0.0), 1.0, ("pass", "pass")),
        ((0.0, 0.0, -20.0), 1.0, ("fail", "pass")),
        ((0.0, 0.0, 20.0), 1.0, ("pass", "fail")),
        ((0.0, 0.0, -20.0), 0.0, ("pass", "fail")),
    ],
    ids=["a third each", "all in", "all cash", "all in sleeves that stay out"],
)
def test_cash_gates_of_planted_masters(
    evaluated: Evaluation,
    portfolio_workspace: Path,
    logits: tuple[float, ...],
    in_market: float,
    outcomes: tuple[str, str],
) -> None:
    """Weights are a softmax: none of them is ever 0 or 1."""
    subject = open_evaluated_run("master", portfolio_workspace)
    assert isinstance(subject, PortfolioRun)
    task, bars = subject.task(), subject.bars("test")
    rows = task.book.rows.clone()
    rows[:, SleeveBars._fields.index("target_frac")] = in_market
    weights = torch.tensor(logits, dtype=torch.float64).softmax(-1).view(1, 1, -1)
    assert bool(((weights > 0.0) & (weights < 1.0)).all())
    over = task.with_book(replace(task.book, rows=rows)).backtest(bars.start, bars.stop - 1)
    played = backtest_portfolio(over, lambda _: weights, bars_per_year=1764.0, name="planted")
    fixed = subject.backtest_allocations("test", names=[EQUAL_WEIGHT])
    found = measure_allocation(subject, played, fixed, subject.data.factor)
    assert cash_gates(replace(evaluated.dossier, allocation=found)) == outcomes


def test_gates_of_a_phase_are_judged_on_a_portfolio(
    evaluated: Evaluation, portfolio_workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["gates", "--phase", "master=master", "--json"]
    assert run_command(["--workspace", str(portfolio_workspace), *named]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["result"]["gate"] for each in found] == [
        gate.name for gate in load_gates() if gate.phase == "master"
    ]
    assert {each["result"]["outcome"] for each in found} <= {"pass", "fail"}
    assert evaluated.dossier.header.run == "master"


def test_gates_of_a_master_are_not_measured_where_there_is_none(evaluated: Evaluation) -> None:
    alone = replace(evaluated.dossier, allocation=None)
    gates = [gate for gate in load_gates() if gate.phase == "master"]
    judged = judge_gates(alone, gates, {})
    assert {each.outcome for each in judged} == {"not measured"}
    assert "environment.kind: portfolio" in judged[0].reason
