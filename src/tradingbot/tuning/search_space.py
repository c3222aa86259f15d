"""What is searched: settings of a training with their ranges, as data; read without torch.

Spaces are in `configuration/presets/tuning`. A space says what a learner, its reward and its
encoder may be; data, costs, rules and validation judge every trial alike and are in none.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradingbot.configuration.files import place_of, preset_folder, read_merged
from tradingbot.configuration.yaml_reader import Document
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.tuning.search_parameter import Choice, SearchParameter, check_parameter

TUNABLE = (
    *("learner.", "task.reward", "task.private", "encoder.", "pretraining.", "auxiliary."),
    *("cloning.", "curiosity.", "objectives.", "shaping.", "options."),
    *("budget.n_envs", "budget.recency"),
)
"""What keys of a space begin with: everything else is what trials are judged by."""
_KEYS = ("low", "high", "scale", "step", "choices")


@dataclass(frozen=True)
class SearchSpace:
    """Settings that are searched together."""

    names: tuple[str, ...]
    """Presets or files that it was read from."""
    parameters: tuple[SearchParameter, ...]

    @property
    def sha256(self) -> str:
        """Hash of what is searched."""
        text = json.dumps(as_plain_values(self.parameters), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def corner(self) -> dict[str, Choice]:
        """Return the lowest or first value of every setting: a configuration must take it."""
        return {each.key: each.first for each in self.parameters}


def load_space(references: Sequence[str | Path]) -> SearchSpace:
    """Read one or more spaces; a setting of a later one replaces that of an earlier one.

    Args:
        references: Names of presets, or .yaml files.

    Raises:
        ConfigError: Naming file and line of what is unknown, missing or wrong.
    """
    found: dict[str, SearchParameter] = {}
    for reference in references:
        document, files = read_merged(reference, preset_folder("tuning"))
        entries = document.values.get("parameters")
        unknown = [key for key in document.values if key != "parameters"]
        if unknown or not isinstance(entries, Mapping) or not entries:
            raise ConfigError(
                "a search space must be a mapping under the key parameters",
                was=f"key {unknown[0]!r}" if unknown else "none",
                where=str(files[0]),
                remedy="Write e.g. parameters: {learner.ppo.decay: {low: 0.9, high: 0.98}}",
            )
        found |= {str(key): _read(str(key), entry, document) for key, entry in entries.items()}
    return SearchSpace(tuple(map(str, references)), tuple(found.values()))


def _read(key: str, entry: Any, document: Document) -> SearchParameter:
    where = place_of(document.places, ("parameters", key))
    if not key.startswith(TUNABLE):
        raise ConfigError(
            "a search space must not change what trials are judged by",
            was=repr(key),
            where=where,
            remedy=f"Search keys that begin with one of: {', '.join(TUNABLE)}",
        )
    if not isinstance(entry, Mapping):
        rule = f"{key} must have low and high, or choices"
        raise ConfigError(rule, was=repr(entry)[:60], where=where)
    for name in entry:
        require_known(str(name), _KEYS, f"key of {key} must be known", where=where)
    made = SearchParameter(key, **_values(key, entry, where))
    check_parameter(made, where)
    return made


def _values(key: str, entry: Mapping[str, Any], where: str | None) -> dict[str, Any]:
    given = dict(entry)
    _require_one_kind(key, given, where)
    for name in ("low", "high"):
        value = given.get(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{name} of {key} must be a number", was=repr(value), where=where)
        _require_finite(f"{name} of {key}", value, where)
    if "step" in given and (type(given["step"]) is not int or given["step"] < 1):
        rule = f"step of {key} must be a whole number of 1 or more"
        raise ConfigError(rule, was=repr(given["step"]), where=where)
    require_known(given.get("scale", "linear"), ("linear", "log"), f"scale of {key}", where=where)
    choices = given.pop("choices", ())
    if not isinstance(choices, list | tuple):
        raise ConfigError(f"choices of {key} must be a list", was=repr(choices)[:60], where=where)
    for choice in choices:
        _require_finite(f"choice of {key}", choice, where)
    return given | {"choices": tuple(map(_as_choice, choices))}


def _as_choice(value: Any) -> Choice:
    """Write a list as options of the command line do; anything else as it is."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(str, value))}]"
    kept: Choice = value
    return kept


def _require_one_kind(key: str, given: Mapping[str, Any], where: str | None) -> None:
    """Refuse a setting that has neither a whole range nor choices, or something of both."""
    ends = [name for name in ("low", "high") if name in given]
    beside = [name for name in _KEYS if name in given and name != "choices"]
    if ("choices" in given and not beside) or ("choices" not in given and len(ends) == 2):
        return
    raise ConfigError(
        f"{key} must have low and high, or choices with nothing beside them",
        was=", ".join(map(str, given)) or "nothing",
        where=where,
        remedy="Write e.g. {low: 0.9, high: 0.98} or {choices: [16, 32]}",
    )


def _require_finite(name: str, value: object, where: str | None) -> None:
    """Refuse infinity and what is no number."""
    if isinstance(value, float) and not math.isfinite(value):
        rule = f"{name} must be a finite number"
        raise ConfigError(rule, was=str(value), where=where, remedy="Write e.g. 0.5")
