"""Running out of bars is not ruin."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, play

_SLACK_STEPS = 2  # some environments take one step more than there are bars


def judge(probe: EnvProbe) -> CheckOutcome:
    """Hold on a flat price until the bars are used up and look at the two flags."""
    env = build(probe, bars.flat())
    trace = play(env, probe, (Intent.HOLD,) * (bars.N_BARS + _SLACK_STEPS))
    last, steps = trace.last, len(trace.moments) - 1
    return make_outcome(
        last.truncated and not last.terminated,
        f"after {steps} steps terminated={last.terminated}, truncated={last.truncated}",
    )


CHECK = EnvCheck(
    id="truncated_is_not_terminated",
    promise="The end of the data is a truncation, so that value targets bootstrap from it.",
    scenario="Flat price, hold to the last bar.",
    remedy="Return truncated=True at the end of the data; keep terminated for ruin or a goal.",
    judge=judge,
)
