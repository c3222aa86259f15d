"""Promises of the interface: what is shown, how episodes end, and what a broken policy may send."""

from __future__ import annotations

import math
import warnings
from typing import Any

import gymnasium
import numpy as np

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, declare_check, make_outcome
from tradingbot.envs.envcheck.probe import AnyEnv, CannotTell, EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, flatten, play

_POSITION_STEPS = 4
_SLACK_STEPS = 2  # some environments take one step more than there are bars
_MOST_STEPS = 2000


@declare_check(
    promise="Two accounts with different positions in the same market look different.",
    scenario="Flat price, no costs; one account buys, the other does not; compare after 4 steps.",
    remedy="Put position, entry and cash into the observation: fees and exits depend on them.",
)
def position_in_observation(probe: EnvProbe) -> CheckOutcome:
    """Hold a position in one of two equal markets; count the numbers by which they look apart."""
    wait = (Intent.HOLD,) * (_POSITION_STEPS - 1)
    idle = play(build(probe, bars.flat()), probe, (Intent.HOLD, *wait))
    invested = play(build(probe, bars.flat()), probe, (Intent.BUY, *wait))
    if invested.knows("units") and invested.last.account.units == idle.last.account.units:
        raise CannotTell("nothing was bought")
    seen, other = flatten(idle.last.observation), flatten(invested.last.observation)
    differing = int((seen != other).sum()) if seen.shape == other.shape else len(other)
    says = f"{differing} of {len(seen)} numbers differ between flat and invested"
    return make_outcome(differing > 0, says, limit=1.0, observed=float(differing))


@declare_check(
    promise="Every observation lies in observation_space (type, shape and bounds) and is finite.",
    scenario="Random actions on rising, alternating and gapping prices.",
    remedy="Return an array of the space's type and shape, and declare bounds that hold.",
    needs_dictation=False,
)
def observation_in_space(probe: EnvProbe) -> CheckOutcome:
    """Act at random on three markets; every observation must lie in the space and be finite."""
    seen = outside = 0
    example = ""
    for prices in (bars.stairs(), bars.alternate(), bars.gap(5)):
        env = build(probe, prices, fee_frac=0.001)
        for moment in play(env, probe, (Intent.ANY,) * (2 * bars.N_BARS)).moments:
            seen += 1
            if not _lies_in(env.observation_space, moment.observation):
                outside += 1
                example = example or _describe(moment.observation)
    note = f", e.g. {example} for {env.observation_space}" if example else ""
    says = f"{outside} of {seen} observations outside{note}"
    return make_outcome(outside == 0, says, limit=0, observed=outside)


def _lies_in(space: Any, observation: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(space.contains(observation)) and bool(np.isfinite(flatten(observation)).all())


def _describe(observation: Any) -> str:
    if isinstance(observation, np.ndarray):
        return f"{observation.dtype} array of shape {observation.shape}"
    return f"a {type(observation).__name__} of {len(flatten(observation))} numbers"


@declare_check(
    promise="The end of the data is a truncation, so that value targets bootstrap from it.",
    scenario="Flat price, hold to the last bar.",
    remedy="Return truncated=True at the end of the data; keep terminated for ruin or a goal.",
)
def truncated_is_not_terminated(probe: EnvProbe) -> CheckOutcome:
    """Hold on a flat price until the bars are used up and look at the two flags."""
    trace = play(build(probe, bars.flat()), probe, (Intent.HOLD,) * (bars.N_BARS + _SLACK_STEPS))
    last, steps = trace.last, len(trace.moments) - 1
    says = f"after {steps} steps terminated={last.terminated}, truncated={last.truncated}"
    return make_outcome(last.truncated and not last.terminated, says)


@declare_check(
    promise="A step after the end of an episode raises instead of inventing a transition.",
    scenario="Flat price, hold to the end, one step more.",
    remedy="Remember that the episode ended and raise until reset is called.",
    needs_dictation=False,
)
def step_after_end_refused(probe: EnvProbe) -> CheckOutcome:
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
    says = (
        f"accepted: reward {float(reward):.4g}, terminated={bool(terminated)}, "
        f"truncated={bool(truncated)}"
    )
    return make_outcome(False, says, limit=0.0, observed=1.0)


@declare_check(
    promise="A NaN action is refused or read as hold; it never trades nor spoils a number.",
    scenario="Flat price, buy, hold, then one action that is NaN.",
    remedy="Test actions with isfinite before any cast: NaN cast to an integer is a huge sell.",
    needs_dictation=False,
)
def nan_action_is_safe(probe: EnvProbe) -> CheckOutcome:
    """Buy, then send NaN: it must be refused, or leave position and numbers as they were."""
    env = build(probe, bars.flat())
    before = play(env, probe, (Intent.BUY, Intent.HOLD) if probe.dictates else ())
    not_a_number = _not_a_number(env)
    try:
        observation, reward, _, _, info = env.step(not_a_number)
    except Exception as e:
        return make_outcome(True, f"refused with {type(e).__name__}")
    held, units = before.last.account.units, probe.units(env, info)
    if held is not None and units is not None and not math.isclose(held, units, rel_tol=1e-6):
        says = f"NaN changed the position from {held:g} to {units:g}"
        return make_outcome(False, says, limit=held, observed=units)
    equity = probe.equity(env, info)
    numbers = [*flatten(observation), float(reward), *([] if equity is None else [equity])]
    broken = sum(not math.isfinite(number) for number in numbers)
    kept = "all numbers finite" if units is None else "read as hold"
    says = kept if broken == 0 else f"{broken} numbers are not finite after it"
    return make_outcome(broken == 0, says, limit=0.0, observed=float(broken))


def _not_a_number(env: AnyEnv) -> Any:
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Box):
        return np.full(space.shape, np.nan, dtype=space.dtype)
    if isinstance(space, gymnasium.spaces.Discrete):
        return math.nan
    raise CannotTell(f"no NaN can be sent to a {type(space).__name__} action space")
