"""Every option of `backtest` and `evaluate` changes what is found, or what is asked for."""

from __future__ import annotations

import json
import os
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tradingbot.app.cli.application import build_application, run
from tradingbot.configuration.pipeline import MarketConfig
from tradingbot.data.ingest import ingest
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.pipeline import session
from tradingbot.executors.workers import _CHOSEN
from tradingbot.features.pipeline import synthetic_source

MARKET = ("--market", "planted", "--from", "2025-09-01")
BACKTEST: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "--dataset": (("--dataset", "noise"), ("--dataset", "planted")),
    "--market": (MARKET, ("--market", "noise", *MARKET[2:])),
    "--part": (MARKET[:2], (*MARKET[:2], "--part", "test")),
    "--from": (MARKET, (*MARKET[:2], "--from", "2025-09-08")),
    "--to": (MARKET, (*MARKET, "--to", "2025-09-20")),
    "--costs": (MARKET, (*MARKET, "--costs", "retail")),
    "--cost-bps": (MARKET, (*MARKET, "--cost-bps", "20")),
    "--delay": (MARKET, (*MARKET, "--delay", "2")),
    "--allow-short": (("macd", *MARKET), ("macd", *MARKET, "--allow-short")),
    "--factor": (MARKET, (*MARKET, "--factor", "none")),
    "--universe": (MARKET, (*MARKET, "--universe", "two.csv")),
    "--seed": (MARKET, (*MARKET, "--seed", "8")),
    "--set": (MARKET, (*MARKET, "--set", "kappa=0.3")),
}
"""Option → what a random rule, and a second one, is told without it and with it."""
FILES = {"--trades": "trades.csv", "--out": "picture.svg"}
"""Option → file that it writes."""
EVALUATE: dict[str, tuple[str, ...]] = {
    "--preset": ("--preset", "quick"),
    "--set": ("--set", "seeds.count=7"),
    "--analyses": ("--analyses", "regimes"),
    "--gates": ("--gates", "gates.yaml"),
    "--jobs": ("--jobs", "3"),
    "--out": ("--out", "elsewhere"),
}
"""Option → what an evaluation is told with it."""
ON_RAY = ("--executor", "ray", "--address", "h:1", "--token-file", "two.tok")
CLUSTER: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "--executor": ((), ON_RAY),
    "--address": (ON_RAY, (*ON_RAY[:3], "h:2", *ON_RAY[4:])),
    "--token-file": (ON_RAY, (*ON_RAY[:5], "one.tok")),
}
"""Option → what an evaluation is told without it and with it."""


def options_of(command: str) -> set[str]:
    """Return the first name of every option but --help."""
    found = get_command(build_application()).commands[command]  # type: ignore[attr-defined]
    options = [each.opts[0] for each in found.params if each.param_type_name == "option"]
    return {name for name in options if name not in ("--help", "-h")}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two datasets and a file of a universe, to be the current folder too."""
    folder = tmp_path_factory.mktemp("options")
    for market in ("noise", "planted"):
        days = {"start": date(2025, 9, 1), "end": date(2025, 9, 12)}
        config = MarketConfig(name=market, universe="prototype10", **days)
        ingest(synthetic_source(config), BarStore(folder), name=market)
    head = "# name: two\n# calendar: XNYS\nsymbol,kind,sector,joined_on,left_on\n"
    (folder / "two.csv").write_text(f"{head}SPY,etf,etf-index,,\nQQQ,etf,etf-index,,\n")
    return folder


@pytest.fixture(autouse=True)
def _in_its_folder(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)


def backtest(capture: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    """Return what rules did; names and words are left out: what is left is measured."""
    assert run(["--workspace", ".", "backtest", "random", *words, "--json"]) == 0
    measured = ("bars", "symbols", "total_return_frac", "n_trades", "earned")
    return [[found[key] for key in measured] for found in json.loads(capture.readouterr().out)]


def test_every_option_of_both_commands_is_here() -> None:
    assert options_of("backtest") == {*BACKTEST, *FILES, "--json"}
    assert options_of("evaluate") == {*EVALUATE, *CLUSTER, "--json"}


@pytest.mark.parametrize("option", BACKTEST)
def test_option_of_a_backtest_changes_its_figures(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    without, given = (backtest(capsys, *words) for words in BACKTEST[option])

    assert without != given


def test_files_of_a_backtest_are_written_and_json_is_no_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = [word for option, name in FILES.items() for word in (option, name)]

    assert run(["--workspace", ".", "backtest", "random", *MARKET, *told]) == 0

    assert all(Path(name).stat().st_size > 1_000 for name in FILES.values())
    with pytest.raises(json.JSONDecodeError):
        json.loads(capsys.readouterr().out)


def asked_for(workspace: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> dict[str, Any]:
    """Return what an evaluation of the tiny run is asked for; it is not made."""
    asked: dict[str, Any] = {}

    def keep(request: Any, _: Path, *, jobs: int, progress: object) -> None:
        told = {name: repr(value) for name, value in vars(request).items() if name != "command"}
        asked.update(told, jobs=jobs, workers=repr(_CHOSEN.get()))
        raise ConfigError("an evaluation must not be made here", was="asked for")

    monkeypatch.setattr(session, "evaluate_run", keep)
    assert run(["--workspace", str(workspace), "evaluate", "tiny", *words]) == 2
    return asked


@pytest.mark.parametrize("option", EVALUATE)
def test_option_of_an_evaluation_changes_what_is_asked_for(
    option: str, evaluated_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = files("tradingbot.configuration") / "presets" / "gates" / "product.yaml"
    Path("gates.yaml").write_text(gates.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    without = asked_for(evaluated_workspace, monkeypatch)
    given = asked_for(evaluated_workspace, monkeypatch, *EVALUATE[option])

    assert without
    assert [name for name in without if without[name] != given[name]] != []


@pytest.mark.parametrize("option", CLUSTER)
def test_option_of_a_cluster_changes_which_workers_are_asked(
    option: str, evaluated_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one.tok", "two.tok"):
        Path(name).write_text("t")

    without, given = (
        asked_for(evaluated_workspace, monkeypatch, *words)["workers"] for words in CLUSTER[option]
    )

    assert without != given
