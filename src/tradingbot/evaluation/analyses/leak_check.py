"""Could the policy have seen the future? Replays with another future, and decisions that come late.

The proof is of the whole way from bars to actions. Bars after a cut are changed and every feature,
regime and probability is computed anew from them; then everything later is replaced once more, and
the policy is opened anew, encoder included. Whatever lies before the cut, numbers and actions, must
be the same to the last bit. Besides, every number is made again one bar at a time.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.past_comparison import (
    SEEN,
    Compared,
    changed_bits,
    compare_own_past,
    compare_past,
)
from tradingbot.evaluation.analyses.performance import Performance
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.settings import LeakCheckSettings
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest
from tradingbot.evaluation.backtest.look_ahead import with_other_future
from tradingbot.evaluation.dossier.evidence import LeakCheck
from tradingbot.evaluation.performance.measure import is_better
from tradingbot.evaluation.performance.record import AGENTS, ORACLE

_FEWEST_ROUNDS = 7
"""However many symbols: one for each hourly bar of a day."""
_SYMBOL_ROUNDS = 480
"""Rounds times symbols above which rounds become fewer: 143 symbols take seconds each time."""


def measure_leak_check(inputs: AnalysisInputs, settings: LeakCheckSettings) -> LeakCheck:
    """Replay, delay, and compare with the oracle."""
    subject = inputs.subject
    performance: Performance = inputs.results["performance"]
    counterfactual, unread = _counterfactual_data(subject)
    compared = compare_replays(inputs, settings.cuts, counterfactual)
    if counterfactual is not None:
        compared += compare_features(inputs, settings, counterfactual)
    # An oracle of equal sleeves is no bound on a master, who may give all capital to one.
    better = not isinstance(subject, PortfolioRun) and beats_oracle(performance)
    words = [*compared.words()]
    certificate = subject.data.identity.certificate_sha256
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
        features_unread=unread,
    )


def beats_oracle(performance: Performance) -> bool:
    """Compare differences, not the share: an oracle that earns little has a share without end.

    One that may do less than the agents is no bound on them. Over few bars an oracle may lose by
    bad luck; agents that lose less, or stay out, earn nothing that only the future could tell. Both
    net return and alpha must be more: holding more of a market that rises is no foresight.
    """
    oracle = [each for each in performance.test_series if each.policy == ORACLE]
    mine = performance.series(AGENTS)
    for earned in ("sleeves", "alpha"):
        own = np.array(getattr(mine, earned))
        others = [np.zeros_like(own), *(np.array(getattr(each, earned)) for each in oracle[:1])]
        if not all(is_better(own, other) for other in others):
            return False
    return bool(oracle)


def compare_features(
    inputs: AnalysisInputs, settings: LeakCheckSettings, counterfactual: CounterfactualData
) -> Compared:
    """Compute features anew: bar by bar, and with another future from some bar on.

    Bar by bar, every value that agents see, whatever its bar and part, is compared with one that
    was made without the bars after it. Then the future is changed at the last bars before parts of
    the split and on half days, and after a bar of each symbol's own.
    """
    subject = inputs.subject
    whole = subject.data.whole
    found = compare_past(whole, counterfactual.bar_by_bar(), whole.n_bars - 1)
    for cut in counterfactual.special_cuts():
        everywhere = np.full(whole.n_symbols, cut, dtype=np.int64)
        remade = counterfactual.another_future(everywhere, number=cut)
        found += compare_past(whole, remade, cut)
    rounds = min(settings.feature_rounds, max(_FEWEST_ROUNDS, _SYMBOL_ROUNDS // whole.n_symbols))
    planned = staggered_cuts(subject.bars("test"), whole.n_symbols, rounds)
    for index, cuts in enumerate(planned):
        inputs.progress(index, len(planned), "features with another future")
        remade = counterfactual.another_future(cuts, number=settings.cuts + index)
        found += compare_past(whole, remade, int(cuts.min()))
        found += compare_own_past(whole, remade, cuts, counterfactual.own_names)
    return found


def staggered_cuts(bars: IndexRange, n_symbols: int, rounds: int) -> NDArray[np.int64]:
    """Choose the last bar that stays, of each round and symbol: (R, N) within `bars`.

    Every other symbol of a round is cut at one bar, so that what is made of many symbols moves; the
    others follow one bar apart, so that rounds meet more bars. Rounds lie a prime number of bars
    apart, above R: it has no divisor in common with a period of R bars or fewer, so that R rounds
    meet every phase of it, in every symbol. In too short a part they lie one bar apart.
    """
    last, width = bars.stop - 2, max(1, min(n_symbols // 2 + 1, len(bars) // 2))
    room = last - bars.start - width + 1
    farthest = room // max(1, rounds - 1)
    step = next((each for each in range(farthest, rounds, -1) if _is_prime(each)), 1)
    anchors = last - width + 1 - step * np.arange(min(rounds, room // step + 1))
    symbols = np.arange(n_symbols)
    later = np.where(symbols % 2, symbols // 2 + 1, 0) % width
    return np.asarray(anchors[:, None] + later, dtype=np.int64)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % each for each in range(2, math.isqrt(number) + 1))


def compare_replays(
    inputs: AnalysisInputs, cuts: int, counterfactual: CounterfactualData | None
) -> Compared:
    """Compute features and replay the test part with other futures; count what changed.

    Without counterfactual data features stay those that were stored, uncompared.
    """
    subject = inputs.subject
    bars = subject.bars("test")
    base = decisions_of(subject.backtest("test"))
    # Spread over the part; a decision at the cut itself must not change either.
    places = np.unique(np.linspace(0, len(bars) - 2, cuts + 1).astype(int)[1:])
    found = Compared()
    for number, place in enumerate(places):
        inputs.progress(number, len(places), "replays with another future")
        cut = bars.start + int(place)
        whole = subject.data.whole
        if counterfactual is not None:
            everywhere = np.full(whole.n_symbols, cut, dtype=np.int64)
            remade = counterfactual.another_future(everywhere, number=number)
            found += compare_past(whole, remade, cut)
            whole = _with_past(whole, remade, cut)
        replayed = _replay(subject, with_other_future(whole, cut), cut)
        n_rows = min(cut - bars.start + 1, len(replayed))
        changed = changed_bits(base[:n_rows], replayed[:n_rows])
        found += Compared(actions=changed.size, actions_changed=int(changed.sum()))
    return found


def _counterfactual_data(subject: EvaluatedRun) -> tuple[CounterfactualData | None, str]:
    """Return what computes features anew, or why nothing does."""
    try:
        return CounterfactualData(subject), ""
    except StorageError as e:  # the panel is there, the bars that it was made of are not
        return None, str(e)


def _with_past(world: World, past: World, cut: int) -> World:
    """Take what agents see up to a cut from another world of the same symbols and bars."""

    def joined(name: str) -> np.ndarray[Any, Any]:
        before, after = getattr(past, name)[:, : cut + 1], getattr(world, name)[:, cut + 1 :]
        return np.concatenate([before, after], axis=1)

    seen: dict[str, Any] = {name: joined(name) for name in SEEN}
    return replace(world, **seen)


def _replay(subject: EvaluatedRun, whole: World, cut: int) -> np.ndarray[Any, Any]:
    """Return what the policy decides (S, …), opened on another world, up to a cut."""
    bars = subject.bars("test")
    until = IndexRange(bars.start, min(cut + 2, bars.stop))
    return decisions_of(subject.on(whole).backtest(until))


def decisions_of(played: Backtest) -> NDArray[np.float64]:
    """Return what was decided at every close: actions of accounts; weights and what agents asked.

    A portfolio's chain decides twice: agents say what they want of their sleeves, the master how
    capital is divided among them.
    """
    if played.weights is None or played.proposals is None:
        return played.action
    return np.concatenate([played.weights, played.proposals], axis=1)


def _delayed(subject: EvaluatedRun, most: int) -> tuple[float, ...]:
    policies = [
        PolicyUnderTest(f"delay {delay}", subject.policy, delay_bars=delay)
        for delay in range(most + 1)
    ]
    played = subject.backtest_all(policies, "test")
    return tuple(1e4 * float(each.returns.mean()) for each in played)
