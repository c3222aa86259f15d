"""Observations are what the space declares."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tradingbot.envs.envcheck import bars
from tradingbot.envs.envcheck.check import CheckOutcome, EnvCheck, make_outcome
from tradingbot.envs.envcheck.probe import EnvProbe, Intent
from tradingbot.envs.envcheck.trace import build, flatten, play

_SCRIPT = (Intent.ANY,) * (2 * bars.N_BARS)


def judge(probe: EnvProbe) -> CheckOutcome:
    """Act at random on three markets; every observation must lie in the space and be finite."""
    seen = outside = 0
    example = ""
    for prices in (bars.stairs(), bars.alternate(), bars.gap(5)):
        env = build(probe, prices, fee_frac=0.001)
        for moment in play(env, probe, _SCRIPT).moments:
            seen += 1
            if not _lies_in(env.observation_space, moment.observation):
                outside += 1
                example = example or _describe(moment.observation)
    note = f", e.g. {example} for {env.observation_space}" if example else ""
    return make_outcome(
        outside == 0, f"{outside} of {seen} observations outside{note}", limit=0, observed=outside
    )


def _lies_in(space: Any, observation: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(space.contains(observation)) and bool(np.isfinite(flatten(observation)).all())


def _describe(observation: Any) -> str:
    if isinstance(observation, np.ndarray):
        return f"{observation.dtype} array of shape {observation.shape}"
    return f"a {type(observation).__name__} of {len(flatten(observation))} numbers"


CHECK = EnvCheck(
    id="observation_in_space",
    promise="Every observation lies in observation_space (type, shape and bounds) and is finite.",
    scenario="Random actions on rising, alternating and gapping prices.",
    remedy="Return an array of the space's type and shape, and declare bounds that hold.",
    judge=judge,
    needs_dictation=False,
)
