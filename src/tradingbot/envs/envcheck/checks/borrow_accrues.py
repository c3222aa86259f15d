"""A short pays for what it borrows, for as long as it borrows."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, play

_BORROW_FRAC = 0.001
_STEPS = 100
# A bar more or less at either end, and interest on interest or not.
_TOLERANCE_FRAC = 0.1


def judge(probe: EnvProbe) -> CheckOutcome:
    """Short on a flat price and hold; compare the fall of equity with the interest."""
    script = (Intent.SHORT, *(Intent.HOLD,) * (_STEPS - 1))
    env = build(probe, bars.flat(_STEPS + 8), borrow_frac=_BORROW_FRAC)
    trace = play(env, probe, script)
    equity = trace.read("equity")
    short = [max(-units, 0.0) * bars.PRICE_CCY for units in trace.read("units")]
    if max(short) == 0.0:
        raise CannotTell("no short was opened")
    expected, fall = _BORROW_FRAC * sum(short), equity[0] - equity[-1]
    steps = len(equity) - 1
    return make_outcome(
        abs(fall - expected) <= _TOLERANCE_FRAC * expected,
        f"equity fell by {fall:.2f} in {steps} steps, interest is {expected:.2f}",
        limit=expected,
        observed=fall,
    )


CHECK = EnvCheck(
    id="borrow_accrues",
    promise="A short pays interest for every bar it is held.",
    scenario="Flat price, borrow 0.1 % per bar, go short and hold for 100 steps.",
    remedy="Add each bar's interest to what is owed (or take it off cash); do not overwrite it.",
    judge=judge,
)
