"""YAML without surprises: a safe subset, read with the line of every value.

Only mappings, lists, text, numbers, `true`/`false`, `null` and dates exist here. `yes` is text,
`1e9` is text, tags and aliases are refused, a key may stand once, secrets may not stand at all.
What the values mean is decided in `tradingbot.configuration.pipeline`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tradingbot.data.regular_files import read_regular_file
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.redaction import is_secret_name

KeyPath = tuple[str | int, ...]

_MAX_BYTES = 1_000_000
_MAX_DEPTH = 20
_BITS = 63
_TAG = "tag:yaml.org,2002:"
_KINDS: dict[type, str] = {yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}
_SCALARS: tuple[tuple[str, str], ...] = (
    ("bool", r"true|false"),
    ("int", r"[-+]?(0|[1-9][0-9_]*)"),
    ("float", r"[-+]?(\.[0-9]+|(0|[1-9][0-9_]*)\.[0-9_]*)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan"),
    ("null", r"null|~|"),
    ("timestamp", r"\d{4}-\d{2}-\d{2}"),
)


@dataclass(frozen=True)
class Place:
    """Where a value was written."""

    file: Path
    line: int
    option: str = ""
    """How it was given, where it stands in no file: `--learner`, `--set encoder.preset`."""

    def __str__(self) -> str:
        return self.option or f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Document:
    """The content of one YAML file, and the place of every value in it."""

    values: dict[str, Any]
    places: Mapping[KeyPath, Place] = field(default_factory=dict)


def read_document(path: Path) -> Document:
    """Read a YAML file whose top level is a mapping.

    Raises:
        ConfigError: If the file is missing, unreadable, too large, not YAML, or uses anything
            outside the subset; says file and line, never a secret's value.
    """
    document = _parse(_read_text(path), path)
    return Document(copy.deepcopy(document.values), document.places)


@lru_cache(maxsize=64)
def _parse(text: str, path: Path) -> Document:
    """Read the text of a file; a preset stands below many configurations of one process."""
    try:
        _refuse_bombs(text, path)
        root = yaml.compose(text, Loader=_PlainLoader)
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(
                "configuration must be a mapping of keys to values",
                was=_KINDS.get(type(root), "nothing"),
                where=f"{path}:1",
                remedy="Write e.g. extends: demo",
            )
        places: dict[KeyPath, Place] = {}
        return Document(_construct(root, (), path, places), places)
    except yaml.YAMLError as e:
        raise _describe_syntax(e, path) from e


def _read_text(path: Path) -> str:
    try:
        return read_regular_file(path, most_bytes=_MAX_BYTES).decode("utf-8-sig")
    except OSError as e:
        missing = isinstance(e, FileNotFoundError)
        raise ConfigError(
            f"configuration file must exist, be readable and of at most {_MAX_BYTES:,} bytes",
            was="missing" if missing else e.strerror,
            where=str(path),
            remedy="Give an existing file, or the name of a preset without .yaml",
        ) from e
    except UnicodeDecodeError as e:
        line = e.object[: e.start].count(b"\n") + 1
        raise ConfigError(
            "configuration file must be UTF-8 text", where=f"{path}:{line}", remedy="Save it so"
        ) from e


class _PlainLoader(yaml.SafeLoader):
    """SafeLoader whose plain scalars resolve by `_SCALARS` only, not by the rules of YAML 1.1."""


_PlainLoader.yaml_implicit_resolvers = {}  # its own table: the parent's stays as it is
for _name, _pattern in _SCALARS:
    _PlainLoader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})$"), None)


def _refuse_bombs(text: str, path: Path) -> None:
    # A handful of nested aliases can stand for billions of values; deep nesting costs minutes.
    depth = 0
    for event in yaml.parse(text, Loader=_PlainLoader):
        where = f"{path}:{_line(event.start_mark)}"
        if isinstance(event, yaml.AliasEvent):
            rule = "aliases (*name) must not be used"
            remedy = "Write the value out, or share it with extends:"
            raise ConfigError(rule, was=f"*{event.anchor}", where=where, remedy=remedy)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            rule = f"values must be nested at most {_MAX_DEPTH} deep"
            raise ConfigError(rule, was="deeper", where=where, remedy="Write it flatter")


def _construct(node: yaml.Node, at: KeyPath, path: Path, places: dict[KeyPath, Place]) -> Any:
    place = places[at] = Place(path, _line(node.start_mark))
    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _construct_mapping(node, at, path, places)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_construct(item, (*at, i), path, places) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return _construct_scalar(node.tag, node.value, place)
    raise _refuse_tag(node.tag, place)


def _construct_mapping(
    node: yaml.MappingNode, at: KeyPath, path: Path, places: dict[KeyPath, Place]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        place = Place(path, _line(key_node.start_mark))
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigError("keys must be words", where=str(place), remedy="Write key: value")
        key = str(key_node.value)
        if is_secret_name(key):
            rule = "secrets must not stand in a configuration file"
            remedy = "Set it as an environment variable and delete the line"
            raise ConfigError(rule, was=f"key {key!r}", where=str(place), remedy=remedy)
        if key in values:
            first = places[(*at, key)].line
            raise ConfigError(
                "a key must stand once",
                was=f"{key!r} again, first on line {first}",
                where=str(place),
                remedy="Delete one of the two",
            )
        values[key] = _construct(value_node, (*at, key), path, places)
        places[(*at, key)] = place
    return values


def _construct_scalar(tag: str, text: str, place: Place) -> Any:
    kind = tag.removeprefix(_TAG)
    if kind == "str":
        if "${" in text:
            rule = "environment variables are not expanded here"
            remedy = "Write the value out, or set TRADINGBOT_WORKSPACE for the workspace"
            raise ConfigError(rule, was=repr(text), where=str(place), remedy=remedy)
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text == "true"
    if kind in ("int", "float", "timestamp"):
        return _construct_number_or_date(kind, text, place)
    raise _refuse_tag(tag, place)


def _construct_number_or_date(kind: str, text: str, place: Place) -> int | float | date:
    try:
        if kind == "timestamp":
            return date.fromisoformat(text)
        plain = text.replace("_", "")
        if kind == "int":
            return _whole(plain, place)
        return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError as e:
        rule = "a date must exist" if kind == "timestamp" else f"must be a {kind}"
        remedy = "Write e.g. 2024-02-29" if kind == "timestamp" else "Write fewer digits"
        raise ConfigError(rule, was=repr(text[:40]), where=str(place), remedy=remedy) from e


def _whole(text: str, place: Place) -> int:
    number = int(text)
    if abs(number) >= 2**_BITS:
        rule, was = f"a whole number must be below 2^{_BITS}", f"{text[:12]}…"
        raise ConfigError(rule, was=was, where=str(place), remedy="Give a smaller one")
    return number


def _refuse_tag(tag: str, place: Place) -> ConfigError:
    return ConfigError(
        "YAML tags must not be used",
        was=repr(tag.replace(_TAG, "!!")[:60]),
        where=str(place),
        remedy="Delete the tag: only plain values are read",
    )


def _describe_syntax(error: yaml.YAMLError, path: Path) -> ConfigError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"{path}:{_line(mark)}" if mark is not None else str(path)
    problem = getattr(error, "problem", None) or "characters that YAML does not allow"
    if "\\t" in str(problem):
        return ConfigError(
            "lines must be indented with spaces", was="a tab", where=where, remedy="Replace tabs"
        )
    return ConfigError(
        "configuration must be valid YAML",
        was=" ".join(str(problem).split()),
        where=where,
        remedy="Mend that line or the one before it",
    )


def _line(mark: Any) -> int:
    return int(mark.line) + 1
