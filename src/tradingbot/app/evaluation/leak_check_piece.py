"""Could the policy have seen the future? Replays with another future, and decisions that come late.

The proof is of the whole way from bars to actions. Bars after a cut are changed and every feature,
regime and probability is computed anew from them; then everything later is replaced once more, and
the policy is opened anew, encoder included. Whatever lies before the cut, numbers and actions, must
be the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tradingbot.app.evaluation.performance_piece import Performance
from tradingbot.app.evaluation.piece import Given
from tradingbot.app.evaluation.remaking import Remaker
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.training.results import AGENTS, ORACLE
from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import StorageError
from tradingbot.envs.world import World, select_symbols
from tradingbot.evaluation.backtest import Entrant
from tradingbot.evaluation.dossier.evidence import LeakCheck
from tradingbot.evaluation.policy_figures import is_better
from tradingbot.features.causality.comparison import differs

_PRICE_FACTOR = np.float32(1.37)
"""Prices of the other future; any level that differs will do."""
_SEEN = ("features", "regimes", "probabilities")
"""What agents see that is computed from bars: (N, T, …) each."""
_NAMED = 3
"""Offenders that are named; the others are counted."""


@dataclass(frozen=True)
class LeakCheckSettings:
    """How hard it is looked for."""

    cuts: int = 4
    """Bars of the test part after which everything is replaced."""
    most_delay_bars: int = 3
    """Decisions are executed 0 … so many bars late."""

    def __post_init__(self) -> None:
        """Refuse a check that compares nothing."""
        require_kinds(self)
        require(self.cuts >= 1, "cuts must be 1 or more", self)
        require(0 <= self.most_delay_bars <= 10, "most_delay_bars must lie in [0, 10]", self)


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
        if self.features_changed:
            named = ", ".join(self.offenders[:_NAMED])
            more = f" and {len(self.offenders) - _NAMED} more" if self.offenders[_NAMED:] else ""
            found.append(
                f"{self.features_changed:,} of {self.features:,} feature values depend on bars "
                f"that come after them ({named}{more})"
            )
        if self.actions_changed:
            found.append(
                f"{self.actions_changed:,} of {self.actions:,} actions depend on bars that come "
                "after them"
            )
        return tuple(found)


def measure_leak_check(given: Given, settings: LeakCheckSettings) -> LeakCheck:
    """Replay, delay, and compare with the oracle."""
    subject = given.subject
    performance: Performance = given.results["performance"]
    compared = compare_replays(given, settings.cuts)
    better = _beats_oracle(performance)
    certificate = subject.data.identity.certificate_sha256
    words = [*compared.words()]
    if better:
        words.append("the agents earn more than the oracle, which knows all that can be known")
    if certificate is None and not subject.data.identity.synthetic:
        words.append("nothing proves that the features of these bars do not look ahead")
    return LeakCheck(
        certificate_sha256=certificate,
        actions_compared=compared.actions,
        actions_changed=compared.actions_changed,
        delayed_net_bps=_delayed(subject, settings.most_delay_bars),
        better_than_oracle=better,
        words=tuple(words),
        features_compared=compared.features,
        features_changed=compared.features_changed,
    )


def _beats_oracle(performance: Performance) -> bool:
    """Compare differences, not the share: an oracle that earns little has a share without end.

    One that may do less than the agents is no bound on them.
    """
    oracle = [each for each in performance.test_series if each.policy == ORACLE]
    mine = np.array(performance.series(AGENTS).sleeves)
    return bool(oracle) and is_better(mine, np.array(oracle[0].sleeves))


def compare_replays(given: Given, cuts: int) -> Compared:
    """Compute features and replay the test part with other futures; count what changed.

    Where the bars cannot be read any more, features stay those that were stored, uncompared.
    """
    subject = given.subject
    bars = subject.bars("test")
    base = subject.backtest("test").action
    remaker = _remaker(subject)
    # Spread over the part; a decision at the cut itself must not change either.
    places = np.unique(np.linspace(0, len(bars) - 2, cuts + 1).astype(int)[1:])
    found = Compared()
    for number, place in enumerate(places):
        given.progress(number, len(places), "replays with another future")
        cut = bars.start + int(place)
        whole = subject.data.whole
        if remaker is not None:
            remade = remaker.another_future(cut, number=number)
            found += compare_past(whole, remade, cut)
            whole = _with_past(whole, remade, cut)
        replayed = _replay(subject, with_other_future(whole, cut), cut)
        n_rows = min(cut - bars.start + 1, len(replayed))
        changed = _changed(base[:n_rows], replayed[:n_rows])
        found += Compared(actions=changed.size, actions_changed=int(changed.sum()))
    return found


def compare_past(old: World, new: World, cut: int) -> Compared:
    """Compare every number that is computed from bars, up to a cut, bit for bit."""
    past = slice(0, cut + 1)
    changed = {
        name: _changed(getattr(old, name)[:, past], getattr(new, name)[:, past])
        for name in (*_SEEN, "usable")
    }
    # A bar that is no longer usable shows 0 in every column: that accuses none of them.
    settled = ~changed["usable"][..., None]
    offenders: list[str] = []
    for name, names in (("features", old.feature_names), ("regimes", old.regime_names)):
        columns = (changed[name] & settled).any(axis=(0, 1))
        offenders += [names[index] for index in np.flatnonzero(columns)]
    offenders += [name for name in ("probabilities", "usable") if changed[name].any()]
    return Compared(
        features=sum(each.size for each in changed.values()),
        features_changed=sum(int(each.sum()) for each in changed.values()),
        offenders=tuple(offenders),
    )


def _changed(before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return differs(np.ascontiguousarray(before), np.ascontiguousarray(after))


def _remaker(subject: Subject) -> Remaker | None:
    try:
        return Remaker(subject)
    except StorageError:  # the panel is there, the bars that it was made of are not
        return None


def _with_past(world: World, past: World, cut: int) -> World:
    """Take what agents see up to a cut from another world of the same symbols and bars."""

    def joined(name: str) -> np.ndarray[Any, Any]:
        before, after = getattr(past, name)[:, : cut + 1], getattr(world, name)[:, cut + 1 :]
        return np.concatenate([before, after], axis=1)

    seen: dict[str, Any] = {name: joined(name) for name in _SEEN}
    return replace(world, **seen)


def _replay(subject: Subject, whole: World, cut: int) -> np.ndarray[Any, Any]:
    """Return the actions (S, N) of the policy, opened on another world, up to a cut."""
    bars = subject.bars("test")
    world = select_symbols(whole, subject.data.world.symbols)
    other = subject.with_world(replace(subject.data, world=world, whole=whole))
    return other.backtest(IndexRange(bars.start, min(cut + 2, bars.stop))).action


def with_other_future(world: World, bar: int) -> World:
    """Replace everything after a bar: later bars backwards, at other prices, with signs turned."""
    later = slice(bar + 1, world.n_bars)

    def backwards(values: np.ndarray, factor: float = 1.0) -> np.ndarray:
        other = values.copy()
        other[:, later] = values[:, later][:, ::-1] * np.asarray(factor, dtype=values.dtype)
        return other

    prices = backwards(world.prices)
    prices[:, later, :4] *= np.asarray(_PRICE_FACTOR, dtype=prices.dtype)
    probabilities = backwards(world.probabilities)
    probabilities[:, later] = np.roll(probabilities[:, later], 1, axis=-1)
    return replace(
        world,
        prices=prices,
        present=backwards(world.present),
        features=backwards(world.features, -1.0),
        regimes=backwards(world.regimes, -1.0),
        probabilities=probabilities,
        usable=backwards(world.usable),
        label=f"{world.label}, another future after bar {bar}",
    )


def _delayed(subject: Subject, most: int) -> tuple[float, ...]:
    entrants = [
        Entrant(f"{delay} bars late", subject.policy, delay_bars=delay) for delay in range(most + 1)
    ]
    return tuple(
        1e4 * float(played.returns.mean()) for played in subject.backtest_all(entrants, "test")
    )
