"""Gates from a file: the product's own, or an edited one; and records of benchmarks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tradingbot.configuration.files import place_of, preset_folder, read_merged
from tradingbot.configuration.yaml_reader import Document
from tradingbot.data.json_files import json_problem
from tradingbot.data.regular_files import read_regular_file
from tradingbot.domain.errors import ConfigError, DataError, suggest
from tradingbot.evaluation.gates.gate import EDGE_PHASE, Gate

DEFAULT_GATES = "product"
_MAX_BENCH_BYTES = 10_000_000
_FIELDS = tuple(field.name for field in dataclasses.fields(Gate))
_NEEDED = tuple(
    field.name for field in dataclasses.fields(Gate) if field.default is dataclasses.MISSING
)


def load_gates(reference: str | Path = DEFAULT_GATES) -> tuple[Gate, ...]:
    """Read gates.

    Args:
        reference: Name of a file that comes with the package, or a .yaml file.

    Raises:
        ConfigError: Naming file and line of what is unknown, missing or wrong.
    """
    document, files = read_merged(reference, preset_folder("gates"))
    unknown = [key for key in document.values if key != "gates"]
    entries = document.values.get("gates")
    if unknown or not isinstance(entries, list) or not entries:
        rule = "a file of gates must hold a list under the key gates"
        was = f"key {unknown[0]!r}" if unknown else "no list"
        remedy = "Begin with a copy of the product's own: tradingbot gates --print"
        raise ConfigError(rule, was=was, where=str(files[0]), remedy=remedy)
    gates = tuple(_read(entry, index, document) for index, entry in enumerate(entries))
    if not any(gate.required and gate.phase == EDGE_PHASE for gate in gates):
        rule = "gates must ask for an edge: one of the phase edge must be required"
        remedy = "Keep the product's own of that phase: tradingbot gates --print"
        raise ConfigError(rule, was="none", where=str(files[0]), remedy=remedy)
    return gates


def foreign_source(reference: str | Path) -> str:
    """Return the file of gates that are not the product's own; empty where they are."""
    return "" if str(reference) == DEFAULT_GATES else str(reference)


def gates_text(reference: str | Path = DEFAULT_GATES) -> str:
    """Return a file of gates as it is written, comments included.

    Raises:
        ConfigError: If it cannot be read.
    """
    _, files = read_merged(reference, preset_folder("gates"))
    return files[0].read_text(encoding="utf-8")


def read_benches(files: Sequence[Path]) -> dict[str, float]:
    """Read the records of `tradingbot bench … --json`: name → value; a later file goes first.

    Raises:
        DataError: If a file is not such a list of records.
    """
    found: dict[str, float] = {}
    for file in files:
        try:
            content = json.loads(read_regular_file(file, most_bytes=_MAX_BENCH_BYTES))
        except RecursionError:
            _refuse_bench(file, "nested too deeply")
        except (OSError, ValueError) as e:
            _refuse_bench(file, json_problem(e))
        records = content.get("records") if isinstance(content, Mapping) else content
        if not isinstance(records, list):
            _refuse_bench(file, "no list of records")
        for number, record in enumerate(records, start=1):
            found |= _bench_value(record, number, file)
    return found


def _bench_value(record: Any, number: int, file: Path) -> dict[str, float]:
    """Return name → value of a record; nothing where it was not measured."""
    if not isinstance(record, Mapping) or not {"name", "value"} <= record.keys():
        _refuse_bench(file, f"record {number} without a name and a value")
    name, value = str(record["name"]), record["value"]
    if value is None:
        return {}
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError
        return {name: float(value)}
    except (TypeError, OverflowError):
        _refuse_bench(file, f"{repr(value)[:40]} as the value of {name[:80]!r}")


def _refuse_bench(file: Path, was: str) -> NoReturn:
    rule = "benchmarks must be the JSON of tradingbot bench"
    remedy = "Write it with e.g.: tradingbot bench simulator --json > simulator.json"
    raise DataError(rule, was=was, where=str(file), remedy=remedy)


def _read(entry: Any, index: int, document: Document) -> Gate:
    where = place_of(document.places, ("gates", index))
    if not isinstance(entry, Mapping):
        raise ConfigError("a gate must be a mapping", was=repr(entry)[:60], where=where)
    for key in entry:
        if key not in _FIELDS:
            remedy = suggest(str(key), _FIELDS)
            place = place_of(document.places, ("gates", index, str(key)))
            raise ConfigError(
                "key of a gate must be known", was=repr(key), where=place, remedy=remedy
            )
    missing = [name for name in _NEEDED if name not in entry]
    if missing:
        raise ConfigError("a gate must have every key", was=f"no {missing[0]!r}", where=where)
    try:
        return Gate(**{str(key): value for key, value in entry.items()})
    except ConfigError as e:
        raise ConfigError(e.rule, was=e.was, where=where, remedy=e.remedy) from e
    except (TypeError, AttributeError) as e:
        raise ConfigError("texts of a gate must be text", was=repr(entry)[:80], where=where) from e
