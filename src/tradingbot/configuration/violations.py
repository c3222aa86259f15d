"""Turning what pydantic found into one line of ours: place, rule, value, remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from tradingbot.configuration.pipeline import PipelineConfig
from tradingbot.configuration.yaml_reader import KeyPath, Place
from tradingbot.domain.errors import ConfigError, UserError, suggest

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
    error: ValidationError,
    places: Mapping[KeyPath, Place],
    root: type[BaseModel] = PipelineConfig,
) -> ConfigError:
    """Return the first violation of a model, in order of files and lines, as our error."""
    violations = error.errors(include_url=False)
    first = min(violations, key=lambda item: _line(places, _known_part(item["loc"], places)))
    keys = _known_part(first["loc"], places)
    options = [item for item in violations if _known_part(item["loc"], places) == keys]
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
        cause = context["error"].__cause__
        if isinstance(cause, UserError):  # a rule of the library's own configurations
            place = where or cause.where
            return ConfigError(cause.rule, was=cause.was, where=place, remedy=cause.remedy)
        rule, _, was = str(context["error"]).partition(", was ")
        return ConfigError(rule, was=was or None, where=where, remedy="Correct it in that section")
    rule, remedy = _rule_of(kind, context, options)
    if chosen["input"] is not None and name.endswith("_frac") and "most" in rule:
        remedy = "It is a fraction: write 0.0020 for 0.20 %"
    return ConfigError(
        f"{name} must {rule}", was=repr(chosen["input"])[:60], where=where, remedy=remedy
    )


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


def _known_part(loc: tuple[int | str, ...], places: Mapping[KeyPath, Place]) -> KeyPath:
    """Cut off what pydantic appends for members of a union."""
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
