"""Runs, evaluations and trials as they are read: growing, damaged, empty."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from fixtures.dashboard_pages import run_page, words_of
from fixtures.example_dossier import example_part
from fixtures.small_runs import NOW
from fixtures.watched_runs import add_trials, evaluate_learning_run, make_learning_run
from fixtures.watched_sessions import begin, fill_session, make_session, trade, watch, writing
from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.report.numbers import plain
from tradingbot.evaluation.statistics.deflation import deflated_target, trial_variance
from tradingbot.monitoring.dashboard.agent_cells import (
    AgentCell,
    collapse_cells,
    entropy_cells,
    profit_cells,
    write_cells,
)
from tradingbot.monitoring.dashboard.figures.judged import draw_trials
from tradingbot.monitoring.dashboard.moments import UTC_ZONE, choose_zone
from tradingbot.monitoring.dashboard.pages.training import progress_figures
from tradingbot.monitoring.dashboard.palette import palette_of
from tradingbot.monitoring.dashboard.sources.evaluations import progress_by_phase
from tradingbot.monitoring.dashboard.sources.json_lines import JsonLinesTail, read_last_lines
from tradingbot.monitoring.dashboard.sources.run_view import RecorderWords
from tradingbot.monitoring.dashboard.sources.run_watch import RunsWatch
from tradingbot.runs.counted_trials import counted_sharpes
from tradingbot.runs.ledger import Ledger


def test_tail_reads_what_was_appended_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = JsonLinesTail(path)
    assert tail.read() == []
    path.write_text('{"a": 1}\n{"a": 2}\n{"a"')
    assert tail.read() == [{"a": 1}, {"a": 2}]
    with path.open("a") as file:
        file.write(": 3}\n")
    assert tail.read() == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_tail_of_a_file_that_was_cut_back_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n')
    tail = JsonLinesTail(path, lambda row: row["a"])
    assert tail.read() == [1, 2]
    path.write_text('{"a": 9}\n')
    assert tail.read() == [9]


@pytest.mark.parametrize("line", ["not json\n", "[1]\n", '{"a": ' + "[" * 100_000 + "\n"])
def test_damaged_line_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"a": 1}\n' + line)

    with pytest.raises(StorageError, match="line 2"):
        JsonLinesTail(path).read()


def test_last_lines_are_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "recorder.jsonl"
    path.write_text("".join(json.dumps({"update": each}) + "\n" for each in range(1000)))

    rows = read_last_lines(path, n_bytes=100)

    assert [row["update"] for row in rows] == list(range(1000 - len(rows), 1000))
    assert 0 < len(rows) < 10
    assert read_last_lines(tmp_path / "none") == []


def test_run_shows_its_curves_scores_words_and_speed(tmp_path: Path) -> None:
    make_learning_run(tmp_path, updates=20)
    watched = watch(tmp_path, datetime.now(UTC))

    run = watched.runs.run("toy")

    assert run is not None
    assert run.summary.state == "killed"  # no process holds it, and it says that it runs
    assert [row.steps for row in run.updates] == [100 * each for each in range(1, 21)]
    assert run.updates[-1].means["loss/gradient_norm"] == 23.0
    assert set(run.updates[-1].terms) == {"log_growth", "turnover"}
    assert [row.is_best for row in run.scores] == [False, True, False, False]
    assert np.isnan(run.scores[0].mean_score)
    assert [each.words for each in run.said] == ["all actions are HOLD"]
    assert run.left_s is None
    assert watched.runs.run("none") is None


def test_run_that_trains_has_an_eta_and_is_stale_where_nothing_comes(tmp_path: Path) -> None:
    run = make_learning_run(tmp_path, updates=10)
    written = datetime.fromtimestamp(run.journal_path("metrics").stat().st_mtime, UTC)
    with run.hold():
        fresh = watch(tmp_path, written + timedelta(seconds=10)).runs.run("toy")
        late = watch(tmp_path, written + timedelta(hours=1)).runs.run("toy")

    assert fresh is not None
    assert late is not None
    assert (fresh.summary.state, fresh.freshness.state) == ("running", "live")
    seconds = (written - NOW).total_seconds()
    assert fresh.steps_per_s == pytest.approx(1000 / seconds)
    assert fresh.left_s == 0.0
    assert (late.freshness.state, late.freshness.since) == ("stale", written)


def test_damaged_run_is_listed_with_its_problem(tmp_path: Path) -> None:
    run = make_learning_run(tmp_path, updates=3)
    (run.path / "run.json").write_text("{")
    run.journal_path("metrics").write_text("no json\n")
    watched = watch(tmp_path)

    (summary,) = watched.runs.summaries()

    assert summary.state == "damaged"
    assert summary.problem
    view = watched.runs.run("toy")
    assert view is not None
    assert "line 1" in view.problem


def test_evaluation_is_judged_by_the_gates_and_refused_where_it_was_changed(tmp_path: Path) -> None:
    run = make_learning_run(tmp_path, updates=3)
    evaluate_learning_run(tmp_path, run)
    watched = watch(tmp_path)

    found = watched.evaluations.read("toy")

    assert found.memo is not None
    assert not found.problem
    phases = progress_by_phase(found.memo)
    assert sum(len(each.gates) for each in phases) == len(found.memo.gates)
    assert all(each.passed <= each.measured <= len(each.gates) for each in phases)
    path = run.path / "evaluation" / "dossier.json"
    path.write_text(path.read_text().replace("1", "2", 1))
    changed = watched.evaluations.read("toy")
    assert changed.memo is None
    assert "changed since" in changed.problem
    assert watched.evaluations.read("none").problem


def test_trials_are_those_of_the_ledger_with_what_luck_is_due(tmp_path: Path) -> None:
    add_trials(tmp_path, "toy", [0.01, -0.02, 0.03])
    add_trials(tmp_path, "other", [0.5], data="e" * 64)
    watched = watch(tmp_path)

    found = {each.data: each for each in watched.trials.by_data()}

    assert found["d" * 64].ratios == [0.01, -0.02, 0.03]
    assert 0.01 < found["d" * 64].expected_best_of(bars=None) < 0.03
    assert np.isnan(found["e" * 64].expected_best_of(bars=None))
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace("0.03", "0.99"))
    with pytest.raises(StorageError):
        watched.trials.by_data()


def test_trials_of_the_page_are_those_that_a_verdict_is_deflated_by(tmp_path: Path) -> None:
    add_trials(tmp_path, "toy", [0.01, -0.02])
    add_trials(tmp_path, "toy", [0.4, 0.03], kind="evaluation")  # its own look, then another

    (found,) = watch(tmp_path).trials.by_data()

    sharpes = counted_sharpes(Ledger(tmp_path).trials("d" * 64))
    assert found.ratios == sharpes == [0.01, -0.02, 0.03]
    assert [trial.sequence for trial in found.counted] == [0, 2, 6]
    known = found.expected_best_of(bars=101)
    variance = trial_variance(sharpes, bars=101)
    assert known == deflated_target(trial_variance=variance, n_trials=3)
    assert known > found.expected_best_of(bars=None)  # so near each other by luck alone


def test_page_of_the_ledger_counts_and_numbers_trials_as_the_table_does(tmp_path: Path) -> None:
    add_trials(tmp_path, "toy", [0.01, -0.02])
    add_trials(tmp_path, "toy", [0.4, 0.03], kind="evaluation")
    (found,) = watch(tmp_path).trials.by_data()

    picture = draw_trials(found, palette_of("light"), math.nan)
    words = words_of(run_page(tmp_path, "Ledger"))

    axis = picture.figure.layout.xaxis
    assert list(axis.ticktext) == ["0", "2", "6"]
    assert list(picture.figure.data[0].x) == list(axis.tickvals)
    assert picture.alt.startswith("3 trials, 3 with a result")
    assert re.search(r">3</dd><dd class=\"tb-meaning\">(<bdi>)?that count on these bars", words)
    assert "Sharpe ratio of alpha per bar" in words
    assert "its training&#x27;s own look" in words


def test_agents_of_a_session_are_read_bar_by_bar(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=12)
    watched = watch(tmp_path)
    agents = watched.agents("first")
    assert agents is not None

    rows = agents.accounts()
    bars = agents.agent("SPY", 0, watched.fills("first", "SPY"))

    assert len(rows) == 12
    assert rows[-1].mark[0] == pytest.approx(100 + np.sin(11 / 3))
    assert rows[-1].equity[0] == pytest.approx(100_110 / 2)
    assert rows[-1].profit[0] == pytest.approx(110 / 2)
    assert not rows[-1].is_portfolio
    assert len(bars.at) == 12
    assert bars.raw[0] == 0.5
    assert np.isnan(bars.raw[1])  # decided for the other symbol
    assert bars.smoothed[2] == 0.25


def test_fills_of_an_agent_are_its_own(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=12)
    watched = watch(tmp_path)
    watched.sessions()

    assert {each.symbol for each in watched.fills("first", "QQQ")} == {"QQQ"}
    assert watched.fills("none", "QQQ") == ()


def test_hours_of_decisions_are_those_of_the_zone(tmp_path: Path) -> None:
    folder = make_session(tmp_path)
    with writing(folder) as journal:
        journal.record(*begin(), *trade(0), *trade(1), session="first")
    agents = watch(tmp_path).agents("first")
    assert agents is not None

    utc = agents.actions_by_hour(UTC_ZONE)
    local = agents.actions_by_hour(choose_zone("market", market="America/New_York", local=None))

    assert np.flatnonzero(np.isfinite(utc[:, 0])).tolist() == [15, 16]
    assert np.flatnonzero(np.isfinite(local[:, 0])).tolist() == [10, 11]
    assert utc[15, 2] == 1.0


def test_cells_tell_profit_entropy_and_collapse() -> None:
    said = [RecorderWords(1, "COLLAPSE", "critical", "B", "", "")]

    gains = profit_cells(["A", "B", "C"], [0.1, -0.2, float("nan")], "since then")
    entropies = entropy_cells(["A", "B"], [0.05, 0.9], "validation")
    verdicts = collapse_cells(["A", "B"], {}, said)

    assert [each.shade for each in gains] == [0.5, -1.0, 0.0]
    assert [each.text for each in gains] == ["+10.0\u202f%", "−20.0\u202f%", "–"]
    assert [each.shade for each in entropies] == [-1.0, 0.9]
    assert [each.text for each in verdicts] == ["not judged", "collapse"]


def test_agent_is_collapsed_beyond_95_percent_in_one_bin_where_it_trades() -> None:
    (told, *_) = example_part("test", "2022-03-01", agents=1).agents
    shares = {"A": 0.951, "B": 0.949, "C": 1.0}
    played = {
        name: replace(told, trades=name != "C", largest_bin_frac=n) for name, n in shares.items()
    }

    cells = collapse_cells(["A", "B", "C"], played, [])

    assert [each.text for each in cells] == ["collapsed", "healthy", "stays out"]
    assert "of actions in one bin" in cells[0].title


def test_cells_show_hostile_names_numbers_and_titles_as_text() -> None:
    bad = '"><script>alert(1)</script>'

    wall = write_cells([AgentCell(bad, bad, 1.0, bad)], palette_of("light"), bad)

    assert "<script>" not in wall
    assert wall.count('"') == 2 * len(re.findall(r'[a-z-]+="', wall))  # no value ends early


def test_best_score_and_progress_are_those_of_the_journal(tmp_path: Path) -> None:
    make_learning_run(tmp_path, updates=20)  # the first evaluation has no score
    run = RunsWatch(tmp_path, lambda: NOW).run("toy")
    assert run is not None
    known = [row.mean_score for row in run.scores if math.isfinite(row.mean_score)]
    assert len(known) < len(run.scores)

    told = {each.name: each.number for each in progress_figures(run, UTC_ZONE)}
    assert told["Best score"] == plain(max(known), 3)
    assert run.steps == run.updates[-1].steps > run.summary.steps
