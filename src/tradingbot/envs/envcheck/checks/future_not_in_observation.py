"""What has not happened cannot be seen."""

from __future__ import annotations

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import EnvProbe, Intent
from tradingbot.envs.envcheck.trace import Trace, build, play, same

_CUTS = (0, 1, 7, 20, 41)
_FACTORS = (0.5, 1.7)


def judge(probe: EnvProbe) -> CheckOutcome:
    """Change every bar after a cut; nothing seen up to the cut may change."""
    prices = bars.stairs()
    script = (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL) * 16
    as_it_was = play(build(probe, prices), probe, script[: max(_CUTS)])
    changed = compared = 0
    for cut in _CUTS:
        for factor in _FACTORS:
            other = [price * (factor if bar > cut else 1.0) for bar, price in enumerate(prices)]
            changed_after = play(build(probe, other), probe, script[:cut])
            seen, differing = _compare(as_it_was, changed_after, cut)
            compared, changed = compared + seen, changed + differing
    return make_outcome(
        changed == 0,
        f"{changed} of {compared} observations moved with prices not yet seen",
        limit=0,
        observed=changed,
    )


def _compare(first: Trace, second: Trace, cut: int) -> tuple[int, int]:
    """Return how many moments up to the cut were compared, and how many of them differ."""
    pairs = list(zip(first.moments[: cut + 1], second.moments[: cut + 1], strict=True))
    differing = sum(
        not same(a.observation, b.observation) or a.reward != b.reward for a, b in pairs
    )
    return len(pairs), differing


CHECK = EnvCheck(
    id="future_not_in_observation",
    promise="Observation and reward depend on bars up to the present one only.",
    scenario="A rising price, and copies of it with all bars after a cut changed; compare "
    "everything up to the cut, for five cuts.",
    remedy="Fit scalers on training data before the environment, and window features to the left.",
    judge=judge,
)
