"""Fees leave the account, and the learner feels them."""

from __future__ import annotations

from itertools import pairwise

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, play

_FEE_FRAC = 0.001
_FLIPS = 20  # round trips
_MATERIAL_FRAC = 1e-6  # of what a ride on rising prices earns: less is rounding
# Fee on the value before or after it is taken, in money or in units: the same to first order.
_TOLERANCE_FRAC = 0.01
_ALL_IN_TOLERANCE_FRAC = 0.05  # where units are not told, whole shares may be left uninvested


def judge(probe: EnvProbe) -> CheckOutcome:
    """Flip the position at every step on a flat price; compare equity and reward with the fees."""
    script = (Intent.BUY, Intent.SELL) * _FLIPS
    trace = play(build(probe, bars.flat(), fee_frac=_FEE_FRAC), probe, script)
    free = play(build(probe, bars.flat()), probe, script)
    before, after = trace.moments[0].account.equity, trace.last.account.equity
    if before is None or after is None:
        raise CannotTell("the environment does not tell its equity while flat")
    expected, tolerance_frac = _known_fees(trace)
    fall = before - after
    if not abs(fall - expected) <= tolerance_frac * expected:
        return make_outcome(
            False,
            f"equity fell by {fall:.2f}, fees are {expected:.2f}",
            limit=expected,
            observed=fall,
        )
    paying, spared = sum(trace.rewards), sum(free.rewards)
    return make_outcome(
        spared - paying > _MATERIAL_FRAC * _usual_reward(probe),
        f"equity fell by {fall:.2f} of {expected:.2f}; rewards sum to {paying:.4g}, "
        f"without fees to {spared:.4g}",
        limit=spared,
        observed=paying,
    )


def _usual_reward(probe: EnvProbe) -> float:
    """Return the size of the rewards of one ride on a rising price, the unit to judge others by."""
    script = (Intent.BUY, *(Intent.HOLD,) * _FLIPS, Intent.SELL)
    return sum(abs(reward) for reward in play(build(probe, bars.stairs()), probe, script).rewards)


def _known_fees(trace: Trace) -> tuple[float, float]:
    """Return the fees of the trades seen, and the tolerance; all-in trades where not seen."""
    if trace.knows("units"):
        units = trace.read("units")
        traded = sum(abs(b - a) for a, b in pairwise(units))
        if traded == 0.0:
            raise CannotTell("no trade happened")
        return _FEE_FRAC * traded * bars.PRICE_CCY, _TOLERANCE_FRAC
    kept = (1.0 - _FEE_FRAC) ** (len(trace.moments) - 1)
    return INITIAL_CASH_CCY * (1.0 - kept), _ALL_IN_TOLERANCE_FRAC


CHECK = EnvCheck(
    id="fees_charged",
    promise="Every trade costs its fee, and the reward shows it.",
    scenario="Flat price, fee 0.1 %, buy all and sell all in turn for 40 steps: equity falls by "
    "the fees, and the rewards sum to less than those of the same actions without fees.",
    remedy="Take the fee off cash at the fill and compute the reward from equity after it.",
    judge=judge,
)
