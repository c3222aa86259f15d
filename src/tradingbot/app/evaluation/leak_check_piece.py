"""Could the policy have seen the future? Replays with another future, and decisions that come late.

The proof is of the whole way from features to actions, encoder included: everything after a bar is
replaced, the policy is opened anew on it, and every action up to that bar must be the same to the
last bit. That features themselves do not look ahead is what the panel's certificate says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tradingbot.app.evaluation.performance_piece import Performance
from tradingbot.app.evaluation.piece import Given
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.training.results import AGENTS, ORACLE
from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import Entrant
from tradingbot.evaluation.dossier.evidence import LeakCheck
from tradingbot.evaluation.policy_figures import is_better

_PRICE_FACTOR = np.float32(1.37)
"""Prices of the other future; any level that differs will do."""


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


def measure_leak_check(given: Given, settings: LeakCheckSettings) -> LeakCheck:
    """Replay, delay, and compare with the oracle."""
    subject = given.subject
    performance: Performance = given.results["performance"]
    compared, changed = compare_replays(given, settings.cuts)
    better = _beats_oracle(performance)
    certificate = subject.data.identity.certificate_sha256
    words = []
    if changed:
        words.append(f"{changed:,} of {compared:,} actions depend on bars that come after them")
    if better:
        words.append("the agents earn more than the oracle, which knows all that can be known")
    if certificate is None and not subject.data.identity.synthetic:
        words.append("nothing proves that the features of these bars do not look ahead")
    return LeakCheck(
        certificate_sha256=certificate,
        actions_compared=compared,
        actions_changed=changed,
        delayed_net_bps=_delayed(subject, settings.most_delay_bars),
        better_than_oracle=better,
        words=tuple(words),
    )


def _beats_oracle(performance: Performance) -> bool:
    """Compare differences, not the share: an oracle that earns little has a share without end.

    One that may do less than the agents is no bound on them.
    """
    oracle = [each for each in performance.test_series if each.policy == ORACLE]
    mine = np.array(performance.series(AGENTS).sleeves)
    return bool(oracle) and is_better(mine, np.array(oracle[0].sleeves))


def compare_replays(given: Given, cuts: int) -> tuple[int, int]:
    """Replay the test part with other futures; return actions compared, and how many changed."""
    subject = given.subject
    bars = subject.bars("test")
    base = subject.backtest("test").action
    # Spread over the part; a decision at the cut itself must not change either.
    places = np.unique(np.linspace(0, len(bars) - 2, cuts + 1).astype(int)[1:])
    compared = changed = 0
    for number, place in enumerate(places):
        given.progress(number, len(places), "replays with another future")
        cut = bars.start + int(place)
        world = with_other_future(subject.data.world, cut)
        other = subject.with_world(replace(subject.data, world=world))
        stop = min(cut + 2, bars.stop)
        replayed = other.backtest(IndexRange(bars.start, stop)).action
        n_rows = min(cut - bars.start + 1, len(replayed))
        # Bits, not numbers: NaN would differ from itself, and −0 is not 0 to the next division.
        before = np.ascontiguousarray(base[:n_rows]).view(np.int64)
        after = np.ascontiguousarray(replayed[:n_rows]).view(np.int64)
        compared += before.size
        changed += int((before != after).sum())
    return compared, changed


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
