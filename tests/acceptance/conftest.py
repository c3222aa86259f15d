"""A workspace with one good dataset, and the command line in this process or in another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tradingbot.app.cli.application import run
from tradingbot.domain.seeding import stream

ENTRY_POINT = str(Path(sys.executable).parent / "tradingbot")
HEADER = "timestamp,symbol,open,high,low,close,volume"

Cell = tuple[int, str, str]
"""Row, column and text to put there."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


def bar_rows(symbols: Sequence[str] = ("AAPL", "MSFT"), sessions: int = 4) -> list[list[str]]:
    """Hourly bars of a quiet market in June 2024, stamped at their start, UTC."""
    rows = []
    for symbol in symbols:
        for number in range(7 * sessions):
            day, bar = divmod(number, 7)
            start = datetime(2024, 6, 24 + day, 13, 30) + timedelta(hours=bar)  # noqa: DTZ001
            price = 100.0 + 0.1 * (number % 5)
            prices = (price, price + 0.3, price - 0.2, price + 0.1)
            rows.append([f"{start:%Y-%m-%dT%H:%M:%SZ}", symbol, *(f"{p:.2f}" for p in prices)])
            rows[-1].append(str(1000 + number))
    return rows


def csv_text(
    rows: Sequence[Sequence[str]], *, header: str = HEADER, cell: Cell | None = None
) -> str:
    """Lines of a CSV file, with one cell changed if asked for."""
    lines = [list(row) for row in rows]
    if cell is not None:
        row, column, text = cell
        lines[row][HEADER.split(",").index(column)] = text
    return "\n".join([header, *(",".join(line) for line in lines)]) + "\n"


def write_random_bars(path: Path, *, symbols: int, bars: int) -> None:
    """Write synthetic hourly bars around the clock, stamped at their start, as Parquet."""
    draw = stream(3, "acceptance", path.name)
    start = datetime(2020, 1, 1)  # noqa: DTZ001
    times = pl.datetime_range(
        start, start + timedelta(hours=bars - 1), "1h", time_zone="UTC", eager=True
    )
    parts = []
    for number in range(symbols):
        close = 100.0 * np.exp(np.cumsum(draw.normal(0.0, 0.004, bars)))
        open_ = np.r_[100.0, close[:-1]]
        high, low = np.maximum(open_, close) * 1.001, np.minimum(open_, close) * 0.999
        columns = {"open": open_, "high": high, "low": low, "close": close}
        part = pl.DataFrame({**columns, "volume": draw.uniform(1e3, 1e6, bars)})
        parts.append(
            part.with_columns(timestamp=times, symbol=pl.lit(f"S{number:02d}/USDT")).select(
                HEADER.split(",")
            )
        )
    pl.concat(parts).write_parquet(path)


@pytest.fixture
def good_csv(tmp_path: Path) -> Path:
    """A file without any defect."""
    file = tmp_path / "good.csv"
    file.write_text(csv_text(bar_rows()))
    return file


@pytest.fixture
def workspace(tmp_path: Path, good_csv: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A workspace that holds the dataset `good`, as imported."""
    folder = tmp_path / "workspace"
    code = run(["--workspace", str(folder), "data", "import", str(good_csv), "--name", "good"])
    assert code == 0, capsys.readouterr().err
    capsys.readouterr()
    return folder


@pytest.fixture
def command(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[Sequence[str]], Outcome]:
    """Run the command line here, on that workspace."""

    def call(arguments: Sequence[str]) -> Outcome:
        code = run(["--workspace", str(workspace), *arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def run_process(
    arguments: Sequence[str],
    *,
    workspace: Path,
    before: str = "",
    environment: dict[str, str] | None = None,
) -> Outcome:
    """Run the installed command in a shell of its own; `before` sets limits in that shell."""
    done = subprocess.run(
        ["bash", "-c", f'{before} exec "$0" "$@"', ENTRY_POINT, *arguments],
        env={**os.environ, "TRADINGBOT_WORKSPACE": str(workspace), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def listing(workspace: Path) -> dict[str, bytes]:
    """Content of every file below a workspace, so that nothing can be lost or half-written."""
    return {
        path.relative_to(workspace).as_posix(): path.read_bytes() if path.is_file() else b"folder"
        for path in sorted(workspace.rglob("*"))
    }


def assert_refused(outcome: Outcome, fragments: tuple[str, ...]) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that names what is wrong."""
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err.endswith("\n")
    assert "Traceback" not in outcome.err
    for fragment in fragments:
        assert fragment in outcome.err
