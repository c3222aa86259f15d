"""A new episode knows nothing of the one before."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import EnvProbe, Intent
from tradingbot.envs.envcheck.trace import SEED, build, first_difference, play, same

_RESETS = 50
_FORMER_EPISODES = 6


def judge(probe: EnvProbe) -> CheckOutcome:
    """Play an episode twice; then compare starts after long episodes with starts of a fresh one."""
    script: tuple[Intent, ...] = (Intent.ANY,) * (2 * bars.N_BARS)
    if probe.dictates:
        script = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL, Intent.BUY) * bars.N_BARS
    env = build(probe, bars.alternate(), fee_frac=0.001)
    first, second = play(env, probe, script), play(env, probe, script)
    moment = first_difference(first, second)
    if moment is not None:
        return make_outcome(
            False,
            f"the second episode departs from the first at step {moment}",
            limit=0,
            observed=1,
        )
    if probe.build_varied is None:
        return make_outcome(True, "two episodes alike", limit=0, observed=0)
    return _judge_starts(probe)


def _judge_starts(probe: EnvProbe) -> CheckOutcome:
    """Where starts are drawn: on a flat price a used environment must start like a fresh one."""
    used, fresh, control = (build(probe, bars.flat(), varied=True) for _ in range(3))
    script = (Intent.BUY, *(Intent.HOLD,) * bars.N_BARS)
    for episode in range(_FORMER_EPISODES):
        play(used, probe, script, seed=SEED + episode)
    stained = 0
    for seed in range(_RESETS):
        start, clean, again = (play(e, probe, (), seed=seed) for e in (used, fresh, control))
        if not same(clean.moments[0].observation, again.moments[0].observation):
            return make_outcome(
                True, "two episodes alike from a fixed start; drawn starts not told"
            )
        stained += not same(start.moments[0].observation, clean.moments[0].observation)
    return make_outcome(
        stained == 0,
        f"{stained} of {_RESETS} starts show something of former episodes",
        limit=0,
        observed=stained,
    )


CHECK = EnvCheck(
    id="no_bleeding_between_episodes",
    promise="After reset nothing is left of the episode before.",
    scenario="One episode twice on alternating prices; and on a flat price, where starts are "
    "drawn, 50 resets after six long episodes against 50 resets of a fresh environment.",
    remedy="Rebuild in reset every array and counter that step writes to.",
    judge=judge,
    needs_dictation=False,
)
