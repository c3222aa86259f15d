"""What has been seen cannot be traded at any more, and what has not happened cannot be seen."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, declare_check, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, play, same

_DECISION_BARS = range(3, 13)  # a fault at every tenth bar, or at every one, meets one of them
_STEPS_AFTER = 3  # room for environments that fill later still
_MIDDLE_CCY = (bars.PRICE_CCY + bars.GAP_PRICE_CCY) / 2
_CUTS = (*range(24), 33, 41, 52)  # every phase of a fault that comes back within 24 bars
_FALL, _RISE = 0.5, 1.7
_RISE_CUTS = (0, 7, 20)  # the price rises anyway: a fall shows more


@declare_check(
    promise="An order decided on a bar's close is filled in a later bar, at that bar's prices.",
    scenario="The price is 100 up to the decision and 200 from the next bar on, which opens at "
    "180; buy in between, at ten bars in turn. No costs.",
    remedy="Fill at the next bar's open (or later), then mark at its close.",
)
def no_fill_before_next_bar(probe: EnvProbe) -> CheckOutcome:
    """Buy on the last bar before the price doubles; find the lowest price that was paid."""
    paid = min(_price_paid_at(probe, bar) for bar in _DECISION_BARS)
    says = (
        f"filled at {paid:.2f}; {bars.PRICE_CCY:.0f} was in the observation, "
        f"{bars.GAP_PRICE_CCY:.0f} is the next bar"
    )
    return make_outcome(paid > _MIDDLE_CCY, says, limit=bars.GAP_PRICE_CCY, observed=paid)


def _price_paid_at(probe: EnvProbe, bar: int) -> float:
    wait = (Intent.HOLD,) * bar
    script = (*wait, Intent.BUY, *(Intent.HOLD,) * _STEPS_AFTER, Intent.SELL, Intent.HOLD)
    return _price_paid(play(build(probe, bars.gap(bar)), probe, script), bar)


def _price_paid(trace: Trace, decision: int) -> float:
    """Read the fill price, else what cash bought how many units, else the round trip's gain."""
    bought = trace.moments[decision + 1 : decision + 2 + _STEPS_AFTER]
    for moment in bought:
        if moment.account.fill_price is not None:
            return moment.account.fill_price
    if trace.knows("cash") and trace.knows("units"):
        cash, units = trace.read("cash"), trace.read("units")
        for step in range(decision, decision + 1 + _STEPS_AFTER):
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
    scenario="A rising price, and copies of it with all prices and volumes after a cut halved, or "
    "raised; compare everything up to the cut, for 27 cuts, 24 of them bar after bar.",
    remedy="Fit scalers on training data before the environment, and window features to the left.",
)
def future_not_in_observation(probe: EnvProbe) -> CheckOutcome:
    """Change every bar after a cut; nothing seen up to the cut may change."""
    market = bars.dictate(bars.stairs(), lead_bars=probe.lead_bars)
    script = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL) * 16
    as_it_was = play(build(probe, market), probe, script[: max(_CUTS)])
    changed = compared = 0
    futures = [(cut, _FALL) for cut in _CUTS] + [(cut, _RISE) for cut in _RISE_CUTS]
    for cut, factor in futures:
        other = bars.with_other_future(market, probe.lead_bars + cut, factor)
        made = play(build(probe, other), probe, script[:cut])
        pairs = list(zip(as_it_was.moments[: cut + 1], made.moments[: cut + 1], strict=True))
        compared += len(pairs)
        equal = (same(a.observation, b.observation) and a.reward == b.reward for a, b in pairs)
        changed += len(pairs) - sum(equal)
    says = f"{changed} of {compared} observations moved with prices not yet seen"
    return make_outcome(changed == 0, says, limit=0, observed=changed)
