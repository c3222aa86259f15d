"""Runs side by side: shared bars, paired intervals, what differs, and a page of it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fixtures.tiny_evaluation import make_run
from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.comparison.measure import common_bars, compare_runs
from tradingbot.evaluation.comparison.page import headline_of, render_comparison, words_of
from tradingbot.evaluation.comparison.record import RunComparison
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import (
    net_bps_interval,
    sharpe_difference,
    sharpe_interval,
)
from tradingbot.runs.compatibility import config_differences
from tradingbot.runs.ledger import Ledger
from tradingbot.training.session import begin_run
from tradingbot.training.trial_ledger import data_key


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: the second has another seed and other costs, the third other days."""
    folder = tmp_path_factory.mktemp("compared")
    make_run(folder, "first")
    begin_run(tiny_config(7, task__costs="retail", validation__shrink=False), folder, name="second")
    begin_run(
        tiny_config(5, market__start="2025-06-24", validation__shrink=False), folder, name="third"
    )
    return folder


@pytest.fixture(scope="module")
def found(workspace: Path) -> RunComparison:
    return compare_runs(["first", "second", "third"], workspace)


def test_difference_is_the_paired_one_over_the_bars_that_both_traded(
    found: RunComparison, workspace: Path
) -> None:
    first, second = (open_evaluated_run(name, workspace).backtest() for name in ("first", "second"))
    mine, theirs = second.returns.mean(axis=1), first.returns.mean(axis=1)

    difference = found.differences[0]

    assert difference.run == "second"
    assert difference.bars == first.n_bars
    assert difference.net_bps_per_bar == net_bps_interval(mine - theirs)
    own = [sharpe_interval(each.portfolio_returns, each.bars_per_year) for each in (second, first)]
    assert difference.sharpe_annual.estimate == pytest.approx(own[0].estimate - own[1].estimate)
    assert difference.correlation == pytest.approx(
        np.corrcoef(second.portfolio_returns, first.portfolio_returns)[0, 1]
    )
    assert difference.caveats == (
        f"costs differ: {found.runs[1].costs_bps:.1f} and {found.runs[0].costs_bps:.1f} bp of each "
        "fill",
    )


def test_runs_of_other_days_are_compared_where_bars_are_shared_and_it_is_said(
    found: RunComparison,
) -> None:
    first, _, third = found.runs
    (difference,) = (each for each in found.differences if each.run == "third")

    assert third.bars < first.bars
    assert 8 <= difference.bars <= third.bars
    said = " ".join(difference.caveats)
    assert f"bars differ: {difference.bars} are shared, of {third.bars} and {first.bars}" in said
    assert "data differ" in said
    assert len(found.equity) == 3
    assert all(len(each) == len(found.days) for each in found.equity)


def test_difference_over_other_days_pairs_every_quantity_by_its_close(
    found: RunComparison, workspace: Path
) -> None:
    (difference,) = (each for each in found.differences if each.run == "third")
    tables = []
    for name in ("third", "first"):
        subject = open_evaluated_run(name, workspace)
        played = subject.backtest()
        columns = {
            "alpha": 1e4 * attribute_backtest(played, subject.data.factor).alpha.mean(axis=1),
            "turnover": played.turnover_frac.mean(axis=1),
            "exposure": np.abs(played.position_frac).mean(axis=1),
        }
        tables.append(pd.DataFrame(columns, index=played.closed_at[1:]))
    less = (tables[0] - tables[1]).dropna()  # aligned by the close
    assert len(less) == difference.bars
    assert tables[0].index[0] != tables[1].index[0]  # so that places differ from bar to bar

    assert difference.alpha_bps_per_bar.estimate == pytest.approx(less["alpha"].mean())
    assert difference.turnover_per_bar_frac.estimate == pytest.approx(less["turnover"].mean())
    assert difference.exposure_frac.estimate == pytest.approx(less["exposure"].mean())


def test_only_settings_that_differ_are_told_as_runs_compare_tells_them(
    found: RunComparison, workspace: Path
) -> None:
    pair = compare_runs(["first", "second"], workspace)
    records = [open_evaluated_run(name, workspace).run.record for name in ("first", "second")]

    told = [f"{row.name}: {' → '.join(row.values)}" for row in pair.config]

    assert told == config_differences(records[0].config, records[1].config)
    assert ("task.costs", ("alpaca", "retail")) in [(row.name, row.values) for row in pair.config]
    assert ("seed", ("5", "7")) in [(row.name, row.values) for row in pair.facts]
    assert {row.name for row in found.config} > {row.name for row in pair.config}


def test_looks_at_test_bars_are_counted_once(workspace: Path, found: RunComparison) -> None:
    run = open_evaluated_run("first", workspace).run
    before = len(Ledger(workspace).trials(data_key(run.record.data)))

    compare_runs(["second", "first"], workspace)

    assert found.runs[0].run == "first"
    assert len(Ledger(workspace).trials(data_key(run.record.data))) == before


