"""Records of learning have the names, units, goals and intervals that are asked for."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot_benchmarks.learning.curve.markets import QUESTIONS, Periods
from tradingbot_benchmarks.learning.curve.measure import LearningResult, LearningRun
from tradingbot_benchmarks.learning.known_answers import (
    GOALS,
    measure_learning,
    record_of,
    require_pooling,
)

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu_learning.py"
RUN = LearningRun(
    n_agents=2, periods=Periods(train_bars=660, test_bars=60), updates=1, shrinkage=None
)


def results(market: str, learner: str) -> list[LearningResult]:
    return [
        LearningResult(market, learner, seed, 1.8 + 0.1 * seed, 2.0, 1.0, "", 3.0)
        for seed in range(5)
    ]


def test_record_has_share_goal_ratio_and_interval() -> None:
    found = record_of(results("planted_0.10", "direct"), RUN)
    assert found.name == "planted_0.10/direct"
    assert found.value == pytest.approx(1.0)
    assert (found.unit, found.reference, found.seeds) == ("frac", 0.95, 5)
    assert found.ratio == pytest.approx(1.0 / 0.95)
    assert found.low < found.value < found.high
    assert "synthetic" in found.note


def test_record_of_a_market_without_edge_is_in_basis_points() -> None:
    found = record_of(results("noise", "ppo"), RUN)
    assert (found.unit, found.reference, found.ratio) == ("bp/bar", -0.1, None)
    assert record_of(results("opposed_0.10", "sac"), RUN).reference is None


def test_note_says_what_was_earned_as_learned_and_by_empirical_bayes() -> None:
    made = [replace(r, learned_bp=1.9, bayes_bp=1.7) for r in results("hetero", "direct")]
    note = record_of(made, RUN).note
    assert "(1.90 as learned), 1.70 by empirical Bayes" in note
    assert "as learned" not in record_of(results("hetero", "direct"), RUN).note


def test_every_market_has_goals() -> None:
    assert set(GOALS) == set(QUESTIONS)


def test_measuring_gives_one_record_for_each_market_and_learner() -> None:
    told: list[str] = []
    found = measure_learning(
        ["noise"], ["direct"], 1, RUN, lambda done, total, label: told.append(label)
    )
    assert [record.name for record in found] == ["noise/direct"]
    assert found[0].seeds == 1
    assert told == ["noise/direct, seed 0, updates"]


def test_unknown_names_are_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="market must be a known one"):
        measure_learning(["noise", "nois"], ["direct"], 1, RUN, lambda *_: None)
    with pytest.raises(ConfigError, match="learner must be a known one"):
        measure_learning(["noise"], ["a2c"], 1, RUN, lambda *_: None)
    with pytest.raises(ConfigError, match=r"pooling must be a known one.*pooled"):
        require_pooling("poled")


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_learning", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_script_keeps_its_runs_and_reads_them_again(tmp_path: Path) -> None:
    module, path = script(), tmp_path / "learning.json"
    assert module.read_results(path) == []
    made = results("planted_0.10", "direct")
    module.write_results(path, made, RUN)
    assert module.read_results(path) == made
    records = json.loads(path.read_text(encoding="utf-8"))["records"]
    assert [record["name"] for record in records] == ["planted_0.10/direct"]


def test_script_needs_no_package_of_the_command_line() -> None:
    absent = {"typer", "rich", "pyarrow", "exchange_calendars"}
    code = (
        f"import sys, runpy; runpy.run_path({str(SCRIPT)!r}, run_name='script'); "
        f"sys.exit(','.join({absent!r} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
