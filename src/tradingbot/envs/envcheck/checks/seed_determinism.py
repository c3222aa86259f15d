"""The same seed is the same episode."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import EnvProbe, Intent
from tradingbot.envs.envcheck.trace import SEED, Moment, Trace, build, first_difference, play, same

_RESETS = 4
_SCRIPT = (Intent.ANY,) * 24


def judge(probe: EnvProbe) -> CheckOutcome:
    """Reset four times and play twice with one seed, in one environment and in a fresh one."""
    env = build(probe, bars.stairs(), varied=True)
    starts = [play(env, probe, ()).moments[0] for _ in range(_RESETS)]
    distinct = _count_distinct(starts)
    if distinct > 1:
        return make_outcome(
            False,
            f"reset(seed={SEED}) gave {distinct} different starts in {_RESETS}",
            limit=1.0,
            observed=float(distinct),
        )
    runs: list[Trace] = [play(env, probe, _SCRIPT), play(env, probe, _SCRIPT)]
    runs.append(play(build(probe, bars.stairs(), varied=True), probe, _SCRIPT))
    for other in runs[1:]:
        moment = first_difference(runs[0], other)
        if moment is not None:
            return make_outcome(
                False, f"two runs with seed {SEED} part at step {moment}", limit=1.0, observed=2.0
            )
    return make_outcome(True, f"{_RESETS} equal starts, 3 equal runs", limit=1.0, observed=1.0)


def _count_distinct(starts: list[Moment]) -> int:
    kinds: list[Moment] = []
    for start in starts:
        if not any(
            same(start.observation, kind.observation) and start.account == kind.account
            for kind in kinds
        ):
            kinds.append(start)
    return len(kinds)


CHECK = EnvCheck(
    id="seed_determinism",
    promise="reset(seed) decides everything that is drawn: same seed, same actions, same episode.",
    scenario="reset(seed=7) four times, then the same seeded actions three times, once in a fresh "
    "environment; start and balance are drawn where the environment can draw them.",
    remedy="Draw from self.np_random, which reset(seed) seeds; never from a global generator.",
    judge=judge,
    needs_dictation=False,
)
