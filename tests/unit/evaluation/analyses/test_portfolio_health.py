"""An allocation that is held is no collapse; capital in one sleeve without a reason is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.analyses.health import held_in_one, repeats_itself
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.portfolios import backtest_portfolio


@pytest.fixture(scope="module")
def master(portfolio_workspace: Path) -> PortfolioRun:
    subject = open_evaluated_run("master", portfolio_workspace)
    assert isinstance(subject, PortfolioRun)
    return subject


def hold(subject: PortfolioRun, weights: list[float]) -> Backtest:
    """Hold weights of two sleeves and cash over the test part."""
    bars = subject.bars("test")
    return backtest_portfolio(
        subject.task().backtest(bars.start, bars.stop - 1),
        lambda seen: torch.tensor(weights)[None, None],
        bars_per_year=subject.bars_per_year,
        name="held",
    )


def test_equal_weight_and_cash_are_held_by_choice(master: PortfolioRun) -> None:
    assert not held_in_one(master, hold(master, [0.495, 0.495, 0.01]))
    assert not held_in_one(master, hold(master, [0.0, 0.0, 1.0]))
    always = np.eye(7)[-1]  # the share that is invested falls in one bin
    played = hold(master, [0.495, 0.495, 0.01])
    assert not repeats_itself(played, always)
    assert repeats_itself(replace(played, weights=None), always)


def test_one_sleeve_is_a_collapse_where_equal_weight_does_as_well(master: PortfolioRun) -> None:
    alone = [hold(master, [1.0, 0.0, 0.0]), hold(master, [0.0, 1.0, 0.0])]
    earned = [float(each.portfolio_returns.mean()) for each in alone]
    assert earned[0] != earned[1]
    better, worse = (alone[int(place)] for place in np.argsort(earned)[::-1])

    surely = 1.002 ** np.arange(len(better.equity))[:, None]
    assert held_in_one(master, worse)
    assert not held_in_one(master, replace(better, equity=better.equity * surely))
    assert held_in_one(master, better), "by luck: the interval of the difference holds 0"
