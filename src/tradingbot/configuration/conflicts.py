"""Keys that do not go together: the refusal names where each was written, the user's own first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tradingbot.configuration.yaml_reader import KeyPath, Place

_PRESETS = Path(__file__).parent / "presets"
_PACKAGED = 2
"""Rank of places in presets of the package, the last."""
_WORD = re.compile(r"[a-z]\w*")


class KeyConflict(ValueError):  # noqa: N818 - pydantic reports ValueErrors of validators
    """A rule of a section about more than one of its keys.

    Args:
        rule: What must hold, and after `, was ` what is there.
        keys: Keys that the rule is about, dotted from the section that checks it.
    """

    def __init__(self, rule: str, *keys: str) -> None:
        super().__init__(rule)
        self.keys = keys

    def rule_in(self, section: KeyPath) -> str:
        """Return the rule with its keys in full, as they stand in a section of a configuration."""
        text = str(self)
        for key in self.keys if section else ():
            text = re.sub(rf"(?<![\w.]){re.escape(key)}\b", _dotted((*section, key)), text, count=1)
        return text

    def paths_in(self, section: KeyPath) -> list[KeyPath]:
        """Return the paths of its keys in a section of a configuration."""
        return [(*section, *key.split(".")) for key in self.keys]


def place_conflict(places: Mapping[KeyPath, Place], keys: Sequence[KeyPath]) -> str | None:
    """Say where keys that do not go together were written.

    An option goes before a file of the user's, and that before a preset of the package: what was
    asked for is named, then what it conflicts with. Of keys in one file, the first is named.

    Args:
        places: Where values were written.
        keys: Paths; a key without a place has its default.

    Returns:
        For instance `--learner; conflicts with environment.kind of preset portfolio`; None where
        every key has its default.
    """
    written = sorted((key for key in keys if key in places), key=lambda key: _rank(places[key]))
    if not written:
        return None
    first, *others = written
    apart = [key for key in others if places[key].option or places[key].file != places[first].file]
    also = ", ".join(f"{_dotted(key)} {_said(places[key])}" for key in apart)
    return f"{places[first]}; conflicts with {also}" if also else str(places[first])


def keys_of_rule(rule: str, places: Mapping[KeyPath, Place]) -> list[KeyPath]:
    """Return the key that a rule begins with in full, and those beside it that it also names."""
    subject, _, rest = rule.partition(" ")
    *section, key = subject.split(".")
    beside = [(*section, word) for word in _WORD.findall(rest) if section]
    return [(*section, key), *(keys for keys in dict.fromkeys(beside) if keys in places)]


def _said(place: Place) -> str:
    if place.option:
        return f"by {place}"
    return f"of preset {place.file.stem}" if _rank(place) == _PACKAGED else f"in {place}"


def _rank(place: Place) -> int:
    if place.option:
        return 0
    return _PACKAGED if place.file.is_relative_to(_PRESETS) else 1


def _dotted(keys: KeyPath) -> str:
    return ".".join(map(str, keys))
