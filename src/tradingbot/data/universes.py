"""Universe files: reading them, and membership as a mask on the time grid.

A file is CSV with the columns of `COLUMNS`; `#` lines before the header may say `name:` and
`calendar:` and should say how the list was chosen. A fixed list carries survivorship bias.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import date, timedelta
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.calendar import closing_day
from tradingbot.data.regular_files import describe_path, read_regular_file
from tradingbot.domain.errors import DataError, SchemaError, suggest
from tradingbot.domain.universe import Member, Universe

COLUMNS = ("symbol", "kind", "sector", "joined_on", "left_on")
_SUFFIX = ".csv"
_MAX_BYTES = 10_000_000
_LONGEST_SHOWN = 80


def known_universes() -> tuple[str, ...]:
    """Names of the universes that come with the package, sorted."""
    files = resources.files("tradingbot.data").joinpath("universe_files").iterdir()
    return tuple(sorted(f.name.removesuffix(_SUFFIX) for f in files if f.name.endswith(_SUFFIX)))


def load_universe(name_or_path: str) -> Universe:
    """Read a universe by name, or from a CSV file.

    Example:
        >>> load_universe("prototype10").symbols[:3]
        ('SPY', 'QQQ', 'AAPL')

    Raises:
        DataError: If neither a known name nor a readable file, or a value breaks a rule.
        SchemaError: If the file lacks a column or a line has too many cells.
    """
    if name_or_path in known_universes():
        file = resources.files("tradingbot.data").joinpath("universe_files", name_or_path + _SUFFIX)
        return parse_universe(file.read_text("utf-8"), where=file.name)
    path = Path(name_or_path)
    if path.suffix != _SUFFIX and describe_path(path) != "a file":
        rule = "universe must be a known name or a CSV file"
        remedy = suggest(name_or_path, known_universes())
        raise DataError(rule, was=repr(name_or_path[:_LONGEST_SHOWN]), remedy=remedy)
    try:
        text = read_regular_file(path, most_bytes=_MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        reason = "not UTF-8 text" if isinstance(e, UnicodeDecodeError) else e.strerror
        remedy = f"Give a CSV file, or one of: {', '.join(known_universes())}"
        rule = "universe file must be readable"
        raise DataError(rule, was=reason, where=str(path), remedy=remedy) from e
    return parse_universe(text, where=str(path))


def parse_universe(text: str, *, where: str) -> Universe:
    """Read a universe from the text of its file; `where` names it in errors."""
    lines = text.splitlines()
    notes = _notes(lines)
    numbered = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not numbered:
        raise SchemaError(
            "universe file must have a header and a member",
            was="nothing",
            where=where,
            remedy=f"Write {','.join(COLUMNS)} and a line per member",
        )
    header = [cell.strip() for cell in next(csv.reader([numbered[0][1]]))]
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise SchemaError(
            f"universe file must have the columns {', '.join(COLUMNS)}",
            was=f"{', '.join(header)[:200]} (without {', '.join(missing)})",
            where=where,
            remedy="Add them to the header; cells below may be empty, but for the symbol",
        )
    members = tuple(_member(line, header, f"{where}:{number}") for number, line in numbered[1:])
    name = notes.get("name", Path(where).stem)
    return Universe(name, members, calendar=notes.get("calendar", "XNYS"))


def membership_mask(
    universe: Universe, symbols: Sequence[str], closed_at: NDArray[np.datetime64]
) -> NDArray[np.bool_]:
    """Tell when each symbol belonged to the universe.

    A bar belongs to its `closing_day`.

    Args:
        universe: Whose stays count.
        symbols: N names; one that was never a member is False throughout.
        closed_at: (T,) closing times, UTC.

    Returns:
        (T, N) True where the symbol is a member.
    """
    days = closing_day(closed_at)
    mask = np.zeros((len(closed_at), len(symbols)), dtype=bool)
    column = {symbol: index for index, symbol in enumerate(symbols)}
    for member in universe.members:
        if member.symbol in column:
            joined = np.datetime64(member.joined_on or date.min)
            last = np.datetime64(member.left_on - timedelta(days=1) if member.left_on else date.max)
            mask[:, column[member.symbol]] |= (days >= joined) & (days <= last)
    return mask


def _notes(lines: Sequence[str]) -> dict[str, str]:
    pairs = (line.lstrip("#").partition(":") for line in lines if line.startswith("#"))
    return {
        key.strip().lower(): value.strip()
        for key, _, value in pairs
        if key.strip().lower() in ("name", "calendar") and value.strip()
    }


def _member(line: str, header: Sequence[str], where: str) -> Member:
    cells = next(csv.reader([line]))
    if len(cells) != len(header):
        raise SchemaError(
            f"line must have {len(header)} cells",
            was=f"{len(cells)}: {line[:60]!r}",
            where=where,
            remedy="Write a comma for an empty cell",
        )
    row = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
    try:
        return Member(
            symbol=row["symbol"],
            kind=row["kind"] or "stock",
            sector=row["sector"] or "unknown",
            joined_on=_day(row, "joined_on", where),
            left_on=_day(row, "left_on", where),
        )
    except DataError as e:
        if e.where == where:
            raise
        raise DataError(e.rule, was=e.was, where=where, remedy=e.remedy) from e


def _day(row: dict[str, str], column: str, where: str) -> date | None:
    if not row[column]:
        return None
    try:
        return date.fromisoformat(row[column])
    except ValueError as e:
        raise DataError(
            f"{column} must be a date YYYY-MM-DD or empty",
            was=repr(row[column][:_LONGEST_SHOWN]),
            where=where,
            remedy="Write e.g. 2024-01-31",
        ) from e
