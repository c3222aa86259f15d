"""The benchmark of portfolios: equal to plain loops before it is timed; its records; its script."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tradingbot.app.cli.application import run
from tradingbot.data.splits import IndexRange
from tradingbot.envs.portfolio.sleeve_market import PlantedSleeves, SleeveMarketKind
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot_benchmarks.portfolio import backtest, known_answers
from tradingbot_benchmarks.portfolio.backtest import PortfolioSize, measure_backtest
from tradingbot_benchmarks.portfolio.known_answers import MasterMeasurement, measure_masters
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.tuning.samplers import FoundSetting, sampler_records

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu_portfolio.py"


def quiet(done: int, total: int, label: str) -> None:
    """Say nothing."""


def test_portfolio_is_that_of_plain_loops_or_it_is_not_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = PortfolioSize(n_symbols=3, n_bars=740)
    record = measure_backtest(size, quiet)
    assert (record.name, record.unit) == ("portfolio_backtest_143x2y", "s")
    assert record.value > 0.0
    assert "synthetic" in record.note

    usual = backtest.plain_portfolio
    monkeypatch.setattr(
        backtest, "plain_portfolio", lambda *given: usual(*given) + 1e-6 * np.ones(1)
    )
    with pytest.raises(RuntimeError, match="portfolios must be equal"):
        measure_backtest(size, quiet)


def test_masters_give_the_least_share_and_the_cash_of_worthless_sleeves() -> None:
    size = MasterMeasurement(
        n_sleeves=3, n_bars=900, updates=2, n_envs=4, measured_bars=40, seeds=(1, 2)
    )
    records = {record.name: record for record in measure_masters(size, quiet)}

    assert list(records) == [
        *("master_steady", "master_changing", "master_dying", "master_worthless_cash"),
        "master_oracle_share",
    ]
    least = records["master_oracle_share"]
    assert (least.unit, least.reference) == ("fraction", known_answers.GOAL_FRAC)
    assert least.value <= min(records[f"master_{kind}"].value for kind in known_answers.WITH_GAIN)


@pytest.mark.parametrize("kind", ["steady", "dying"])
def test_master_is_measured_on_bars_after_those_of_training_and_a_death_is_among_them(
    kind: SleeveMarketKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[tuple[int, int]] = []
    measured: list[tuple[PlantedSleeves, IndexRange]] = []
    during = PortfolioTask.during

    def seen(task: PortfolioTask, first: int, last: int) -> PortfolioTask:
        learned.append((first, last))
        return during(task, first, last)

    def measure(planted: PlantedSleeves, _task: object, bars: IndexRange, _by: object) -> None:
        measured.append((planted, bars))

    monkeypatch.setattr(PortfolioTask, "during", seen)
    monkeypatch.setattr(known_answers, "measure_allocations", measure)
    size = MasterMeasurement(n_sleeves=3, n_bars=900, updates=1, n_envs=4, measured_bars=40)
    known_answers.measure_master(size, kind, 1, quiet)

    [(_, last)], [(planted, bars)] = learned, measured
    assert last < bars.start < bars.stop <= 900
    assert bool(planted.dies_at) == (kind == "dying")
    for bar, _ in planted.dies_at[-1:]:
        assert bars.start < bar < bars.stop - 1


def test_a_master_of_ppo_is_measured_as_one_of_direct_gradients() -> None:
    size = MasterMeasurement(
        *(3, 900),
        by="ppo",
        updates=2,
        n_envs=8,
        measured_bars=40,
        seeds=(1,),
        kinds=("changing",),
    )
    names = [record.name for record in measure_masters(size, quiet)]

    assert names == ["master_changing", "master_oracle_share"]


def test_only_the_named_stages_are_measured_and_each_record_is_kept_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, kept = tmp_path / "records.json", []

    def measure(size: PortfolioSize, _: object) -> BenchRecord:
        return BenchRecord("portfolio_backtest_143x2y", float(size.n_symbols), "s")

    def measure_more(*_: object, **__: object) -> Iterator[BenchRecord]:
        kept.extend(json.loads(out.read_text(encoding="utf-8")))  # before the next is measured
        yield BenchRecord("trials_together", 1.0, "s")

    monkeypatch.setattr(backtest, "measure_backtest", measure)
    monkeypatch.setattr("tradingbot_benchmarks.tuning.bench.measure_tuning", measure_more)
    command = ["bench", "portfolio", "--only", "backtest,tuning", "--json", "--out", str(out)]

    assert run(command) == 0
    assert [each["name"] for each in kept] == ["portfolio_backtest_143x2y"]
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text(encoding="utf-8"))
    assert run(["bench", "portfolio", "--only", "nothing"]) == 2
    assert run(["bench", "portfolio", "--learner", "sac"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        "--only backtest --learner ppo",
        "--only tuning --seeds 3",
        "--only backtest --sleeves 9",
        "--quick --seeds 2",
    ],
)
def test_options_that_would_do_nothing_are_refused(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "portfolio", *words.split()]) == 2
    assert f"{words.split()[-2]} must stand with" in capsys.readouterr().err


def test_no_ratio_is_told_where_random_search_found_no_gain() -> None:
    lost = {name: [FoundSetting(-2.0, 1.0)] for name in ("tpe", "random")}
    score, test = sampler_records(lost)  # type: ignore[arg-type]

    assert np.isnan(score.value)
    assert "no gain" in score.note
    assert test.value == 1.0


def test_script_compares_with_the_cpu_and_times_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = "--device cpu --modes eager --sleeves 3 --bars 420 --steps 32 --envs 4 --chunk 4"
    out = tmp_path / "made.json"
    monkeypatch.setattr(sys, "argv", ["gpu_portfolio.py", *small.split(), "--out", str(out)])
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    found = json.loads(out.read_text(encoding="utf-8"))

    assert found["equality"] == {
        "value_difference": 0.0,
        "values_equal": True,
        "weight_difference": 0.0,
        "weights_equal": True,
    }
    assert found["modes"]["eager"]["steps"] == 32
