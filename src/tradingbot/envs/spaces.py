"""The spaces of environments: what an observation holds and within which bounds, and the actions.

Bounds are honest: every number is cut to them where it is made, so an observation is always in its
space. One flat row has the parts of the dict one after another, in the order of `PARTS`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.action import Action
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.world import FEATURE_BOUND, World
from tradingbot.features.bar_scaling import REGIME_BOUND
from tradingbot.market.params import ActionSpace
from tradingbot.market.private_features import PORTFOLIO_FEATURES, POSITION_FEATURES, PrivateFeature

Observation = dict[str, NDArray[np.float32]]
Info = dict[str, Any]
ResetOptions = dict[str, Any] | None
"""What `reset` takes besides a seed, as Gymnasium has it."""

PARTS = ("technical", "probabilities", "position", "portfolio", "regime")


class Part(NamedTuple):
    """One part of an observation, and where it lies in a flat row."""

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int
    """First number behind it."""
    names: tuple[str, ...]
    """What the last axis of `shape` holds."""

    @property
    def columns(self) -> slice:
        """Its place in a flat row."""
        return slice(self.start, self.stop)


def flatten_layout(world: World, config: EnvConfig) -> tuple[Part, ...]:
    """Say where each part of an observation lies in a flat row, in order and without gaps.

    `technical` is bar by bar, the oldest first: number (w, f) is at w · F + f.
    """
    shapes: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
        "technical": _window(world, config),
        "probabilities": ((3,), ("down", "flat", "up")),
        "position": ((len(POSITION_FEATURES),), _names(POSITION_FEATURES)),
        "portfolio": ((len(PORTFOLIO_FEATURES),), _names(PORTFOLIO_FEATURES)),
        "regime": ((len(world.regime_names),), world.regime_names),
    }
    layout, start = [], 0
    for part in PARTS:
        shape, names = shapes[part]
        stop = start + int(np.prod(shape))
        layout.append(Part(part, shape, start, stop, names))
        start = stop
    return tuple(layout)


def dict_space(world: World, config: EnvConfig) -> gym.spaces.Dict:
    """Return the space of observations as five named arrays of float32, for `dict` or `vectors`."""
    layout = flatten_layout(world, config)
    return gym.spaces.Dict({part.name: _box(*_bounds(part)) for part in layout})


def flat_space(world: World, config: EnvConfig) -> gym.spaces.Box:
    """Return the space of observations as one row of float32."""
    bounds = [_bounds(part) for part in flatten_layout(world, config)]
    sides = zip(*bounds, strict=True)
    return _box(*(np.concatenate([part.ravel() for part in side]) for side in sides))


def observation_space(world: World, config: EnvConfig) -> gym.Space[Any]:
    """Return the space of observations in the form that the configuration asks for."""
    return flat_space(world, config) if config.observation == "flat" else dict_space(world, config)


def flatten(observation: Observation) -> NDArray[np.float32]:
    """Lay the parts of one observation in a row, as `flatten_layout` says."""
    return np.concatenate([observation[part].ravel() for part in PARTS])


def action_space(space: ActionSpace) -> gym.Space[Any]:
    """Return the space of actions: a number in [−1, 1], or one of seven codes."""
    if space == "discrete":
        return gym.spaces.Discrete(len(Action))
    return gym.spaces.Box(-1.0, 1.0, (1,), np.float32)


def _window(world: World, config: EnvConfig) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Shape of the window and names of its last axis; as one row, `close@-1` is one bar ago."""
    bars, names = config.rules.episode.window_bars, world.feature_names
    if config.observation == "vectors":
        lagged = tuple(f"{name}@{bar - bars + 1}" for bar in range(bars) for name in names)
        return (bars * len(names),), lagged
    return (bars, len(names)), names


def _names(features: tuple[PrivateFeature, ...]) -> tuple[str, ...]:
    return tuple(feature.name for feature in features)


def _bounds(part: Part) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    private = {"position": POSITION_FEATURES, "portfolio": PORTFOLIO_FEATURES}
    if part.name in private:
        low, high = np.array([(f.low, f.high) for f in private[part.name]], np.float32).T.copy()
        return low, high
    lowest, highest = {
        "technical": (-FEATURE_BOUND, FEATURE_BOUND),
        "probabilities": (0.0, 1.0),
        "regime": (-REGIME_BOUND, REGIME_BOUND),
    }[part.name]
    return np.full(part.shape, lowest, np.float32), np.full(part.shape, highest, np.float32)


def _box(low: NDArray[np.float32], high: NDArray[np.float32]) -> gym.spaces.Box:
    return gym.spaces.Box(low, high, dtype=np.float32)
