"""`tradingbot backtest`: runs beside rules, rules on a market, trades as CSV, and refusals."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.pipeline import backtests
from tradingbot.evaluation.pipeline import test_access as looks
from tradingbot.runs import find_run
from tradingbot.runs.counted_trials import counted_sharpes
from tradingbot.runs.ledger import LEDGER_FILE, Ledger, Trial
from tradingbot.training.trial_ledger import data_key

PLANTED = ("--market", "planted", "--from", "2025-07-01", "--seed", "5")


@pytest.fixture(scope="module")
def trained(evaluated_workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: backtests of its run are counted in its ledger."""
    copy = tmp_path_factory.mktemp("backtests") / "workspace"
    return Path(shutil.copytree(evaluated_workspace, copy))


def trials_of(workspace: Path) -> tuple[Trial, ...]:
    run = find_run(workspace / "runs", "tiny")
    return Ledger(workspace).trials(data_key(run.record.data))


def test_run_and_rules_trade_the_same_bars_and_trades_are_written(
    call, trained: Path, tmp_path: Path
) -> None:
    file = tmp_path / "trades.csv"

    answer = call(
        *("--workspace", str(trained), "backtest", "tiny", "buy_and_hold", "oracle"),
        *("--trades", str(file), "--json"),
    )

    assert answer.code == 0
    run, hold, oracle = answer.document
    assert [each["policy"] for each in (run, hold, oracle)] == ["tiny", "buy_and_hold", "oracle"]
    assert {(each["first_day"], each["bars"]) for each in (run, hold, oracle)} == {
        (run["first_day"], run["bars"])
    }
    assert run["synthetic"] is True
    low, high = run["sharpe_annual"][1:]
    assert low < run["sharpe_annual"][0] < high
    assert hold["exposure_frac"] > 0.9
    assert [each["kind"] for each in (run, hold, oracle)] == ["agents", "baseline", "oracle"]
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    closed = [row for row in rows if row["policy"] == "tiny" and row["is_open"] == "0"]
    assert len(closed) == run["n_trades"] > 5
    assert {row["ended_by"] for row in closed} == {"policy"}
    assert {row["side"] for row in rows} == {"1"}
    assert {row[name][-1] for row in rows for name in ("entered_at", "exited_at")} == {"Z"}


def test_costs_and_delay_move_the_figures(call, trained: Path) -> None:
    def asked(*options: str) -> dict[str, object]:
        answer = call("--workspace", str(trained), "backtest", "tiny", "--json", *options)
        assert answer.code == 0
        return answer.document[0]

    usual, dear, late = asked(), asked("--cost-bps", "40"), asked("--delay", "2")

    assert dear["total_return_frac"] < usual["total_return_frac"]
    assert dear["costs"]["commission_frac"] == pytest.approx(40e-4)
    assert dear["costs"]["slippage_frac"] == 0.0
    assert late["delay_bars"] == 2
    assert late["total_return_frac"] != usual["total_return_frac"]


def test_rules_alone_trade_a_market_and_are_drawn(call, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"

    answer = call("backtest", "sma_cross", "flat", *PLANTED, "--out", str(page))

    assert answer.code == 0
    assert f"drawn: {page}" in answer.err.replace("\n", "")
    html = page.read_text(encoding="utf-8")
    for shown in ("sma cross, flat, 2025-07", "synthetic data", "Drawdown", "trades by time"):
        assert shown in html
    assert call("backtest", "macd", *PLANTED, "--out", str(picture)).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    said = " ".join(answer.out.split())
    assert "synthetic market 'planted', seed 5" in said
    assert "1.2 bp of each fill; delay 0" in said
    assert "sma_cross" in said


def test_rules_alone_trade_the_part_that_is_asked_for(call) -> None:
    def days(*options: str) -> tuple[str, str]:
        market = ("--market", "planted", "--seed", "5", "--json", *options)
        (document,) = call("backtest", "sma_cross", *market).document
        return document["first_day"], document["last_day"]

    (first, end), validation, (test, last) = (
        days("--part", part) for part in ("train", "validation", "test")
    )

    assert first < end < validation[0] < validation[1] < test < last
    assert days() == (first, last)  # all bars


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("macd", *PLANTED, "--part", "test"), "--part must stand without --from and --to"),
        (("nope",), "a run or a known rule, was 'nope'"),
        (("macd",), "a rule and a market to trade on, was rules alone"),
        (("sma_cros", *PLANTED), "Did you mean 'sma_cross'"),
        (("macd", "--market", "planted", "--dataset", "x"), "either --dataset or --market"),
        (("macd", "--market", "planted", "--from", "2031-01-01"), "must hold a bar"),
        (("macd", *PLANTED[:2], "--part", "all"), "--part must be train, validation or test"),
        (("macd", *PLANTED, "--trades", "/no/such/folder/t.csv"), "folder that exists"),
        (("macd", *PLANTED, "--out", "x.pdf"), "--out must name an .html, .png or .svg file"),
        (("macd", "--set", "kappa=1"), "--set must come with --market"),
    ],
)
def test_what_cannot_be_backtested_is_refused(call, arguments: tuple[str, ...], said: str) -> None:
    answer = call("backtest", *arguments)

    assert answer.code == 2
    assert said in " ".join(answer.err.split())


