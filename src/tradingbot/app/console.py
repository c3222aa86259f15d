"""Where output goes: results to stdout (tables for people, JSON for machines), the rest to stderr.

With `--json` stdout carries exactly one JSON document. Colour follows the terminal and `NO_COLOR`.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tradingbot.data.json_files import as_json

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[int, int, str], None]
"""Called as (finished, total, label); the shape of `tradingbot.data.sources.source.Progress`."""

_WIDTH_WITHOUT_TERMINAL = 120
_SECONDS_BETWEEN_LINES = 15.0


def print_error(message: str) -> None:
    """Say on stderr, in one line, what went wrong."""
    _write_line(f"error: {message}")


def print_note(message: str) -> None:
    """Say something for people on stderr; machines reading stdout do not see it."""
    _write_line(message)


def print_json(value: object) -> None:
    """Write `value` to stdout as one JSON document; NaN and infinity become null."""
    sys.stdout.write(json.dumps(as_json(value), indent=2, ensure_ascii=False) + "\n")


def show_json(wanted: bool, value: object) -> bool:
    """Print a value as JSON if it is wanted instead of tables; say whether it was."""
    if wanted:
        print_json(value)
    return wanted


def print_text(text: str) -> None:
    """Write plain text to stdout, as it is."""
    sys.stdout.write(text + "\n")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    unbroken: Sequence[str] = (),
) -> None:
    """Write a table for people to stdout; numbers are set to the right.

    Args:
        title: Stands above it.
        columns: Their names.
        rows: One value per column.
        caption: Stands below it.
        unbroken: Columns whose values stay on one line; the others give way.
    """
    from rich.table import Table
    from rich.text import Text

    body = [[_cell(value) for value in row] for row in rows]
    table = Table(
        title=Text(title), title_justify="left", caption=Text(caption) if caption else None
    )
    for index, name in enumerate(columns):
        numeric = bool(body) and all(row[index][1] for row in body)
        table.add_column(
            Text(name),
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=name in unbroken,
        )
    for row in body:
        table.add_row(*(Text(text) for text, _ in row))
    _console(sys.stdout).print(table)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """Show a progress bar on stderr while the block runs; off a terminal a line now and then.

    Yields:
        A callable (finished, total, label) for `BarSource.fetch` and its like; total 0 is unknown.
    """
    if not sys.stderr.isatty():
        yield _occasional_lines(label)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_console(sys.stderr), transient=True) as bars:
        task = bars.add_task(label, total=None)

        def report(finished: int, total: int, step: str) -> None:
            bars.update(
                task,
                completed=finished,
                total=total or None,
                description=f"{label}: {step}" if step else label,
            )

        yield report


def _occasional_lines(label: str) -> Progress:
    """Report to logs and pipes: nothing for quick work, then a line every so often."""
    last = time.monotonic()

    def report(finished: int, total: int, step: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print_note(f"{label}: {finished} of {total or '?'} {step}".rstrip())

    return report


def _cell(value: object) -> tuple[str, bool]:
    if value is None:
        return "", True
    if isinstance(value, bool):
        return ("yes" if value else "no"), False
    if isinstance(value, int):
        return f"{value:,}", True
    if isinstance(value, float):
        return _number(value), True
    return str(value), False


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _console(file: Any) -> Console:
    from rich.console import Console

    # Off a terminal Rich assumes 80 columns and folds; logs and pipes can take more.
    return Console(
        file=file, highlight=False, width=None if file.isatty() else _WIDTH_WITHOUT_TERMINAL
    )


def _write_line(message: str) -> None:
    sys.stderr.write(message.rstrip() + "\n")
    sys.stderr.flush()
