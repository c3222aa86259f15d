"""Named rewards, and the configuration that picks one and changes parts of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tradingbot.domain.errors import require_known
from tradingbot.rewards.catalogue import registered_terms
from tradingbot.rewards.stack import RewardStack, reward_stack

REWARD_PRESETS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        # Gains first; a little for variety, so that policies do not collapse into one action.
        "v31": {
            "pnl": 0.75,
            "cost": 0.10,
            "time_efficiency": 0.0,
            "sharpe": 0.03,
            "drawdown": 0.02,
            "sizing": 0.0,
            "hold": 0.0,
            "diversity": 0.07,
            "repeat": 0.05,
            "intrinsic_action": 0.01,
        },
        # The first stack of the product: no terms about the actions themselves.
        "prototype": {
            "pnl": 0.40,
            "cost": 0.15,
            "time_efficiency": 0.15,
            "sharpe": 0.05,
            "drawdown": 0.10,
            "sizing": 0.05,
            "hold": 0.0,
        },
        # Weights with which a high Sharpe ratio was reached; it has no Sharpe term.
        "sharpe": {"pnl": 0.62, "cost": 0.20, "time_efficiency": 0.06, "repeat": 0.08},
        # One term for each of five objectives; weights that a learner may move by state.
        "objectives": {
            "roi": 0.40,
            "loss": 0.25,
            "frequency": 0.15,
            "time_efficiency": 0.10,
            "novelty": 0.10,
        },
        # What compounds, and nothing else.
        "log_growth": {"log_growth": 1.0},
        # Risk-adjusted and online, and nothing else.
        "differential_sharpe": {"differential_sharpe": 1.0},
    }
)
"""Weights by preset and term. A term that is not named has weight 0."""


@dataclass(frozen=True)
class RewardConfig:
    """Which reward, and what is changed of it.

    Example:
        >>> RewardConfig("v31", weights={"hold": 0.1}).stack().names[:3]
        ('pnl', 'cost', 'sharpe')
    """

    preset: str = "v31"
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights by term that replace those of the preset; 0 leaves a term out."""
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Options by term that replace the term's own."""

    def __post_init__(self) -> None:
        self.stack()

    def stack(self) -> RewardStack:
        """Build the reward.

        Raises:
            ConfigError: If a name is unknown, or a number out of range.
        """
        return reward_stack({**_preset_weights(self.preset), **self.weights}, self.options)


def reward_preset(name: str) -> RewardStack:
    """Return a preset's stack, or that of a single term.

    Raises:
        ConfigError: If there is neither of that name, with a suggestion.
    """
    return reward_stack(_preset_weights(name))


def reward_names() -> tuple[str, ...]:
    """Return what a reward can be named by: presets, and single terms of weight 1."""
    return (*REWARD_PRESETS, *(name for name in registered_terms() if name not in REWARD_PRESETS))


def _preset_weights(name: str) -> Mapping[str, float]:
    require_known(name, reward_names(), "reward preset must be known")
    return REWARD_PRESETS.get(name, {name: 1.0})
