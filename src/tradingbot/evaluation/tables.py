"""The dossier's tables as rows and as CSV, for other programs.

Lists within a record (equity of every day, results of every seed) stay in the JSON, except the
worths of the policies, which are a table of their own.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import write_text
from tradingbot.evaluation.dossier.codec import to_plain
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.performance.record import PartPerformance
from tradingbot.evaluation.performance.tear_sheet.record import TearSheet
from tradingbot.evaluation.statistics.interval import Interval

Row = dict[str, Any]
TABLES_FOLDER = "tables"
_WITH_ROWS = (
    *("regimes", "stress", "sensitivity", "seeds", "ablation", "rewards", "placebos"),
    "allocation",
)
"""Analyses whose rows are a table."""
_FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FIGURES = re.compile(r"[-+]?[0-9.,;%\s\[\]–…-]*")
"""Numbers and intervals, which may begin with a sign."""


def write_tables(dossier: Dossier, memo: Memo, folder: Path) -> tuple[Path, ...]:
    """Write `dossier.json`, `memo.json` and, under `tables`, a CSV for every table with rows.

    Equal dossiers give equal bytes; each file is written whole or not at all.

    Raises:
        StorageError: If the disk refuses.
    """
    texts = {folder / "dossier.json": as_json(dossier), folder / "memo.json": as_json(memo)}
    for name, rows in tables_of(dossier, memo).items():
        if rows:
            texts[folder / TABLES_FOLDER / f"{name}.csv"] = as_csv(rows)
    for path, content in texts.items():
        write_text(path, content)
    return tuple(texts)


def tables_of(dossier: Dossier, memo: Memo) -> Mapping[str, Sequence[Row]]:
    """Return name → rows of every table; an analysis that was left out has none."""
    walk = dossier.walk_forward
    found = {name: getattr(dossier, name) for name in _WITH_ROWS}
    return {
        "policies": [row for part in dossier.parts for row in _of_part(part, part.policies)],
        "agents": [row for part in dossier.parts for row in _of_part(part, part.agents)],
        "equity": [row for part in dossier.parts for row in _worths(part)],
        "windows": flat_rows(walk.windows if walk else ()),
        **{name: flat_rows(analysis.rows if analysis else ()) for name, analysis in found.items()},
        **_of_tear_sheet(dossier.tear_sheet),
        "gates": flat_rows(memo.gates),
    }


def _of_tear_sheet(sheet: TearSheet | None) -> dict[str, list[Row]]:
    """Return what became of the agents on the test part; the trades are those that are listed."""
    if sheet is None:
        return {}
    return {
        "months": flat_rows(sheet.months),
        "drawdowns": flat_rows(sheet.drawdowns),
        "hours": flat_rows(sheet.clock.hours),
        "weekdays": flat_rows(sheet.clock.weekdays),
        "trades": flat_rows(sheet.trades.rows),
        "symbols": flat_rows(sheet.symbols),
    }


def as_csv(rows: Sequence[Row]) -> str:
    """Write rows under the columns that any of them has; None is empty, NaN is `nan`."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    content = io.StringIO()
    writer = csv.DictWriter(content, names, lineterminator="\n")
    writer.writerow({name: inert_cell(name) for name in names})
    writer.writerows({name: inert_cell(value) for name, value in row.items()} for row in rows)
    return content.getvalue()


def inert_cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula: such a text gets a `'` in front.

    Example:
        >>> [inert_cell(value) for value in ("=cmd()", "-0.5 [-1, 2]", "GO", -0.5)]
        ["'=cmd()", '-0.5 [-1, 2]', 'GO', -0.5]
    """
    if not isinstance(value, str) or not value.lstrip(" ").startswith(_FORMULA_BEGINS):
        return value
    return value if _FIGURES.fullmatch(value) else f"'{value}"


def as_json(record: Dossier | Memo) -> str:
    """Write a record in full; numbers that are not finite as the dossier's codec writes them."""
    return json.dumps(to_plain(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _of_part(part: PartPerformance, records: Iterable[Any]) -> list[Row]:
    return [{"part": part.part, **row} for row in flat_rows(records)]


def _worths(part: PartPerformance) -> list[Row]:
    """Return a row per day: the worth of each policy; empty where a policy has no such day.

    Worths are at the end of the day; 1 at the start of the first, which has no row of its own.
    """
    begins_twice = part.days[:1] == part.days[1:2]
    return [
        {"part": part.part, "day": day}
        | {row.policy: row.equity[place] for row in part.policies if place < len(row.equity)}
        for place, day in enumerate(part.days)
        if place or not begins_twice
    ]


def flat_rows(records: Iterable[Any]) -> list[Row]:
    """Return the fields of records as columns; an interval is an estimate and two ends."""
    return [_flat(record) for record in records]


def _flat(record: Any) -> Row:
    """Return the fields of a record as columns; an interval is an estimate and two ends.

    Columns of a record within begin with the name of its field.
    """
    row: Row = {}
    for field in dataclasses.fields(record):
        found = getattr(record, field.name)
        if isinstance(found, Interval):
            row |= {field.name: found.estimate}
            row |= {f"{field.name}_low": found.low, f"{field.name}_high": found.high}
        elif dataclasses.is_dataclass(found):
            row |= {f"{field.name}_{name}": value for name, value in _flat(found).items()}
        elif not isinstance(found, tuple):
            row[field.name] = found
    return row
