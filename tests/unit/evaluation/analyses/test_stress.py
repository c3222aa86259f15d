"""A run in made-up bad times; history only where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange, Split
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.settings import StressSettings
from tradingbot.evaluation.analyses.stress.analysis import HISTORY, _held_share, measure_stress
from tradingbot.evaluation.dossier.robustness import Stress


@pytest.fixture(scope="module")
def found(ppo_subject: EvaluatedRun) -> Stress:
    return measure_stress(ppo_subject, StressSettings())


def test_every_made_up_time_is_there_and_hurts_holders(
    found: Stress, ppo_subject: EvaluatedRun
) -> None:
    rows = {row.scenario: row for row in found.rows}
    assert list(rows) == [
        *("crash", "correction", "lasting rally", "gap down", "gap up", "liquidity loss"),
        "volatility × 3",
    ]
    assert all(row.kind == "synthetic" for row in found.rows)
    # Equal weight really loses what was taken from every symbol, or more.
    assert rows["crash"].hold_drawdown_frac > 0.19
    assert (
        rows["correction"].hold_return_frac < -0.05 < 0.1 < rows["lasting rally"].hold_return_frac
    )
    assert rows["gap down"].hold_drawdown_frac > 0.075
    assert rows["gap up"].hold_drawdown_frac < rows["gap down"].hold_drawdown_frac
    assert rows["gap up"].hold_return_frac - rows["gap down"].hold_return_frac == pytest.approx(
        0.16, abs=0.03
    )
    # Dear trades, and trades that do not fill: the run itself earns more.
    usual = ppo_subject.backtest("test").portfolio[-1] - 1.0
    assert rows["liquidity loss"].total_return_frac < usual - 1e-4
    assert all(0.0 <= row.max_drawdown_frac < 1.0 for row in found.rows)
    assert found.worst_drawdown_frac == max(row.max_drawdown_frac for row in found.rows)


def test_generated_bars_have_no_history_and_say_so(found: Stress) -> None:
    assert len(found.left_out) == 4
    assert all("generated" in words for words in found.left_out)


def test_observed_bars_give_windows_that_they_cover_and_reasons_for_others(
    ppo_subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bars said to be observed, at another time: April 2025 begins in their validation."""
    data = ppo_subject.data
    april = np.datetime64("2025-04-01", "us").astype(np.int64)
    shift = april - data.world.closed_at[data.split.validation.start + 2]
    shift -= shift % (7 * 86_400 * 10**6)  # weekdays stay weekdays
    world = replace(data.world, closed_at=data.world.closed_at + shift, synthetic=False)
    subject = replace(ppo_subject, data=replace(data, world=world))
    monkeypatch.setattr("tradingbot.evaluation.analyses.stress.analysis._scenarios", lambda *_: [])
    found = measure_stress(subject, StressSettings())
    assert [(row.scenario, row.kind) for row in found.rows] == [("April 2025", "historical")]
    assert "; weights were chosen by these bars;" in found.rows[0].words
    assert [words.split(":")[0] for words in found.left_out] == [
        "2018 Q4",
        "2020 crash",
        "2022 bear market",
    ]
    assert all("the data cover" in words for words in found.left_out)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("before", "before training: agents never saw these bars, but learned from later ones"),
        ("train", "in sample: agents learned from these bars"),
        ("test", "a tenth lost in two days"),
    ],
)
def test_historical_window_says_what_the_run_used_its_bars_for(
    part: str, words: str, ppo_subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ppo_subject.data
    month = IndexRange(150, 280)
    split = {
        "before": replace(data.split, train=IndexRange(month.stop, data.split.train.stop)),
        "train": data.split,
        "test": Split(
            data.split.length,
            IndexRange(0, 40),
            IndexRange(80, 120),
            IndexRange(month.start, data.split.test.stop),
            data.split.gap,
        ),
    }[part]
    world = replace(data.world, synthetic=False)
    subject = replace(ppo_subject, data=replace(data, world=world, split=split))
    monkeypatch.setattr("tradingbot.evaluation.analyses.stress.analysis._scenarios", lambda *_: [])
    monkeypatch.setattr("tradingbot.evaluation.analyses.stress.analysis.HISTORY", HISTORY[-1:])
    monkeypatch.setattr(
        "tradingbot.evaluation.analyses.stress.analysis.covered_bars", lambda *_: month
    )
    (row,) = measure_stress(subject, StressSettings()).rows
    assert words in row.words
    assert ("agents" in row.words.split("; agents held")[0]) == (part != "test")


def test_historical_window_says_what_holding_as_much_all_the_time_gives(
    ppo_subject: EvaluatedRun,
) -> None:
    """Whoever holds half falls by half: no skill is needed to lose less than equal weight."""
    hold = ppo_subject.backtest_hold("test")
    half = replace(hold, position_frac=0.5 * hold.position_frac)
    words = _held_share(half, hold)
    share = 0.5 * hold.position_frac.mean()
    gained = np.prod(1.0 + share * hold.portfolio_returns) - 1.0
    assert f"agents held {share:.0%} on average" in words
    assert f"gives {gained:+.1%}, drawdown ".replace("-", "−") in words


def test_hold_is_equal_weight_of_the_agents_symbols(ppo_subject: EvaluatedRun) -> None:
    part = ppo_subject.bars("test")
    closes = ppo_subject.data.world.prices[:, [part.start + 1, part.stop - 1], 3]
    played = ppo_subject.backtest_hold(part)
    assert played.portfolio[-1] == pytest.approx((closes[:, 1] / closes[:, 0]).mean(), rel=0.02)
