"""A portfolio run as a subject: training's own figures, no sight of the future, costs that act."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

import tradingbot as tb
from fixtures.tiny_portfolio import JOINT, begin_master
from tradingbot.app.cli.application import run as run_command
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.allocation.rules import ALLOCATION_RULES
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.analyses.placebos.analysis import play_placebos
from tradingbot.evaluation.analyses.placebos.bars import flip_bars, reverse_bars
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, backtest
from tradingbot.evaluation.backtest.look_ahead import with_other_future
from tradingbot.evaluation.performance.measure import day_ends
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.evaluation.power.spiked_data import open_subject
from tradingbot.evaluation.power.trial import TrialSpec, run_trial
from tradingbot.market.costs import CostProfile, cost_profile
from tradingbot.plugins.reference import ALLOCATION_NAMES
from tradingbot.runs.policy import StoredPolicy
from tradingbot.training.result_file import read_result


@pytest.fixture(scope="module")
def workspace(portfolio_workspace: Path) -> Path:
    begin_master(portfolio_workspace, "joint", **JOINT)
    return portfolio_workspace


@pytest.fixture(scope="module")
def subject(workspace: Path) -> PortfolioRun:
    found = open_evaluated_run("master", workspace)
    assert isinstance(found, PortfolioRun)
    return found


@pytest.fixture(scope="module")
def played(subject: PortfolioRun) -> Backtest:
    return subject.backtest("test")


@pytest.mark.parametrize("name", ["master", "joint"])
def test_backtest_is_what_training_says_of_the_same_bars(workspace: Path, name: str) -> None:
    subject = open_evaluated_run(name, workspace)
    for part in ("validation", "test"):
        own = read_result(subject.run.path).part(part)
        row = own.policy(AGENTS)
        assert row is not None
        found = subject.backtest(part)
        assert row.equity == tuple(found.portfolio[day_ends(found)].tolist())
        assert row.n_trades == int((~found.trades.is_open).sum()) > 0
        assert found.exposure.day.any()


def test_value_is_what_all_trades_earned(played: Backtest) -> None:
    cash = played.initial_cash_ccy
    earned = played.trades.pnl_ccy.sum()
    assert cash + earned == pytest.approx(cash * played.equity[-1, 0], rel=1e-9)
    assert played.weights is not None
    np.testing.assert_allclose(played.weights.sum(axis=1), 1.0, atol=1e-6)


def test_another_future_changes_no_weight_and_no_order_before_it(
    subject: PortfolioRun, played: Backtest
) -> None:
    bars = subject.bars("test")
    cut = bars.start + 40
    other = subject.on(with_other_future(subject.data.whole, cut))
    again = other.backtest(IndexRange(bars.start, cut + 3))

    decided = cut - bars.start + 1
    for name in ("weights", "proposals"):
        before, after = getattr(played, name)[:decided], getattr(again, name)[:decided]
        assert before.tobytes() == after.tobytes()
    for name in ("turnover_frac", "cost_frac", "cash_frac"):
        before, after = getattr(played, name), getattr(again, name)
        assert before[: decided - 1].tobytes() == after[: decided - 1].tobytes()
    assert (
        played.exposure.day[: decided - 1].tobytes() == again.exposure.day[: decided - 1].tobytes()
    )
    assert played.equity[: decided + 2].tobytes() != again.equity[: decided + 2].tobytes()


@pytest.mark.parametrize("name", ["master", "joint"])
def test_another_world_is_encoded_once(
    workspace: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full encoder this takes longer than all else of a replay."""
    subject = open_evaluated_run(name, workspace)
    encoded: list[int] = []
    see = StoredPolicy.see

    def count(loaded: StoredPolicy, table: Tensor, kept_in: Path | None = None) -> Tensor:
        encoded.append(len(table))
        return see(loaded, table, kept_in)

    monkeypatch.setattr(StoredPolicy, "see", count)
    subject.on(with_other_future(subject.data.whole, subject.bars("test").start + 40))
    assert encoded == [subject.data.world.n_symbols]


def test_costs_and_delays_that_are_asked_for_act(subject: PortfolioRun, played: Backtest) -> None:
    dear = subject.backtest("test", costs=cost_profile("retail"))
    free = subject.backtest("test", costs=CostProfile(0.0, 0.0))
    late = subject.backtest("test", delay_bars=2)

    assert free.cost_frac.sum() == 0.0
    assert dear.cost_frac.sum() > 5.0 * played.cost_frac.sum() > 0.0
    assert late.equity[-1, 0] != played.equity[-1, 0]
    assert late.weights is not None
    assert played.weights is not None
    assert late.weights[0, -1] == 1.0


def test_policy_of_single_accounts_is_pooled_and_the_chain_is_none(subject: PortfolioRun) -> None:
    hold = subject.backtest_hold("test")
    assert hold.symbols == ("portfolio",)
    assert hold.held == subject.data.world.symbols
    with pytest.raises(ConfigError, match="must be traded by a policy of one symbol"):
        backtest(subject.data.world, subject.env, subject.policy, name="chain", bars_per_year=1.0)
    (chain,) = subject.backtest_all([PolicyUnderTest("it", subject.policy)], "test")
    assert chain.policy == "it"


