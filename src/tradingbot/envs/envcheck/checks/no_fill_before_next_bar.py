"""A price that has been seen cannot be traded at any more."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, play

_DECISION_BAR = 3
_STEPS_AFTER = 3  # room for environments that fill later still
_MIDDLE_CCY = (bars.PRICE_CCY + bars.GAP_PRICE_CCY) / 2


def judge(probe: EnvProbe) -> CheckOutcome:
    """Buy on the last bar before the price doubles; find the price that was paid."""
    wait = (Intent.HOLD,) * _DECISION_BAR
    script = (*wait, Intent.BUY, *(Intent.HOLD,) * _STEPS_AFTER, Intent.SELL, Intent.HOLD)
    trace = play(build(probe, bars.gap(_DECISION_BAR)), probe, script)
    paid = _price_paid(trace)
    return make_outcome(
        paid > _MIDDLE_CCY,
        f"filled at {paid:.2f}; {bars.PRICE_CCY:.0f} was in the observation, "
        f"{bars.GAP_PRICE_CCY:.0f} is the next bar",
        limit=bars.GAP_PRICE_CCY,
        observed=paid,
    )


def _price_paid(trace: Trace) -> float:
    """Read the fill price, else what cash bought how many units, else the round trip's gain."""
    bought = trace.moments[_DECISION_BAR + 1 : _DECISION_BAR + 2 + _STEPS_AFTER]
    for moment in bought:
        if moment.account.fill_price is not None:
            return moment.account.fill_price
    if trace.knows("cash") and trace.knows("units"):
        cash, units = trace.read("cash"), trace.read("units")
        for step in range(_DECISION_BAR, _DECISION_BAR + 1 + _STEPS_AFTER):
            gained = units[step + 1] - units[step]
            if gained > 0.0:
                return (cash[step] - cash[step + 1]) / gained
        raise CannotTell("nothing was bought")
    before, after = trace.moments[0].account.equity, trace.last.account.equity
    if before is None or after is None:
        raise CannotTell("neither fill price, nor cash and units, nor equity is told")
    return bars.GAP_PRICE_CCY * INITIAL_CASH_CCY / (INITIAL_CASH_CCY + after - before)


CHECK = EnvCheck(
    id="no_fill_before_next_bar",
    promise="An order decided on a bar's close is filled in a later bar, at that bar's prices.",
    scenario="The price is 100 up to the decision and 200 from the next bar on; buy in between. "
    "No costs.",
    remedy="Fill at the next bar's open (or later), then mark at its close.",
    judge=judge,
)
