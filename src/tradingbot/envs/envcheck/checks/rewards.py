"""The reward is what it says it is, at every step, the last included."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, declare_check, make_outcome
from tradingbot.envs.envcheck.probe import CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, play

_FEE_FRAC = 0.001
_LIMIT_FRAC = 1e-3  # of the median reward: float32 rewards of small differences
_MOVED_BARS = range(3, 13)
_SCRIPT = (Intent.BUY, *(Intent.HOLD,) * 9, Intent.SELL, Intent.HOLD, Intent.BUY) * 3

_KINDS: dict[str, Callable[[float, float], float]] = {
    "change of equity": lambda before, after: after - before,
    "return of equity": lambda before, after: after / before - 1.0,
    "log return of equity": lambda before, after: math.log(after / before),
}


class _Fit(NamedTuple):
    kind: str
    misfit: NDArray[np.float64]
    """(steps,) distance of reward and explanation, of the median reward."""
    explained: NDArray[np.float64]
    """(steps,) what the reward would be."""


@declare_check(
    promise="The reward is the sum of its declared terms or one multiple of the change of equity, "
    "and the last step is no exception.",
    scenario="Buy, ride, sell on a price that rises at every bar, fee 0.1 %, to the last bar.",
    remedy="Return the terms in info and sum them; add no terminal bonus that is not a term.",
)
def reward_is_declared_terms(probe: EnvProbe) -> CheckOutcome:
    """Trade and ride a rising price to the last bar; explain every reward."""
    script = (*_SCRIPT, *(Intent.HOLD,) * bars.N_BARS)
    trace = play(build(probe, bars.stairs(), fee_frac=_FEE_FRAC), probe, script)
    if all(moment.reward_terms is not None for moment in trace.moments[1:]):
        return _judge_terms(trace)
    return _judge_equity(trace)


def _judge_terms(trace: Trace) -> CheckOutcome:
    worst = 0.0
    for moment in trace.moments[1:]:
        total = math.fsum((moment.reward_terms or {}).values())
        worst = max(worst, abs(moment.reward - total) / max(abs(total), 1.0))
    says = f"reward and declared terms differ by {worst:.1e} at most"
    return make_outcome(worst <= _LIMIT_FRAC, says, limit=_LIMIT_FRAC, observed=worst)


def _judge_equity(trace: Trace) -> CheckOutcome:
    """Without terms: one multiple of one measure of equity must explain all rewards."""
    equity = trace.read("equity")
    rewards = np.array(trace.rewards)
    size = float(np.median(np.abs(rewards)))
    best = _Fit("", np.full(len(rewards), math.inf), rewards)
    for kind, measure in _KINDS.items():
        known = np.array([measure(a, b) for a, b in pairwise(equity)])
        moved = known != 0.0
        scale = float(np.median(rewards[moved] / known[moved])) if moved.any() else 0.0
        misfit = np.abs(rewards - scale * known) / (size or 1.0)
        if np.median(misfit) < np.median(best.misfit):
            best = _Fit(kind, misfit, scale * known)
    worst = int(np.argmax(best.misfit))
    place = "the last step" if worst == len(rewards) - 1 else f"step {worst + 1}"
    holds = bool(best.misfit[worst] <= _LIMIT_FRAC)
    says = f"reward is a multiple of the {best.kind}"
    if not holds:
        says += f", but at {place}: {rewards[worst]:.4g} for {best.explained[worst] + 0.0:.4g}"
    return make_outcome(holds, says, limit=_LIMIT_FRAC, observed=float(best.misfit[worst]))


@declare_check(
    promise="The reward of a step feels the close of the bar that the step ends on.",
    scenario="Buy and hold a rising price; copies of it in which one bar closes half way to its "
    "open and nothing else is changed, for ten bars. Where equity moves at that bar, so does the "
    "reward.",
    remedy="Compute the reward after the account is marked at the new close, from no older price.",
)
def reward_is_of_this_bar(probe: EnvProbe) -> CheckOutcome:
    """Move one close; find rewards that do not move with the equity of their own step."""
    market = bars.dictate(bars.stairs(), lead_bars=probe.lead_bars)
    script = (Intent.BUY, *(Intent.HOLD,) * max(_MOVED_BARS))
    as_it_was = play(build(probe, market), probe, script)
    felt, moved = 0, 0
    for bar in _MOVED_BARS:
        other = bars.with_other_close(market, probe.lead_bars + bar)
        made = play(build(probe, other), probe, script[:bar])
        before, after = as_it_was.moments[bar], made.moments[bar]
        if before.account.equity is None or after.account.equity is None:
            raise CannotTell("the environment does not tell its equity while invested")
        if before.account.equity != after.account.equity:
            moved += 1
            felt += before.reward != after.reward
    if not moved:
        raise CannotTell("equity did not move with the close")
    says = f"{felt} of {moved} rewards moved with the close of their bar"
    return make_outcome(felt == moved, says, limit=moved, observed=felt)
