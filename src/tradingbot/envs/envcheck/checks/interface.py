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
from tradingbot.envs.envcheck.trace import Moment, build, flatten, play, same

_POSITION_STEPS = 4
_POSITIONS = (  # first action, and the one after four steps
    (Intent.HOLD, Intent.HOLD),
    (Intent.BUY, Intent.HOLD),
    (Intent.BUY, Intent.SELL),
)
_SLACK_STEPS = 2  # some environments take one step more than there are bars
_MOST_STEPS = 2000


@declare_check(
    promise="Two accounts with different positions in the same market look different at once.",
    scenario="Flat price, no costs; one account buys, the other does not, and later one sells, the "
    "other does not. Compare at every step at which they hold different units; after 4 steps where "
    "units are not told.",
    remedy="Put the position after the fill, entry and cash into the observation: fees and exits "
    "depend on them.",
)
def position_in_observation(probe: EnvProbe) -> CheckOutcome:
    """Hold positions in one of two equal markets; find the step at which they look alike most."""
    wait = (Intent.HOLD,) * _POSITION_STEPS
    idle, invested, sold = (
        play(build(probe, bars.flat()), probe, (first, *wait, last, *wait))
        for first, last in _POSITIONS
    )
    if not (idle.knows("units") and invested.knows("units") and sold.knows("units")):
        apart = [_differing(idle.moments[_POSITION_STEPS], invested.moments[_POSITION_STEPS])]
    else:
        apart = [
            _differing(one, other)
            for first, second in ((idle, invested), (invested, sold))
            for one, other in zip(first.moments, second.moments, strict=False)
            if one.account.units != other.account.units
        ]
    if not apart:
        raise CannotTell("nothing was bought")
    fewest, total = min(apart), len(flatten(idle.last.observation))
    says = (
        f"{fewest} of {total} numbers differ between positions, in the worst of {len(apart)} steps"
    )
    return make_outcome(fewest > 0, says, limit=1.0, observed=float(fewest))


def _differing(one: Moment, other: Moment) -> int:
    seen, shown = flatten(one.observation), flatten(other.observation)
    return int((seen != shown).sum()) if seen.shape == shown.shape else len(shown)


@declare_check(
    promise="An observation that was handed out does not change any more.",
    scenario="Random actions on a rising price; every observation is kept as it was handed out, "
    "and compared with its copy after the episode.",
    remedy="Return a new array at every step: replay buffers keep the one they are given.",
    needs_dictation=False,
)
def observation_is_not_reused(probe: EnvProbe) -> CheckOutcome:
    """Play an episode; count the observations that later steps wrote into."""
    env = build(probe, bars.stairs())
    moments = play(env, probe, (Intent.ANY,) * bars.N_BARS).moments
    changed = sum(not same(moment.observation, moment.handed_out) for moment in moments)
    says = f"{changed} of {len(moments)} observations were changed after they were handed out"
    return make_outcome(changed == 0, says, limit=0, observed=changed)


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