def test_comparison_is_read_back_as_it_was_written(found: RunComparison) -> None:
    plain = json.loads(json.dumps(to_plain(found), allow_nan=False))

    assert to_plain(from_plain(RunComparison, plain)) == plain


def test_page_tells_differences_with_intervals_and_asks_nothing_of_the_network(
    found: RunComparison,
) -> None:
    page = render_comparison(found)

    assert not re.search(r"https?:|//[a-z]+\.|url\((?!data:)", page)
    for said in ("task.costs", "retail", "synthetic data", "Symbol", "Read with care"):
        assert said in page
    for each in found.differences:
        assert f"{each.net_bps_per_bar.low:.2f}".replace("-", "−") in page
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"<(script|style).*?</\1>", "", page))
    assert len(re.findall(r"<section id=", page)) == 5
    assert len(page.encode()) < 600_000


def test_run_that_is_the_same_bar_by_bar_has_no_difference(workspace: Path) -> None:
    begin_run(
        tiny_config(
            validation__shrink=False, learner__direct__chunk_bars=8, budget__steps_per_agent=192
        ),
        workspace,
        name="again",
    )

    found = compare_runs(["first", "again"], workspace)

    assert found.config == ()
    assert tuple(found.differences[0].net_bps_per_bar) == (0.0, 0.0, 0.0)
    assert tuple(found.differences[0].sharpe_annual) == (0.0, 0.0, 0.0)
    assert headline_of(found) == "again did bar by bar the same as first."


def test_bars_are_shared_where_both_of_their_ends_are() -> None:
    hourly = np.array([0, 1, 2, 3, 4, 5, 6])
    two_hourly = np.array([0, 2, 4, 5, 6])

    mine, theirs = common_bars(hourly, two_hourly)

    assert mine.tolist() == [4, 5]  # 4 → 5 and 5 → 6; the bar that ends at 2 began earlier
    assert theirs.tolist() == [2, 3]


def test_difference_of_sharpe_ratios_knows_what_runs_have_in_common() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(2e-4, 0.01, 600)
    mine, other = (shared + rng.normal(0, 0.001, 600) for _ in range(2))

    paired = sharpe_difference(mine, other, 252)
    apart = [sharpe_interval(each, 252) for each in (mine, other)]

    assert paired.estimate == pytest.approx(apart[0].estimate - apart[1].estimate)
    assert paired.covers(0)
    assert paired.high - paired.low < 0.5 * min(each.high - each.low for each in apart)
    assert sharpe_difference(shared + 1e-3, shared, 252).low > 0


def test_runs_that_share_no_bars_have_no_difference_and_it_is_said(
    found: RunComparison, workspace: Path
) -> None:
    begin_run(
        tiny_config(5, market__start="2021-06-10", market__end="2021-10-01"), workspace, name="old"
    )

    apart = compare_runs(["first", "old"], workspace)

    assert apart.differences == ()
    assert apart.unpaired == (("old", "0 bars are shared with first; an interval needs 8"),)
    assert apart.days == ()
    assert headline_of(apart).startswith("These runs share too few bars")
    assert words_of(apart) == []
    assert "No run shares enough bars" in render_comparison(apart)
    assert all(math.isfinite(each.performance.total_return_frac) for each in found.runs)


def test_headline_has_the_sign_of_its_interval_and_the_bars_that_both_traded(
    found: RunComparison,
) -> None:
    (second, _), (first, *_) = found.differences, found.runs
    worse = replace(
        second,
        bars=1_169,
        first_day="2025-08-27",
        last_day="2025-10-01",
        net_bps_per_bar=Interval(-2.51, -8.61, 2.99),
    )
    pair = replace(
        found,
        runs=(replace(first, bars=1_298), found.runs[1]),
        differences=(worse,),
        equity=found.equity[:2],
        agents=(),
        config=(),
        facts=(),
    )

    assert headline_of(pair) == (
        "second earned less than first: −2.51\u202fbp per bar [−8.61, 2.99] over 1,169 shared "
        "bars, 2025-08-27 … 2025-10-01; within chance."
    )
    better = replace(worse, net_bps_per_bar=Interval(2.51, 0.1, 4.0))
    assert words_of(replace(pair, differences=(better,)))[0].startswith(
        "second earned more than first: +2.51\u202fbp per bar [0.10, 4.00]"
    )
    page = render_comparison(pair)
    first_screen = page[page.index("<header") : page.index("</header>")]
    assert "<dt>Shared bars</dt><dd>1\u202f169 bars, 2025-08-27 … 2025-10-01" in first_screen
    assert f"<dt>Test period</dt><dd>{first.first_day} … {first.last_day}, 1\u202f298 bars" in page
    assert not re.search(r">[^<{]*\d,\d{3}\b", page[page.index("<main>") :].split("<script")[0])


@pytest.mark.parametrize(
    ("names", "rule"),
    [(["first"], "two runs or more"), (["first", "first"], "runs must differ")],
)
def test_comparison_of_one_run_is_refused(workspace: Path, names: list[str], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        compare_runs(names, workspace)