def test_runs_on_different_bars_are_not_put_side_by_side(
    call, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = iter(("market A, 2025-01-02 … 2025-03-01", "market B, 2025-02-03 … 2025-04-01"))
    plain = backtests.backtest_all

    def elsewhere(*args, **options):
        return tuple(replace(each, label=next(labels)) for each in plain(*args, **options))

    monkeypatch.setattr(backtests, "backtest_all", elsewhere)

    answer = call("backtest", "sma_cross", "macd", *PLANTED)

    assert answer.code == 2
    said = " ".join(answer.err.split())
    assert "must trade the same bars, was market A" in said
    assert "Backtest them one by one" in said


def test_run_on_another_market_is_refused(call, trained: Path) -> None:
    answer = call("--workspace", str(trained), "backtest", "tiny", *PLANTED)

    assert answer.code == 2
    assert "on its own data" in answer.err
    assert "Leave --dataset and --market out" in answer.err


@pytest.mark.parametrize(
    ("part", "words"),
    [("train", "in sample"), ("validation", "chosen on these bars"), ("test", "")],
)
def test_bars_that_a_run_has_seen_are_named(call, trained: Path, part: str, words: str) -> None:
    answer = call("--workspace", str(trained), "backtest", "tiny", "--part", part, "--json")
    assert words in answer.document[0]["policy"]
    assert ("(" in answer.document[0]["policy"]) == bool(words)


def test_looks_at_test_bars_are_counted_once_each(
    call, evaluated_workspace: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(evaluated_workspace, tmp_path / "own"))
    before = len(trials_of(place))  # the training, and what other tests have tried

    def looks_after(*options: str) -> int:
        answer = call("--workspace", str(place), "backtest", "tiny", "--json", *options)
        assert answer.code == 0
        trials = trials_of(place)[before:]
        assert {(trial.kind, trial.run) for trial in trials} <= {("evaluation", "tiny")}
        return len(trials)

    assert looks_after("--part", "train") == looks_after("--part", "validation") == 0
    assert looks_after() == 1
    assert looks_after("buy_and_hold") == looks_after("random", "--seed", "3") == 1  # the same look
    assert looks_after("--cost-bps", "40") == looks_after("--cost-bps", "40") == 2
    assert looks_after("--delay", "1") == 3
    assert looks_after("--from", "2025-06-10") == 4  # its end is test bars
    # As with evaluations, the first look is the one at the run's own training.
    assert len(counted_sharpes(trials_of(place)[before:])) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "2025-09-24", "--to", "2025-09-24"), "must rest on 8 bars"),
        (("--trades", "/proc/x.csv"), "/proc/x.csv"),
    ],
)
def test_look_that_is_refused_is_not_counted(
    call, trained: Path, options: tuple[str, ...], said: str
) -> None:
    before = (trained / LEDGER_FILE).read_bytes()

    answer = call("--workspace", str(trained), "backtest", "tiny", "--cost-bps", "3", *options)

    assert answer.code == 2
    assert said in " ".join(answer.err.split())
    assert answer.out == ""
    assert (trained / LEDGER_FILE).read_bytes() == before


def test_trades_are_not_written_where_the_look_cannot_be_counted(
    call, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the disk must have room", was="none")

    monkeypatch.setattr(looks, "count_evaluation", refuse)
    arguments = ("--workspace", str(trained), "backtest", "tiny", "--trades")

    answer = call(*arguments, str(tmp_path / "t.csv"))

    assert (answer.code, answer.out) == (2, "")
    assert list(tmp_path.glob("*.csv")) == []


@pytest.mark.parametrize("part", ["test", "train"])
@pytest.mark.parametrize("damage", ["deleted", "cut", "copied elsewhere"])
def test_run_is_not_backtested_beside_a_ledger_that_lacks_what_it_saw(
    call, evaluated_workspace: Path, tmp_path: Path, damage: str, part: str
) -> None:
    place = Path(shutil.copytree(evaluated_workspace, tmp_path / "own"))
    ledger = place / LEDGER_FILE
    if damage == "deleted":
        ledger.unlink()
    elif damage == "cut":
        selected = ledger.read_bytes()
        assert call("--workspace", str(place), "backtest", "tiny", "--cost-bps", "9").code == 0
        assert ledger.read_bytes() != selected
        ledger.write_bytes(selected)
    else:
        shutil.copytree(place / "runs", tmp_path / "other" / "runs")
        place = tmp_path / "other"

    answer = call("--workspace", str(place), "backtest", "tiny", "--part", part)

    assert answer.code == 2
    assert "ledger of trials" in " ".join(answer.err.split())
    assert answer.out == ""


def test_rules_are_not_counted(call, workspace: Path) -> None:
    assert call("backtest", "sma_cross", "flat", *PLANTED).code == 0
    assert not (workspace / LEDGER_FILE).exists()


def test_run_is_not_backtested_beside_a_ledger_that_is_not_whole(
    call, evaluated_workspace: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(evaluated_workspace, tmp_path / "own"))
    (place / LEDGER_FILE).write_text("{}\n")

    answer = call("--workspace", str(place), "backtest", "tiny")

    assert answer.code == 2
    assert "ledger of trials must be whole" in answer.err
    assert answer.out == ""
