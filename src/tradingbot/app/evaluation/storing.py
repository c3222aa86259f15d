"""What an evaluation leaves for others: dossier and memo as JSON, tables as CSV, the page."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tradingbot.app.gates_view import DOSSIER_FILE
from tradingbot.data.atomic import write_text
from tradingbot.evaluation.dossier.codec import to_plain
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.oracle.intervals import Interval

MEMO_FILE, REPORT_FILE, TABLES_FOLDER = "memo.json", "report.html", "tables"


def store_evaluation(folder: Path, dossier: Dossier, memo: Memo) -> None:
    """Write dossier, memo and tables, each whole or not at all.

    Raises:
        StorageError: If the disk refuses.
    """
    write_text(folder / DOSSIER_FILE, _json(dossier))
    write_text(folder / MEMO_FILE, _json(memo))
    for name, rows in tables_of(dossier, memo).items():
        if rows:
            write_text(folder / TABLES_FOLDER / f"{name}.csv", _csv(rows))


def store_page(folder: Path, dossier: Dossier, memo: Memo) -> Path:
    """Write the page, and return its path.

    Raises:
        MissingExtraError: If what draws pages is not installed.
        StorageError: If the disk refuses.
    """
    from tradingbot.evaluation.report.dossier_page import render_dossier

    path = folder / REPORT_FILE
    write_text(path, render_dossier(dossier, memo))
    return path


def tables_of(dossier: Dossier, memo: Memo) -> dict[str, list[dict[str, Any]]]:
    """Return name → rows of every table; lists within a row are left to the JSON."""
    rows: dict[str, list[dict[str, Any]]] = {
        "policies": [
            {"part": part.part, **_flat(row)} for part in dossier.parts for row in part.policies
        ],
        "agents": [
            {"part": part.part, **_flat(row)} for part in dossier.parts for row in part.agents
        ],
        "equity": [each for part in dossier.parts for each in _equity(part)],
        "gates": _flat_all(memo.gates),
        "walk_forward": _flat_all(dossier.walk_forward.windows if dossier.walk_forward else ()),
        "regimes": _flat_all(dossier.regimes.rows if dossier.regimes else ()),
        "stress": _flat_all(dossier.stress.rows if dossier.stress else ()),
        "sensitivity": _flat_all(dossier.sensitivity.rows if dossier.sensitivity else ()),
        "seeds": _flat_all(dossier.seeds.rows if dossier.seeds else ()),
        "ablation": _flat_all(dossier.ablation.rows if dossier.ablation else ()),
        "placebos": _flat_all(dossier.placebos.rows if dossier.placebos else ()),
    }
    return rows


def _equity(part: Any) -> Iterable[dict[str, Any]]:
    for place, day in enumerate(part.days):
        yield {
            "part": part.part,
            "day": day,
            **{row.policy: row.equity[place] for row in part.policies},
        }


def _flat_all(records: Iterable[Any]) -> list[dict[str, Any]]:
    return [_flat(record) for record in records]


def _flat(record: Any) -> dict[str, Any]:
    """Return the fields of a record as columns: an interval is three of them."""
    columns: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Interval):
            columns |= {f"{field.name}_{end}": each for end, each in value._asdict().items()}
        elif not isinstance(value, tuple):
            columns[field.name] = value
    return columns


def _csv(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _json(record: Mapping[str, Any] | object) -> str:
    return json.dumps(to_plain(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
