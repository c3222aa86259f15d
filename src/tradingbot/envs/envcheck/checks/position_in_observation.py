"""An agent must know what it holds."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, flatten, play

_STEPS = 4


def judge(probe: EnvProbe) -> CheckOutcome:
    """Hold a position in one of two equal markets; count the numbers by which they look apart."""
    idle = play(build(probe, bars.flat()), probe, (Intent.HOLD,) * _STEPS)
    invested = play(build(probe, bars.flat()), probe, (Intent.BUY, *(Intent.HOLD,) * (_STEPS - 1)))
    if invested.knows("units") and invested.last.account.units == idle.last.account.units:
        raise CannotTell("nothing was bought")
    seen, other = flatten(idle.last.observation), flatten(invested.last.observation)
    differing = int((seen != other).sum()) if seen.shape == other.shape else len(other)
    return make_outcome(
        differing > 0,
        f"{differing} of {len(seen)} numbers differ between flat and invested",
        limit=1.0,
        observed=float(differing),
    )


CHECK = EnvCheck(
    id="position_in_observation",
    promise="Two accounts with different positions in the same market look different.",
    scenario="Flat price, no costs; one account buys, the other does not; compare after 4 steps.",
    remedy="Put position, entry and cash into the observation: fees and exits depend on them.",
    judge=judge,
)
