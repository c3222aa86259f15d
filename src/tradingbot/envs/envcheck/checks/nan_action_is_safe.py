"""A broken policy must not break the account."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import AnyEnv, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, flatten, play


def judge(probe: EnvProbe) -> CheckOutcome:
    """Buy, then send NaN: it must be refused, or leave position and numbers as they were."""
    env = build(probe, bars.flat())
    before = play(env, probe, (Intent.BUY, Intent.HOLD) if probe.dictates else ())
    try:
        observation, reward, _, _, info = env.step(_not_a_number(env))
    except Exception as e:
        return make_outcome(True, f"refused with {type(e).__name__}")
    held, units = before.last.account.units, probe.units(env, info)
    if held is not None and units is not None and not math.isclose(held, units, rel_tol=1e-6):
        return make_outcome(
            False,
            f"NaN changed the position from {held:g} to {units:g}",
            limit=held,
            observed=units,
        )
    equity = probe.equity(env, info)
    numbers = [*flatten(observation), float(reward), *([] if equity is None else [equity])]
    broken = sum(not math.isfinite(number) for number in numbers)
    kept = "all numbers finite" if units is None else "read as hold"
    return make_outcome(
        broken == 0,
        kept if broken == 0 else f"{broken} numbers are not finite after it",
        limit=0.0,
        observed=float(broken),
    )


def _not_a_number(env: AnyEnv) -> Any:
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Box):
        return np.full(space.shape, np.nan, dtype=space.dtype)
    if isinstance(space, gymnasium.spaces.Discrete):
        return math.nan
    raise CannotTell(f"no NaN can be sent to a {type(space).__name__} action space")


CHECK = EnvCheck(
    id="nan_action_is_safe",
    promise="A NaN action is refused or read as hold; it never trades nor spoils a number.",
    scenario="Flat price, buy, hold, then one action that is NaN.",
    remedy="Test actions with isfinite before any cast: NaN cast to an integer is a huge sell.",
    judge=judge,
    needs_dictation=False,
)
