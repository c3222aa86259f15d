"""The same seed is the same episode, and a new episode knows nothing of the one before."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, declare_check, make_outcome
from tradingbot.envs.envcheck.probe import EnvProbe, Intent
from tradingbot.envs.envcheck.trace import SEED, Moment, build, first_difference, play, same

_EQUAL_RESETS = 4
_SCRIPT = (Intent.ANY,) * 24
_DRAWN_RESETS = 50
_FORMER_EPISODES = 6


@declare_check(
    promise="reset(seed) decides everything that is drawn: same seed, same actions, same episode.",
    scenario="reset(seed=7) four times, then the same seeded actions three times, once in a fresh "
    "environment; start and balance are drawn where the environment can draw them.",
    remedy="Draw from self.np_random, which reset(seed) seeds; never from a global generator.",
    needs_dictation=False,
)
def seed_determinism(probe: EnvProbe) -> CheckOutcome:
    """Reset four times and play twice with one seed, in one environment and in a fresh one."""
    env = build(probe, bars.stairs(), varied=True)
    distinct: list[Moment] = []
    for _ in range(_EQUAL_RESETS):
        start = play(env, probe, ()).moments[0]
        if not any(
            same(start.observation, known.observation) and start.account == known.account
            for known in distinct
        ):
            distinct.append(start)
    if len(distinct) > 1:
        says = f"reset(seed={SEED}) gave {len(distinct)} different starts in {_EQUAL_RESETS}"
        return make_outcome(False, says, limit=1.0, observed=float(len(distinct)))
    first, *others = (play(env, probe, _SCRIPT), play(env, probe, _SCRIPT))
    others.append(play(build(probe, bars.stairs(), varied=True), probe, _SCRIPT))
    for other in others:
        moment = first_difference(first, other)
        if moment is not None:
            says = f"two runs with seed {SEED} part at step {moment}"
            return make_outcome(False, says, limit=1.0, observed=2.0)
    says = f"{_EQUAL_RESETS} equal starts, 3 equal runs"
    return make_outcome(True, says, limit=1.0, observed=1.0)


@declare_check(
    promise="After reset nothing is left of the episode before.",
    scenario="One episode twice on alternating prices; and on a flat price, where starts are "
    "drawn, 50 resets after six long episodes against 50 resets of a fresh environment.",
    remedy="Rebuild in reset every array and counter that step writes to.",
    needs_dictation=False,
)
def no_bleeding_between_episodes(probe: EnvProbe) -> CheckOutcome:
    """Play an episode twice; then compare starts after long episodes with starts of a fresh one."""
    script: tuple[Intent, ...] = (Intent.ANY,) * (2 * bars.N_BARS)
    if probe.dictates:
        script = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL, Intent.BUY) * bars.N_BARS
    env = build(probe, bars.alternate(), fee_frac=0.001)
    moment = first_difference(play(env, probe, script), play(env, probe, script))
    if moment is not None:
        says = f"the second episode departs from the first at step {moment}"
        return make_outcome(False, says, limit=0, observed=1)
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
    for seed in range(_DRAWN_RESETS):
        start, clean, again = (
            play(env, probe, (), seed=seed).moments[0].observation for env in (used, fresh, control)
        )
        if not same(clean, again):
            says = "two episodes alike from a fixed start; drawn starts not told"
            return make_outcome(True, says)
        stained += not same(start, clean)
    says = f"{stained} of {_DRAWN_RESETS} starts show something of former episodes"
    return make_outcome(stained == 0, says, limit=0, observed=stained)
