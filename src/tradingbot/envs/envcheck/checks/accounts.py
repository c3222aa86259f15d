"""Promises of the account: cash, equity, fees and interest, each against a known answer."""

from __future__ import annotations

from itertools import pairwise

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, declare_check, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, mark, play

_FEE_FRAC = 0.001
_TOLERANCE_CCY = 1e-6 * INITIAL_CASH_CCY  # float32 rounding of the whole account
_LIMIT_FRAC = 1e-6  # of initial cash: several float32 roundings
_FLIPS = 20  # round trips
_MATERIAL_FRAC = 1e-6  # of what a ride on rising prices earns: less is rounding
# Fee on the value before or after it is taken, in money or in units: the same to first order.
_FEE_TOLERANCE_FRAC = 0.01
_ALL_IN_TOLERANCE_FRAC = 0.05  # where units are not told, whole shares may be left uninvested
_BORROW_FRAC = 0.001
_BORROW_STEPS = 100
# A bar more or less at either end, and interest on interest or not.
_BORROW_TOLERANCE_FRAC = 0.1


@declare_check(
    promise="A long-only account never has negative cash.",
    scenario="Buy all and buy again, hold, sell, on flat, gapping and alternating prices, fee "
    "0.1 %; the price may have doubled when the order is filled.",
    remedy="Cut a buy to cash / (fill price · (1 + fee)) at the fill, not at the decision.",
)
def cash_never_negative(probe: EnvProbe) -> CheckOutcome:
    """Buy with all cash where fees and a gap want more than there is; find the least cash."""
    script = (Intent.BUY, Intent.BUY, Intent.HOLD, Intent.SELL) * 8
    markets = {
        "flat": bars.flat(),
        "gap up": bars.gap(0),
        "alternate": bars.alternate(),
        "gap down": bars.gap(2, price_after=bars.PRICE_CCY / 2),
    }
    least, where = INITIAL_CASH_CCY, "flat"
    for name, prices in markets.items():
        found = min(play(build(probe, prices, fee_frac=_FEE_FRAC), probe, script).read("cash"))
        if found < least:
            least, where = found, name
    says = f"least cash {round(least, 2) + 0.0:.2f} ({where})"
    return make_outcome(least >= -_TOLERANCE_CCY, says, limit=0.0, observed=least)


@declare_check(
    promise="Equity is cash plus units times the last close, at every step.",
    scenario="Buy, hold, sell on rising and alternating prices, fee 0.1 %.",
    remedy="Derive equity from cash, units and the mark; store none of the three twice.",
)
def equity_identity(probe: EnvProbe) -> CheckOutcome:
    """Compare equity with cash + units · close at every moment of two markets."""
    script = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL, Intent.HOLD) * 6
    worst = 0.0
    for prices in (bars.stairs(), bars.alternate()):
        market = bars.dictate(prices, lead_bars=probe.lead_bars)
        trace = play(build(probe, prices, fee_frac=_FEE_FRAC), probe, script)
        rows = zip(trace.read("equity"), trace.read("cash"), trace.read("units"), strict=True)
        for moment, (equity, cash, units) in enumerate(rows):
            gap = abs(equity - cash - units * mark(market, probe, moment)) / INITIAL_CASH_CCY
            worst = max(worst, gap)
    says = f"largest gap {worst:.1e} of the initial cash"
    return make_outcome(worst <= _LIMIT_FRAC, says, limit=_LIMIT_FRAC, observed=worst)


@declare_check(
    promise="Every trade costs its fee, and the reward shows it.",
    scenario="Flat price, fee 0.1 %, buy all and sell all in turn for 40 steps: equity falls by "
    "the fees, and the rewards sum to less than those of the same actions without fees.",
    remedy="Take the fee off cash at the fill and compute the reward from equity after it.",
)
def fees_charged(probe: EnvProbe) -> CheckOutcome:
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
        says = f"equity fell by {fall:.2f}, fees are {expected:.2f}"
        return make_outcome(False, says, limit=expected, observed=fall)
    paying, spared = sum(trace.rewards), sum(free.rewards)
    says = (
        f"equity fell by {fall:.2f} of {expected:.2f}; rewards sum to {paying:.4g}, "
        f"without fees to {spared:.4g}"
    )
    feels = spared - paying > _MATERIAL_FRAC * _usual_reward(probe)
    return make_outcome(feels, says, limit=spared, observed=paying)


def _usual_reward(probe: EnvProbe) -> float:
    """Return the size of the rewards of one ride on a rising price, the unit to judge others by."""
    script = (Intent.BUY, *(Intent.HOLD,) * _FLIPS, Intent.SELL)
    return sum(abs(reward) for reward in play(build(probe, bars.stairs()), probe, script).rewards)


def _known_fees(trace: Trace) -> tuple[float, float]:
    """Return the fees of the trades seen, and the tolerance; all-in trades where not seen."""
    if trace.knows("units"):
        traded = sum(abs(b - a) for a, b in pairwise(trace.read("units")))
        if traded == 0.0:
            raise CannotTell("no trade happened")
        return _FEE_FRAC * traded * bars.PRICE_CCY, _FEE_TOLERANCE_FRAC
    kept = (1.0 - _FEE_FRAC) ** (len(trace.moments) - 1)
    return INITIAL_CASH_CCY * (1.0 - kept), _ALL_IN_TOLERANCE_FRAC


@declare_check(
    promise="A short pays interest for every bar it is held.",
    scenario="Flat price, borrow 0.1 % per bar, go short and hold for 100 steps.",
    remedy="Add each bar's interest to what is owed (or take it off cash); do not overwrite it.",
)
def borrow_accrues(probe: EnvProbe) -> CheckOutcome:
    """Short on a flat price and hold; compare the fall of equity with the interest."""
    script = (Intent.SHORT, *(Intent.HOLD,) * (_BORROW_STEPS - 1))
    env = build(probe, bars.flat(_BORROW_STEPS + 8), borrow_frac=_BORROW_FRAC)
    trace = play(env, probe, script)
    equity = trace.read("equity")
    short = [max(-units, 0.0) * bars.PRICE_CCY for units in trace.read("units")]
    if max(short) == 0.0:
        raise CannotTell("no short was opened")
    expected, fall = _BORROW_FRAC * sum(short), equity[0] - equity[-1]
    says = f"equity fell by {fall:.2f} in {len(equity) - 1} steps, interest is {expected:.2f}"
    near = abs(fall - expected) <= _BORROW_TOLERANCE_FRAC * expected
    return make_outcome(near, says, limit=expected, observed=fall)
