"""How benchmarks speak to people: their records as a table, and a word where neighbours work."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tradingbot.app.cli.options import require_file
from tradingbot.app.console import print_note, print_table, show_json
from tradingbot.data.atomic import chosen_by, write_text
from tradingbot.data.json_files import as_json
from tradingbot_benchmarks.record import BenchRecord, describe_machine

_BUSY_LOAD = 0.7  # processes that want to run, over the last minute


def _writable(out: Path | None) -> Path | None:
    require_file(out, "--out", "records.json")
    return out


OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        callback=_writable,
        help="Keep every record in this file as soon as it is measured.",
    ),
]
"""Refused before anything is measured where no file can be."""


def tell_records(title: str, found: list[BenchRecord], *, wants_json: bool) -> None:
    """Write a benchmark's records to stdout, and beside a table the machine to stderr."""
    if not show_json(wants_json, found):
        print_records(title, found)
        tell_machine()


def tell_machine() -> None:
    """Say on stderr what machine it was."""
    for key, value in describe_machine().items():
        print_note(f"{key}: {value}")


def print_records(title: str, found: list[BenchRecord]) -> None:
    """Write a benchmark's records as a table to stdout."""
    rows = [
        (
            r.name,
            show_figure(r.value, r.unit),
            show_figure(r.reference, r.unit),
            r.reference_name,
            r.ratio,
            r.note,
        )
        for r in found
    ]
    print_table(title, ["what", "measured", "reference", "", "better by", "note"], rows)


def keep_records(measured: Iterable[BenchRecord], out: Path | None) -> list[BenchRecord]:
    """Tell every record on stderr as soon as it is there, and keep all so far in a file, if any.

    Raises:
        StorageError: If the file cannot be written.
    """
    found: list[BenchRecord] = []
    for record in measured:
        found.append(record)
        print_note(f"{record.name}: {show_figure(record.value, record.unit)}; {record.note}")
        if out is not None:
            with chosen_by("--out", out):
                write_text(out, json.dumps(as_json(found), indent=2, ensure_ascii=False) + "\n")
    return found


def show_figure(value: float | None, unit: str) -> str:
    """Write a figure with its unit; empty for none, a dash for what was not measured."""
    if value is None:
        return ""
    if not math.isfinite(value):
        return "–"
    if unit == "s":
        return f"{value:.3f} s" if value >= 0.1 else f"{value * 1e3:.3f} ms"
    if unit == "bytes/s":
        return f"{value / 1e9:.1f} GB/s"
    if unit == "bytes" and abs(value) < 1e5:
        return f"{value:,.0f} B"
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    return f"{value:,.4g} {unit}" if abs(value) < 1e4 else f"{value:,.0f} {unit}"


def tell_if_busy() -> None:
    """Say where other work will stretch what is measured."""
    load = os.getloadavg()[0]
    if load > _BUSY_LOAD:
        print_note(
            f"The machine is busy (load {load:.1f}): a neighbour stalls steps of many threads."
        )
