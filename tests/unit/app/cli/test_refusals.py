"""Mistakes in the commands of evaluation: rule, value and remedy.

That they are refused before torch is imported is held by `conformance/test_early_refusals.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.small_runs import make_run
from tradingbot.app.cli.application import run
from unit.app.cli.conftest import Answer


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace without datasets."""
    return tmp_path / "workspace"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "2025-02-01", "--to", "2025-01-01"), "was 2025-02-01 after 2025-01-01. Exch"),
        (("--trades", "{folder}"), "was a folder ({folder}). Write e.g. --trades {folder}/trades"),
        (("--trades", "{folder}/no/t.csv"), "Make the folder {folder}/no, or name another."),
        (("--part", "all"), "was 'all'. For other days, give --from and --to."),
        (("--from", "soon"), "must be a day, was 'soon'. Write a day as e.g. 2025-01-31"),
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
