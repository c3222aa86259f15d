"""Cash of a long-only account is never negative."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, play

_FEE_FRAC = 0.001
_TOLERANCE_CCY = 1e-6 * INITIAL_CASH_CCY  # float32 rounding of the whole account
_SCRIPT = (Intent.BUY, Intent.BUY, Intent.HOLD, Intent.SELL) * 8


def judge(probe: EnvProbe) -> CheckOutcome:
    """Buy with all cash where fees and a gap want more than there is; find the least cash."""
    markets = {
        "flat": bars.flat(),
        "gap up": bars.gap(0),
        "alternate": bars.alternate(),
        "gap down": bars.gap(2, price_after=bars.PRICE_CCY / 2),
    }
    least, where = INITIAL_CASH_CCY, "flat"
    for name, prices in markets.items():
        found = min(play(build(probe, prices, fee_frac=_FEE_FRAC), probe, _SCRIPT).read("cash"))
        if found < least:
            least, where = found, name
    return make_outcome(
        least >= -_TOLERANCE_CCY,
        f"least cash {round(least, 2) + 0.0:.2f} ({where})",
        limit=0.0,
        observed=least,
    )


CHECK = EnvCheck(
    id="cash_never_negative",
    promise="A long-only account never has negative cash.",
    scenario="Buy all and buy again, hold, sell, on flat, gapping and alternating prices, fee "
    "0.1 %; the price may have doubled when the order is filled.",
    remedy="Cut a buy to cash / (fill price · (1 + fee)) at the fill, not at the decision.",
    judge=judge,
)
