"""Where output goes: results to stdout (tables for people, JSON for machines), the rest to stderr.

With `--json` stdout carries exactly one JSON document, and an error is one on stderr. Colour
follows the terminal and `NO_COLOR`. What goes to stderr shows no secret of the environment and no
password of an address.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tradingbot.data.json_files import as_json
from tradingbot.domain.redaction import redact, secrets_of

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[int, int, str], None]
"""Called as (finished, total, label); the shape of `tradingbot.data.sources.source.Progress`."""

_WIDTH_WITHOUT_TERMINAL = 120
_SECONDS_BETWEEN_LINES = 15.0
_SHORT_TEXT = 24
"""Characters up to which a cell stays on one line."""


def print_error(message: str, *, details: Mapping[str, object] | None = None) -> None:
    """Say on stderr, in one line, what went wrong.

    Args:
        message: In words.
        details: The line is a JSON document `{"error": message, …}` with these keys; words alone
            by default.
    """
    if details is None:
        _write_line(f"error: {message}")
    else:
        _write_line(json.dumps({"error": message, **details}, ensure_ascii=False))


def print_note(message: str) -> None:
    """Say something for people on stderr; machines reading stdout do not see it."""
    _write_line(message)


def print_json(value: object) -> None:
    """Write `value` to stdout as one JSON document; NaN and infinity become null."""
    sys.stdout.write(json.dumps(as_json(value), indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()  # who reads a pipe waits for it, and a server may print nothing else


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

    Where the screen is too narrow for all columns it goes on below, with the first column again:
    no word is broken, and lines stay as they are read.

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
    screen = _console(sys.stdout)
    widths = [
        _needed_width([name, *(row[index][0] for row in body)], whole=name in unbroken)
        for index, name in enumerate(columns)
    ]
    for number, group in enumerate(_column_groups(widths, screen.width)):
        table = Table(title=None if number else Text(title), title_justify="left")
        for index in group:
            numeric = bool(body) and all(row[index][1] for row in body)
            table.add_column(
                Text(columns[index]),
                justify="right" if numeric else "left",
                overflow="fold",
                no_wrap=columns[index] in unbroken,
            )
        for row in body:
            table.add_row(*(Text(row[index][0]) for index in group))
        screen.print(table)
    if caption:
        screen.print(Text(caption, style="dim italic"))


def _needed_width(texts: Sequence[str], *, whole: bool) -> int:
    """Return the columns of the screen that texts need: short ones whole, long ones their words."""
    from rich.cells import cell_len

    lines = max((cell_len(line) for text in texts for line in text.splitlines()), default=0)
    if whole or lines <= _SHORT_TEXT:
        return lines
    words = max((cell_len(word) for text in texts for word in text.split()), default=0)
    return max(words, _SHORT_TEXT)


def _column_groups(widths: Sequence[int], screen: int) -> list[list[int]]:
    """Share columns out to tables that fit the screen, each with the first column.

    Example:
        >>> _column_groups([10, 20, 20, 20], 60)
        [[0, 1, 2], [0, 3]]
    """
    groups: list[list[int]] = [[0]]
    for index in range(1, len(widths)):
        taken = [widths[each] for each in (*groups[-1], index)]
        # Three characters stand between two columns, two more at either end.
        fits = sum(taken) + 3 * len(taken) + 1 <= screen
        if fits or len(groups[-1]) == 1:
            groups[-1].append(index)
        else:
            groups.append([0, index])
    return groups


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
        TextColumn("{task.fields[left]}", markup=False),
    )
    time_left = _TimeLeft()
    with Progress(*columns, console=_console(sys.stderr), transient=True) as bars:
        task = bars.add_task(label, total=None, left="")

        def report(finished: int, total: int, step: str) -> None:
            bars.update(
                task,
                completed=finished,
                total=total or None,
                description=f"{label}: {step}" if step else label,
                left=time_left.words(finished, total),
            )

        yield report


def _occasional_lines(label: str) -> Progress:
    """Report to logs and pipes: nothing for quick work, then a line every so often."""
    last, time_left = time.monotonic(), _TimeLeft()

    def report(finished: int, total: int, step: str) -> None:
        nonlocal last
        left = time_left.words(finished, total)
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            words = f"{label}: {finished} of {total or '?'} {step}".rstrip()
            print_note(f"{words}; {left}" if left else words)

    return report


class _TimeLeft:
    """Says how long work will still take, by what was finished since it was first asked."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None

    def words(self, finished: int, total: int) -> str:
        """Return `about 3 min left`; nothing before an eighth was finished."""
        if self._start is None:
            self._start = (time.monotonic(), finished)
        began, before = self._start
        if finished - before < max(1, total // 8) or finished >= total:
            return ""  # a few first steps say little of the others
        left = (time.monotonic() - began) / (finished - before) * (total - finished)
        return f"about {left:.0f} s left" if left < 90.0 else f"about {left / 60.0:.0f} min left"


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
    sys.stderr.write(redact(message.rstrip(), secrets_of(os.environ)) + "\n")
    sys.stderr.flush()
