"""What the disk refuses is told with the option that chose the place."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tradingbot.app.cli.application import run
from tradingbot.data.atomic import chosen_by, storage_errors, write_text
from tradingbot.domain.errors import StorageError


@pytest.mark.parametrize("name", ["x.csv", "x/y.csv"])
def test_refusal_below_the_place_names_its_option(name: str) -> None:
    place = Path("/proc/x")
    with pytest.raises(StorageError) as refused, chosen_by("--out", place):
        write_text(place / name, "text")

    assert str(refused.value).startswith("--out must accept the file, was ")
    assert "/proc/x" in str(refused.value)
    assert str(refused.value).endswith("Choose another --out; nothing was lost.")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES])
def test_no_refusal_of_a_chosen_place_speaks_of_the_workspace(number: int, tmp_path: Path) -> None:
    file = tmp_path / "trades.csv"
    with (
        pytest.raises(StorageError) as refused,
        chosen_by("--trades", file),
        storage_errors(file),
    ):
        raise OSError(number, "refused")

    assert "workspace" not in str(refused.value).replace(str(tmp_path), "")
    assert "--trades" in str(refused.value)


@pytest.mark.parametrize("place", [None, Path("/elsewhere")])
def test_refusal_of_another_place_is_as_it_was(place: Path | None, tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match="Choose another --workspace"),
        chosen_by("--out", place),
        storage_errors(tmp_path),
    ):
        raise OSError(errno.EACCES, "refused")


def test_folder_that_cannot_be_made_is_told_with_out(
    evaluated_workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = ["--workspace", str(evaluated_workspace)]
    assert run([*workspace, "evaluate", "tiny", "--preset", "required", "--out", "/proc/x"]) == 2

    said = capsys.readouterr().err
    assert "(/proc/x). Choose another --out" in said
    assert "workspace" not in said


def test_file_that_cannot_be_written_is_told_with_trades(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    market = ["--market", "planted", "--from", "2025-07-01"]
    given = ["--workspace", str(workspace), "backtest", "sma_cross", *market]
    assert run([*given, "--trades", "/proc/x.csv"]) == 2

    said = capsys.readouterr().err
    assert "(/proc/x.csv). Choose another --trades" in said
    assert "workspace" not in said
