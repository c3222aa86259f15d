"""Mistakes in the commands of evaluation: refused before torch, with rule, value and remedy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.small_runs import make_run
from tradingbot.app.cli.application import run
from tradingbot.plugins.reference import ORACLE_NAMES, RULE_NAMES
from unit.app.cli.conftest import Answer

IN_TURN = """
import contextlib, io, json, sys
from tradingbot.app.cli.application import run

for command in sys.argv[2:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["--workspace", sys.argv[1], *command.split()])
    heavy = [name for name in ("torch", "lightgbm", "matplotlib") if name in sys.modules]
    print(json.dumps((code, out.getvalue(), err.getvalue(), heavy)))
"""
"""Commands one after the other: what one imported, those after it have imported too."""
COMMANDS = (
    ("evaluate nope", "run must be the id of one run"),
    ("gates nope", "run must be the id of one run"),
    ("runs show nope", "run must be the id of one run"),
    ("runs verify nope", "run must be the id of one run"),
    ("runs migrate nope --to continuous", "run must be the id of one run"),
    ("train --resume nope", "run must be the id of one run"),
    ("backtest nope", "policy must be a run or a known rule"),
    ("backtest macd", "a backtest must have a run, or a rule and a market"),
    ("backtest macd --dataset nope", "dataset must be a stored name"),
    ("backtest macd --market nope", "market must be a known one"),
    ("backtest macd --market noise --from 2025-02-01 --to 2025-01-01", "--from must not be after"),
    ("backtest macd --market noise --part all", "--part must be train, validation or test"),
    ("backtest macd --market noise --trades nowhere/trades.csv", "--trades must name a file in"),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace without datasets."""
    return tmp_path / "workspace"


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Command → exit code, stdout, stderr and the heavy packages that are imported by then."""
    folder = tmp_path_factory.mktemp("refusals")
    commands = [command for command, _ in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, str(folder), *commands],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    return dict(zip(commands, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(("command", "rule"), COMMANDS, ids=[each for each, _ in COMMANDS])
def test_mistake_is_refused_before_torch_is_imported(
    command: str, rule: str, refusals: dict[str, Any]
) -> None:
    code, out, err, heavy = refusals[command]

    assert code == 2, err
    assert heavy == []
    assert err.startswith(f"error: {rule}")
    assert err.count("\n") == 1
    assert out == ""


def test_names_that_are_told_without_torch_are_those_of_the_catalogues() -> None:
    from tradingbot.agents import RULES
    from tradingbot.evaluation.backtest.baselines import ORACLES

    assert sorted(RULES) == list(RULE_NAMES)
    assert sorted(ORACLES) == list(ORACLE_NAMES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "2025-02-01", "--to", "2025-01-01"), "was 2025-02-01 after 2025-01-01. Exch"),
        (("--trades", "{folder}"), "was a folder ({folder}). Write e.g. --trades {folder}/trades"),
        (("--trades", "{folder}/no/t.csv"), "Make the folder {folder}/no, or name another."),
        (("--part", "all"), "was 'all'. For other days, give --from and --to."),
        (("--from", "soon"), "'%Y-%m-%d'. Write a day as e.g. 2025-01-31"),
        (("--dataset", "x"), "either --dataset or --market must be given, was both. Leave one"),
    ],
)
def test_backtest_refuses_with_a_remedy(
    call: Callable[..., Answer], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    given = [text.format(folder=tmp_path) for text in arguments]

    answer = call("backtest", "macd", "--market", "noise", *given)

    assert answer.code == 2
    assert message.format(folder=tmp_path) in answer.err


def test_day_that_begins_where_it_ends_is_no_mistake(call: Callable[..., Answer]) -> None:
    days = ("--from", "2025-03-03", "--to", "2025-03-03")

    answer = call("backtest", "macd", "--market", "noise", *days, "--costs", "unknown")

    assert "cost profile must be known" in answer.err


def test_hint_names_the_workspace_that_was_given(
    call: Callable[..., Answer], workspace: Path
) -> None:
    answer = call("evaluate", "nope")

    assert f"run: tradingbot --workspace {workspace} train." in answer.err


def test_hint_names_no_workspace_where_none_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADINGBOT_WORKSPACE", str(tmp_path / "by variable"))

    assert run(["evaluate", "nope"]) == 2
    assert "There is none yet; run: tradingbot train." in capsys.readouterr().err


def test_hint_quotes_a_workspace_with_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--workspace", str(tmp_path / "my files"), "runs", "list"]) == 0
    assert f"tradingbot --workspace '{tmp_path}/my files' train" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--preset", "nope"), "evaluation configuration must be a known preset"),
        (("--gates", "nope"), "gates configuration must be a known preset"),
        (("--analyses", "sedes"), "was 'sedes' (--analyses). Did you mean 'seeds'?"),
        (("--preset", "nope.yaml"), "was missing (nope.yaml). Give an existing file, or the name"),
    ],
)
def test_evaluate_says_of_what_a_name_is_unknown(
    workspace: Path, call: Callable[..., Answer], options: tuple[str, ...], message: str
) -> None:
    make_run(workspace / "runs", "one")

    answer = call("evaluate", "one", *options)

    assert answer.code == 2
    assert message in answer.err


@pytest.mark.parametrize("options", [("--cost-bps", "nan"), ("--cost-bps=NaN",)])
@pytest.mark.parametrize("command", [("backtest", "macd"), ("market", "oracle")])
def test_number_that_is_none_is_told_so(
    call: Callable[..., Answer], command: tuple[str, ...], options: tuple[str, ...]
) -> None:
    answer = call(*command, *options)

    assert answer.code == 2
    assert answer.err.rstrip().endswith(". It must be a number, was nan")


def test_number_that_is_too_large_is_not_said_to_be_none(call: Callable[..., Answer]) -> None:
    answer = call("backtest", "macd", "--cost-bps", "501")

    assert answer.code == 2
    assert "500" in answer.err
    assert "nan" not in answer.err
