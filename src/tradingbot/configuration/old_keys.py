"""Keys of older versions: files, options and stored runs that use them are still read."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from tradingbot.configuration.yaml_reader import Document

OldKeys = Mapping[str, str]
"""Dotted key of an older version → its last word in this one, e.g. `guards.spread` →
`low_entropy`."""
NO_OLD_KEYS: OldKeys = {}


def rename_old_keys(document: Document, old_keys: OldKeys) -> Document:
    """Return a document under the keys of this version; call it before documents are merged.

    Example:
        >>> old = Document({"guards": {"spread": 0.2}})
        >>> rename_old_keys(old, {"guards.spread": "low_entropy"}).values
        {'guards': {'low_entropy': 0.2}}
    """
    values, places = deepcopy(document.values), dict(document.places)
    for dotted, new in old_keys.items():
        *above, old = dotted.split(".")
        section: Any = values
        for key in above:
            section = section.get(key) if isinstance(section, dict) else None
        if isinstance(section, dict) and old in section:
            section.setdefault(new, section.pop(old))
            if (*above, old) in places:
                places[(*above, new)] = places[(*above, old)]
    return Document(values, places)
