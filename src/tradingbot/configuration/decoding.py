"""From documents and options to frozen objects: the one way in, whatever the object is made of.

A section is a pydantic model where pipelines are configured, and a dataclass where the library's
own settings are; both come through `decode`, and errors of both name the place of the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from tradingbot.configuration.conflicts import KeyConflict, keys_of_rule, place_conflict
from tradingbot.configuration.pipeline import PipelineConfig
from tradingbot.configuration.yaml_reader import Document, KeyPath, Place
from tradingbot.domain.errors import ConfigError, UserError, suggest
from tradingbot.domain.plain_values import read_number, read_record

_TYPE_RULES: Mapping[str, tuple[str, str]] = {
    "bool_type": ("be true or false", "Write true or false, without quotes"),
    "int_type": ("be a whole number", "Write digits only, e.g. 1000000000 and not 1e9"),
    "int_from_float": ("be a whole number", "Write digits only"),
    "float_type": ("be a number", "Write e.g. 0.20 or 1.0e+9, without quotes"),
    "finite_number": ("be a finite number", "NaN and infinity are no limits: give a number"),
    "string_type": ("be text", "Write a word; put it in quotes if it looks like a number"),
    "date_type": ("be a date", "Write e.g. 2023-10-02, without quotes"),
    "dict_type": ("be a mapping of keys to values", "Indent key: value lines below it"),
    "model_type": ("be a mapping of keys to values", "Indent key: value lines below it"),
    "tuple_type": ("be a list", "Write e.g. [a, b]"),
    "string_too_short": ("not be empty", "Give a value or delete the line for its default"),
    "too_short": ("not be empty", "Give at least one, or delete the line for the default"),
    "string_too_long": ("be a short name", "Shorten it"),
}


def describe_violation(
    error: ValidationError, places: Mapping[KeyPath, Place], root: type[BaseModel] = PipelineConfig
) -> ConfigError:
    """Return the first violation of a model, in order of files and lines, as our error."""
    violations = error.errors(include_url=False)
    first = min(violations, key=lambda item: _line(places, known_part(item["loc"], places)))
    keys = known_part(first["loc"], places)
    options = [item for item in violations if known_part(item["loc"], places) == keys]
    return _describe([dict(item) for item in options], keys, places, root)


def _describe(
    options: list[dict[str, Any]],
    keys: KeyPath,
    places: Mapping[KeyPath, Place],
    root: type[BaseModel],
) -> ConfigError:
    # A union reports one violation per member; the most telling is the one about the value.
    chosen = next((item for item in options if item["type"] == "finite_number"), options[0])
    where = str(places[keys]) if keys in places else None
    keys = keys or chosen["loc"]  # values that no file says have no place
    name = ".".join(str(key) for key in keys)
    kind, context = chosen["type"], chosen.get("ctx", {})
    if kind == "extra_forbidden":
        known = model_at(keys[:-1], root).model_fields
        return ConfigError(
            f"key must be known in {_section_name(keys)}",
            was=repr(str(keys[-1])),
            where=where,
            remedy=suggest(str(keys[-1]), known),
        )
    if kind == "value_error":
        return _describe_rule(context["error"], chosen["loc"], places, where)
    rule, remedy = _rule_of(kind, context, options)
    if chosen["input"] is not None and name.endswith("_frac") and "most" in rule:
        remedy = "It is a fraction: write 0.0020 for 0.20 %"
    return ConfigError(
        f"{name} must {rule}", was=repr(chosen["input"])[:60], where=where, remedy=remedy
    )


def _describe_rule(
    error: ValueError, section: KeyPath, places: Mapping[KeyPath, Place], where: str | None
) -> ConfigError:
    """Return a rule that a section or the library checks itself, with the places of its keys."""
    cause = error.__cause__
    if isinstance(cause, UserError):  # a rule of the library's own configurations
        place = place_conflict(places, keys_of_rule(cause.rule, places)) or where or cause.where
        return ConfigError(cause.rule, was=cause.was, where=place, remedy=cause.remedy)
    text, place = str(error), where
    if isinstance(error, KeyConflict):
        text = error.rule_in(section)
        place = place_conflict(places, error.paths_in(section)) or where
    rule, _, was = text.partition(", was ")
    return ConfigError(rule, was=was or None, where=place, remedy="Change what does not fit")


def _rule_of(
    kind: str, context: Mapping[str, Any], options: list[dict[str, Any]]
) -> tuple[str, str]:
    if len(options) > 1 and kind != "finite_number":
        rules = [_TYPE_RULES.get(item["type"], (item["msg"], ""))[0] for item in options]
        return " or ".join(dict.fromkeys(rules)), _TYPE_RULES[options[0]["type"]][1]
    bounds = {"greater_than_equal": "at least", "less_than_equal": "at most"}
    if kind in bounds:
        bound = context["ge"] if "ge" in context else context["le"]
        return f"be {bounds[kind]} {bound}", "Give a number inside the range"
    if kind in ("literal_error", "enum"):
        return f"be {context['expected']}", "Choose one of them"
    return _TYPE_RULES.get(kind, (f"be valid ({kind})", ""))


def known_part(loc: tuple[int | str, ...], places: Mapping[KeyPath, Place]) -> KeyPath:
    """Return the longest beginning of a path of keys whose place is known.

    That cuts off what pydantic appends for members of a union.
    """
    for length in range(len(loc), 0, -1):
        if loc[:length] in places:
            return loc[:length]
    return ()


def _line(places: Mapping[KeyPath, Place], keys: KeyPath) -> tuple[str, int]:
    place = places.get(keys)
    return (str(place.file), place.line) if place else ("", 0)


def _section_name(keys: KeyPath) -> str:
    return f"section {'.'.join(str(key) for key in keys[:-1])!r}" if keys[1:] else "a configuration"


def model_at(keys: KeyPath, root: type[BaseModel] = PipelineConfig) -> type[BaseModel]:
    """Return the model of a section of a configuration."""
    model = root
    for key in keys:
        annotation = model.model_fields[str(key)].annotation
        candidates = (annotation, *get_args(annotation))
        model = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return model


_Config = TypeVar("_Config")
COMMAND_LINE = Path("command line")
"""Stands for the file where a value comes from an option."""
NOT_SPELLED: Mapping[str, str] = MappingProxyType({})


def decode(kind: type[_Config], document: Document, *, name: str = "", where: str = "") -> _Config:
    """Make a checked, frozen configuration of a document.

    Args:
        kind: A pydantic model or a dataclass.
        document: Values, and their places.
        name: Of the configuration, for messages about a dataclass: `evaluation`.
        where: Place that is named where a dataclass does not say one itself.

    Raises:
        ConfigError: Naming place, rule, value and remedy of the first broken rule.
    """
    if issubclass(kind, BaseModel):
        try:
            return kind.model_validate(document.values)
        except ValidationError as e:
            raise describe_violation(e, document.places, kind) from e
    try:
        return read_record(kind, document.values, name=name)
    except ConfigError as e:
        rule = e.rule.removeprefix(f"{name}.")
        written = place_conflict(document.places, keys_of_rule(rule, document.places))
        place = written or e.where or where or None
        raise ConfigError(rule, was=e.was, where=place, remedy=e.remedy) from e


def document_of_options(
    overrides: Mapping[str, object], spelled: Mapping[str, str] = NOT_SPELLED
) -> Document:
    """Lay dotted keys out as the document that a file with the same keys would be.

    Args:
        overrides: Dotted key → value.
        spelled: Dotted key → the option of the command line that says it, for messages: `device` →
            `--device`; the others are called settings.

    Raises:
        ConfigError: If a key is no key, or is set twice.
    """
    values: dict[str, Any] = {}
    places: dict[KeyPath, Place] = {}
    for number, (dotted, value) in enumerate(overrides.items(), start=1):
        keys = tuple(dotted.split("."))
        if not all(keys):
            remedy = "Write e.g. budget.n_envs=4"
            raise ConfigError(
                "a key must be words with dots between them", was=repr(dotted), remedy=remedy
            )
        place = Place(COMMAND_LINE, number, spelled.get(dotted, f"setting {dotted}"))
        section = values
        for depth, key in enumerate(keys[:-1], start=1):
            section = section.setdefault(key, {})
            if not isinstance(section, dict):
                remedy = "Leave one of the two out"
                raise ConfigError("a key must be set once", was=repr(dotted), remedy=remedy)
            places.setdefault(keys[:depth], place)
        if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
            remedy = f"Write one setting for each of its keys, e.g. {dotted}.KEY=VALUE"
            rule = f"{dotted} must be set key by key where it is an option"
            raise ConfigError(rule, was=repr(value)[:60], where=str(place), remedy=remedy)
        section[keys[-1]] = _option_value(value)
        places[keys] = place
    return Document(values, places)


def _option_value(value: object) -> object:
    """Read what text of a command line may mean: a list, a day, or what it is."""
    if not isinstance(value, str):
        return value
    if value.startswith("[") and value.endswith("]"):
        return _read_list(value)
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None if value == "null" else value


def _read_list(text: str) -> list[object]:
    """Read a list as options write it, `[16, 8]`, and lists of it: `[[LOW_ENTROPY, pause]]`."""
    items, depth = [""], 0
    for sign in text[1:-1]:
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 0:
            items.append("")
        else:
            items[-1] += sign
    words = (item.strip() for item in items)
    return [
        _read_list(word) if word[0] == "[" and word[-1] == "]" else read_number(word)
        for word in words
        if word
    ]
