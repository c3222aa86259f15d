"""Formulae of features by hash: whether a name still means the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tradingbot.features.panel import panel_specs
from tradingbot.features.spec import spec_hash


def formula_hashes(feature_ids: Sequence[str]) -> tuple[str | None, ...]:
    """Return the hash of each column's formulae as this version has them, by name and version.

    Returns:
        None where it is no feature of this version: probabilities, or another version of one.
    """
    names = [each.rpartition("-v")[0] for each in feature_ids]
    known = {spec.name for spec in panel_specs(())}
    others = [name for name in names if name not in known and not name.startswith("probability_")]
    specs = {spec.id: spec_hash([spec]) for spec in panel_specs(others)}
    return tuple(specs.get(each) for each in feature_ids)
