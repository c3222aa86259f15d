"""Equity is what is in the account, and nothing else."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, mark, play

_FEE_FRAC = 0.001
_LIMIT_FRAC = 1e-6  # of initial cash: several float32 roundings
_SCRIPT = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL, Intent.HOLD) * 6


def judge(probe: EnvProbe) -> CheckOutcome:
    """Compare equity with cash + units · close at every moment of two markets."""
    worst = 0.0
    for prices in (bars.stairs(), bars.alternate()):
        market = bars.dictate(prices, lead_bars=probe.lead_bars)
        trace = play(build(probe, prices, fee_frac=_FEE_FRAC), probe, _SCRIPT)
        rows = zip(trace.read("equity"), trace.read("cash"), trace.read("units"), strict=True)
        for moment, (equity, cash, units) in enumerate(rows):
            gap = abs(equity - cash - units * mark(market, probe, moment)) / INITIAL_CASH_CCY
            worst = max(worst, gap)
    return make_outcome(
        worst <= _LIMIT_FRAC,
        f"largest gap {worst:.1e} of the initial cash",
        limit=_LIMIT_FRAC,
        observed=worst,
    )


CHECK = EnvCheck(
    id="equity_identity",
    promise="Equity is cash plus units times the last close, at every step.",
    scenario="Buy, hold, sell on rising and alternating prices, fee 0.1 %.",
    remedy="Derive equity from cash, units and the mark; store none of the three twice.",
    judge=judge,
)