def test_placebos_are_markets_of_their_own(subject: PortfolioRun, played: Backtest) -> None:
    part = subject.bars("test")
    changes = [reverse_bars, flip_bars]
    made = play_placebos(subject, CounterfactualData(subject), part, changes)
    reversed_, flipped = (each for draws in made for each in draws)

    assert reversed_.shape == flipped.shape == played.portfolio_returns.shape
    assert not np.array_equal(reversed_, flipped)
    assert not np.array_equal(reversed_, played.portfolio_returns)


def test_names_of_allocation_rules_are_told_without_torch() -> None:
    words = [name.replace(" ", "_").replace("-", "_") for name in ALLOCATION_RULES]
    assert tuple(words) == ALLOCATION_NAMES


def test_command_shows_the_portfolio_beside_rules_and_allocations(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trades = tmp_path / "trades.csv"
    base = ["--workspace", str(workspace), "backtest", "master"]
    names = ["buy_and_hold", "allocation:equal_weight", "allocation:all_cash"]
    assert run_command([*base, *names, "--trades", str(trades), "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == ["master", *names]
    assert [row["kind"] for row in rows] == ["agents", *["baseline"] * 3]
    assert {row["symbols"] for row in rows} == {2}
    assert rows[-1]["total_return_frac"] == 0.0
    with trades.open() as file:
        listed = [row for row in csv.DictReader(file) if row["policy"] == "master"]
    assert {row["symbol"] for row in listed} <= {"SPY", "AAPL"}
    assert len(listed) >= rows[0]["n_trades"]
    page = tmp_path / "page.html"
    assert run_command([*base, "--costs", "free", "--part", "validation", "--out", str(page)]) == 0
    assert "master" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["agents", "allocation:equal_weight"], "must stand beside a portfolio run"),
        (["master", "allocation:equal_wait"], "allocation rule must be known"),
        (["master", "allocation:equal_weight:n=3"], "must stand without parameters"),
    ],
)
def test_allocations_that_cannot_be_played_are_refused(
    workspace: Path, names: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["--workspace", str(workspace), "backtest", *names]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["master", "joint"])
def test_loaded_portfolio_trades_bars_in_python_as_its_run_is_backtested(
    workspace: Path, name: str
) -> None:
    own = open_evaluated_run(name, workspace)
    policy = tb.load_policy(workspace / "runs" / name)
    assert policy.symbols == own.data.world.symbols
    assert "2 sleeves of one portfolio: SPY, AAPL" in repr(policy)
    days = [str(day)[:10] for day in own.data.periods["test"][:2]]
    world, costs = own.data.world, cost_profile("retail")
    found = tb.backtest(policy, world, costs=costs, delay_bars=1, start=days[0], end=days[1])

    first = int(np.searchsorted(world.closed_at, found.played.closed_at[0]))
    span = IndexRange(first, first + found.played.n_bars + 1)
    expected = own.backtest(span, costs=costs, delay_bars=1)
    assert found.played.equity.tobytes() == expected.equity.tobytes()
    assert found.played.weights is not None
    assert expected.weights is not None
    assert found.played.weights.tobytes() == expected.weights.tobytes()
    assert found.figures.performance.n_trades == int((~expected.trades.is_open).sum())
    assert set(found.trades["symbol"]) <= {"SPY", "AAPL"}
    with pytest.raises(ConfigError, match="must trade one account per symbol"):
        policy.on(world)


def test_portfolios_are_compared_with_each_other_and_with_their_agents(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--workspace", str(workspace), "compare"]
    assert run_command([*base, "master", "agents", "joint", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    agents, joint = found["differences"]
    assert agents["caveats"] == [
        "accounts differ: one of all symbols and one for each, equally weighed"
    ]
    assert joint["caveats"] == []
    own = open_evaluated_run("master", workspace).backtest("test")
    assert found["runs"][0]["performance"]["total_return_frac"] == own.equity[-1, 0] - 1.0


def test_power_of_a_portfolio_trains_its_agents_on_the_planted_signal(workspace: Path) -> None:
    config = open_evaluated_run("master", workspace).config
    subject = open_subject(config, workspace)
    trials = [
        run_trial(subject, TrialSpec(kappa, 0.9, 0, 3, 4, 0.05), workspace) for kappa in (0.0, 0.5)
    ]
    assert [trial.trading_agents for trial in trials] == [1, 1]
    assert trials[0].alpha_bps != trials[1].alpha_bps


def test_halted_portfolio_has_no_sleeves_that_earn(subject: PortfolioRun, played: Backtest) -> None:
    whole = subject.sleeve_returns(played)
    assert whole[-1].any()
    account = replace(subject.env.rules.account, portfolio_loss_frac=0.0005)
    limited = replace(subject.env, rules=replace(subject.env.rules, account=account))
    early = replace(subject, env=limited, _tasks={})
    halted = early.backtest("test")
    lost = int(np.flatnonzero(halted.portfolio <= 1.0 - 0.0005)[0])
    assert 0 < lost < halted.n_bars - 1
    assert halted.portfolio[lost + 2 :].tolist() == [halted.portfolio[lost + 1]] * (
        halted.n_bars - lost - 1
    )
    found = early.sleeve_returns(halted)
    assert found[:lost].tolist() == whole[:lost].tolist()
    assert not found[lost:].any()
