"""An episode that is over is over."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, play

_MOST_STEPS = 2000


def judge(probe: EnvProbe) -> CheckOutcome:
    """Play to the end and take one step more."""
    intent = Intent.HOLD if probe.dictates else Intent.ANY
    env = build(probe, bars.flat())
    trace = play(env, probe, (intent,) * _MOST_STEPS)
    if not trace.ended:
        raise CannotTell(f"the episode did not end within {_MOST_STEPS} steps")
    try:
        _, reward, terminated, truncated, _ = env.step(probe.action(intent, env))
    except CannotTell:
        raise
    except Exception as e:
        return make_outcome(True, f"refused with {type(e).__name__}")
    return make_outcome(
        False,
        f"accepted: reward {float(reward):.4g}, terminated={bool(terminated)}, "
        f"truncated={bool(truncated)}",
        limit=0.0,
        observed=1.0,
    )


CHECK = EnvCheck(
    id="step_after_end_refused",
    promise="A step after the end of an episode raises instead of inventing a transition.",
    scenario="Flat price, hold to the end, one step more.",
    remedy="Remember that the episode ended and raise until reset is called.",
    judge=judge,
    needs_dictation=False,
)
