"""What has been seen cannot be traded at any more, and what has not happened cannot be seen."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, declare_check, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, play, same

_DECISION_BAR = 3
_STEPS_AFTER = 3  # room for environments that fill later still
_MIDDLE_CCY = (bars.PRICE_CCY + bars.GAP_PRICE_CCY) / 2
_CUTS = (0, 1, 7, 20, 41)
_FACTORS = (0.5, 1.7)


@declare_check(
    promise="An order decided on a bar's close is filled in a later bar, at that bar's prices.",
    scenario="The price is 100 up to the decision and 200 from the next bar on; buy in between. "
    "No costs.",
    remedy="Fill at the next bar's open (or later), then mark at its close.",
)
def no_fill_before_next_bar(probe: EnvProbe) -> CheckOutcome:
    """Buy on the last bar before the price doubles; find the price that was paid."""
    wait = (Intent.HOLD,) * _DECISION_BAR
    script = (*wait, Intent.BUY, *(Intent.HOLD,) * _STEPS_AFTER, Intent.SELL, Intent.HOLD)
    paid = _price_paid(play(build(probe, bars.gap(_DECISION_BAR)), probe, script))
    says = (
        f"filled at {paid:.2f}; {bars.PRICE_CCY:.0f} was in the observation, "
        f"{bars.GAP_PRICE_CCY:.0f} is the next bar"
    )
    return make_outcome(paid > _MIDDLE_CCY, says, limit=bars.GAP_PRICE_CCY, observed=paid)


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


@declare_check(
    promise="Observation and reward depend on bars up to the present one only.",
    scenario="A rising price, and copies of it with all bars after a cut changed; compare "
    "everything up to the cut, for five cuts.",
    remedy="Fit scalers on training data before the environment, and window features to the left.",
)
def future_not_in_observation(probe: EnvProbe) -> CheckOutcome:
    """Change every bar after a cut; nothing seen up to the cut may change."""
    prices = bars.stairs()
    script = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL) * 16
    as_it_was = play(build(probe, prices), probe, script[: max(_CUTS)])
    changed = compared = 0
    for cut in _CUTS:
        for factor in _FACTORS:
            other = [price * (factor if bar > cut else 1.0) for bar, price in enumerate(prices)]
            made = play(build(probe, other), probe, script[:cut])
            pairs = list(zip(as_it_was.moments[: cut + 1], made.moments[: cut + 1], strict=True))
            compared += len(pairs)
            equal = (same(a.observation, b.observation) and a.reward == b.reward for a, b in pairs)
            changed += len(pairs) - sum(equal)
    says = f"{changed} of {compared} observations moved with prices not yet seen"
    return make_outcome(changed == 0, says, limit=0, observed=changed)
