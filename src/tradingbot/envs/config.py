"""What an environment is told besides its world: rules, costs, reward, how it looks and starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.checks import require_kinds
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.envs.world import World
from tradingbot.market.costs import COST_PROFILES, CostProfile, cost_profile
from tradingbot.market.episodes import possible_starts
from tradingbot.market.params import AccountRules, ActionSpace, EpisodeRules, SimulatorParams
from tradingbot.rewards import (
    PotentialShaping,
    RewardConfig,
    RewardStack,
    reward_names,
    reward_preset,
)
from tradingbot.risk.limits import RiskLimits

ObservationForm = Literal["dict", "vectors", "flat"]
StartRule = Literal["random", "first"]


@dataclass(frozen=True)
class EnvConfig:
    """Everything about an environment that is not the market."""

    rules: SimulatorParams = field(default_factory=SimulatorParams)
    costs: CostProfile = field(default_factory=CostProfile)
    """A profile; the name of one is replaced by it."""
    reward: str | RewardConfig | RewardStack | PotentialShaping = "v31"
    """Name of a preset in `rewards`, a preset with changes, or a stack of terms; that of vector
    environments may be shaped by a potential."""
    observation: ObservationForm = "vectors"
    """`vectors`: five named rows, the window bar by bar. `dict`: the same with the window as a
    (W, F) matrix. `flat`: one row with the same numbers in the same order."""
    strict: bool = False
    """Raise on an action that is NaN, infinite or out of range; else it is read as hold or
    clipped, and what is read as hold is counted in `violations`."""
    starts: StartRule = "random"
    """Where episodes begin: anywhere a window lies before and an episode after, or, of each symbol,
    at the first such bar (then the seed chooses the symbol alone)."""

    def __post_init__(self) -> None:
        """Refuse words that mean nothing and values of the wrong kind."""
        if isinstance(self.costs, str):
            object.__setattr__(self, "costs", cost_profile(self.costs))
        _require_kind("rules", self.rules, SimulatorParams)
        _require_kind("costs", self.costs, CostProfile)
        _require_kind("strict", self.strict, bool)
        _require_kind("reward", self.reward, str, RewardConfig, RewardStack, PotentialShaping)
        require_kinds(self)
        if isinstance(self.reward, str):
            require_known(self.reward, reward_names(), "reward must be a known one")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> EnvConfig:
        """Return a named configuration, with some fields changed.

        Raises:
            ConfigError: If there is no preset, or no field, of that name.
        """
        require_known(name, ENV_PRESETS, "preset must be a known one")
        for key in changes:
            require_known(key, cls.__dataclass_fields__, "field of EnvConfig must be a known one")
        return replace(ENV_PRESETS[name], **changes)

    def with_space(self, space: ActionSpace) -> EnvConfig:
        """Return the same with another action space."""
        action = replace(self.rules.action, space=space)
        return replace(self, rules=replace(self.rules, action=action))

    @property
    def reward_stack(self) -> RewardStack | PotentialShaping:
        """The reward, built if it was given by name or configuration."""
        if isinstance(self.reward, str):
            return reward_preset(self.reward)
        return self.reward.stack() if isinstance(self.reward, RewardConfig) else self.reward


def start_mask(world: World, config: EnvConfig) -> NDArray[np.bool_]:
    """Mark the bars (N, T) at whose close an episode may begin.

    What `market.episodes.drawn_symbols` and `fixed_symbols` take.

    Raises:
        DataError: If no window and episode fit into the world.
    """
    episode = config.rules.episode
    possible = possible_starts(
        world.usable, window_bars=episode.window_bars, episode_bars=episode.episode_bars
    )
    if config.starts == "random":
        return possible
    first = np.zeros_like(possible)
    rows = np.flatnonzero(possible.any(axis=1))
    first[rows, possible[rows].argmax(axis=1)] = True
    return first


def read_config(config: EnvConfig | str | None) -> EnvConfig:
    """Return a configuration as it was given, by the name of a preset, or the default.

    Raises:
        ConfigError: If it is anything else, or for agents that are market-neutral together:
            accounts of an environment are traded each by itself.
    """
    if config is None:
        return EnvConfig()
    if isinstance(config, str):
        return EnvConfig.preset(config)
    if not isinstance(config, EnvConfig):
        rule = "config must be an EnvConfig or the name of a preset"
        remedy = "Use EnvConfig(rules=…, costs=…, reward=…)"
        raise ConfigError(rule, was=type(config).__name__, remedy=remedy)
    if config.rules.action.neutral_gross_frac:
        rule = "neutral_gross_frac must be 0 in environments of single accounts"
        remedy = "Use PopulationTask, or tradingbot train"
        raise ConfigError(rule, was=config.rules.action.neutral_gross_frac, remedy=remedy)
    return config


def _require_kind(name: str, value: object, *kinds: type) -> None:
    if not isinstance(value, kinds):
        rule = f"{name} must be {' or '.join(kind.__name__ for kind in kinds)}"
        raise ConfigError(rule, was=repr(value)[:60], where=f"EnvConfig.{name}")


ENV_PRESETS: Mapping[str, EnvConfig] = {
    "default": EnvConfig(),
    # All of the account in one symbol: a sleeve of a larger portfolio.
    "sleeve": EnvConfig(rules=SimulatorParams(limits=RiskLimits(max_position_frac=1.0))),
    # Longs and shorts, with what borrowing costs at a retail broker.
    "long_short": EnvConfig(
        rules=SimulatorParams(limits=RiskLimits(max_position_frac=0.5, allow_short=True)),
        costs=CostProfile(borrow_frac_per_bar=2e-5),
    ),
    # Stops as a careful trader would set them.
    "guarded": EnvConfig(
        rules=SimulatorParams(
            account=AccountRules(stop_loss_frac=0.02, take_profit_frac=0.04, max_holding_bars=70)
        )
    ),
    # A few steps, for tests and first looks.
    "short_episodes": EnvConfig(rules=SimulatorParams(episode=EpisodeRules(episode_bars=64))),
    # No cost of any kind: for comparison only.
    "free": EnvConfig(costs=COST_PROFILES["free"]),
}
