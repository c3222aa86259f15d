"""What two worlds with one past have in common: numbers, bit for bit, and how many differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.envs.world import World
from tradingbot.features.causality.tally import differs

SEEN = ("features", "regimes", "probabilities")
"""What agents see that is computed from bars: (N, T, …) each."""
_NAMED = 3
"""Offenders that are named; the others are counted."""


@dataclass(frozen=True)
class Compared:
    """How much was the same with another future, over all cuts."""

    actions: int = 0
    actions_changed: int = 0
    features: int = 0
    """Values of features, regimes and probabilities, and which bars are usable."""
    features_changed: int = 0
    offenders: tuple[str, ...] = ()
    """Features, regimes or arrays of the world that changed."""

    def __add__(self, other: Compared) -> Compared:
        """Put the counts of another cut to these."""
        return Compared(
            self.actions + other.actions,
            self.actions_changed + other.actions_changed,
            self.features + other.features,
            self.features_changed + other.features_changed,
            tuple(dict.fromkeys((*self.offenders, *other.offenders))),
        )

    def words(self) -> tuple[str, ...]:
        """Say what depends on the future; nothing where nothing does."""
        found = []
        late = "depend on bars that come after them"
        if self.features_changed:
            named = ", ".join(self.offenders[:_NAMED])
            more = f" and {len(self.offenders) - _NAMED} more" if self.offenders[_NAMED:] else ""
            values = f"{self.features_changed:,} of {self.features:,} feature values"
            found.append(f"{values} {late} ({named}{more})")
        if self.actions_changed:
            found.append(f"{self.actions_changed:,} of {self.actions:,} actions {late}")
        return tuple(found)


def compare_past(old: World, new: World, cut: int) -> Compared:
    """Compare every number that is computed from bars, up to a cut, bit for bit."""
    past = slice(0, cut + 1)
    changed = {
        name: changed_bits(getattr(old, name)[:, past], getattr(new, name)[:, past])
        for name in (*SEEN, "usable")
    }
    # A bar that is no longer usable shows 0 in every column: that accuses none of them.
    comparable = ~changed["usable"][..., None]
    offenders: list[str] = []
    for name, names in (("features", old.feature_names), ("regimes", old.regime_names)):
        columns = (changed[name] & comparable).any(axis=(0, 1))
        offenders += [names[index] for index in np.flatnonzero(columns)]
    offenders += [name for name in ("probabilities", "usable") if changed[name].any()]
    return Compared(
        features=sum(each.size for each in changed.values()),
        features_changed=sum(int(each.sum()) for each in changed.values()),
        offenders=tuple(offenders),
    )


def compare_own_past(old: World, new: World, cuts: NDArray[np.int64], own: set[str]) -> Compared:
    """Compare, bit for bit, what lies between the earliest cut and each symbol's own.

    What is made of several symbols may change there, so only columns of the symbol's own bars are
    compared. A bar at which no symbol is usable any more is no evidence: what the market lacks
    there, every symbol lacks.

    Args:
        old: The world as it was.
        new: The world whose symbols have another future, each after its own cut.
        cuts: (N,) last bar of each symbol that stayed as it was.
        own: Names of features and regimes that are made of the bars of their symbol alone.
    """
    rows = slice(int(cuts.min()) + 1, int(cuts.max()) + 1)
    past = np.arange(rows.start, rows.stop) <= cuts[:, None]
    selected = old.usable[:, rows] & new.usable[:, rows]
    past &= (selected & past).any(axis=0)
    found = Compared()
    for name, names in (("features", old.feature_names), ("regimes", old.regime_names)):
        columns = np.array([each in own for each in names], dtype=bool)
        changed = changed_bits(getattr(old, name)[:, rows], getattr(new, name)[:, rows])
        changed &= past[..., None] & columns
        guilty = np.flatnonzero((changed & selected[..., None]).any(axis=(0, 1)))
        found += Compared(
            features=int(past.sum()) * int(columns.sum()),
            features_changed=int(changed.sum()),
            offenders=tuple(names[index] for index in guilty),
        )
    lost = (old.usable[:, rows] != new.usable[:, rows]) & past
    return found + Compared(
        features=int(past.sum()),
        features_changed=int(lost.sum()),
        offenders=("usable",) if lost.any() else (),
    )


def changed_bits(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark what is not the same to the last bit."""
    return differs(np.ascontiguousarray(before), np.ascontiguousarray(after))
