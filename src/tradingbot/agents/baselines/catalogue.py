"""The rules by name. To add one: write its file, name it here; or declare one in a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.buy_and_hold import buy_and_hold
from tradingbot.agents.baselines.expert import ExpertLimits, expert_of
from tradingbot.agents.baselines.flat import flat
from tradingbot.agents.baselines.macd import MacdConfig, macd
from tradingbot.agents.baselines.momentum import QUARTER, MomentumConfig, momentum
from tradingbot.agents.baselines.random_targets import RandomTargets
from tradingbot.agents.baselines.sma_cross import CrossConfig, sma_cross
from tradingbot.agents.policy import Policy
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.plugins.declaration import read_parameters
from tradingbot.plugins.reference import read_reference

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What rules are made from."""

    seed: int
    """Root of what a rule draws; only `random` does."""
    regime_names: Sequence[str]
    """R names, in the order of `PolicyInputs.regimes`."""
    known_closes: FloatArray | None = None
    """(N, T) closes of the market, NaN where there is no bar; None where there are none to read."""

    @property
    def closes(self) -> FloatArray:
        """(N, T) closes.

        Raises:
            ConfigError: If there are none.
        """
        if self.known_closes is None:
            raise ConfigError(
                "a rule that reads prices must be given closes", was="none", where="rule_policy"
            )
        return self.known_closes


@dataclass(frozen=True, eq=False)
class Rule:
    """How a rule is made, and what can be set of it."""

    make: Callable[[RuleInputs, Any], Policy]
    config: Any = None
    """Dataclass of its parameters; None: it has none."""
    warm_up: Callable[[Any], int] | None = lambda _: 0
    """From parameters to bars before the first decision; None: it reads regimes, which say."""

    def __call__(self, inputs: RuleInputs) -> Policy:
        """Make it with its usual parameters."""
        return self.make(inputs, self.config)


RULES: Mapping[str, Rule] = {
    "random": Rule(lambda inputs, _: RandomTargets(inputs.seed)),
    "buy_and_hold": Rule(lambda *_: buy_and_hold),
    "expert": Rule(
        lambda inputs, limits: expert_of(inputs.regime_names, limits), ExpertLimits(), None
    ),
    "flat": Rule(lambda *_: flat),
    "momentum": Rule(lambda inputs, config: momentum(inputs.closes, config), MomentumConfig()),
    "momentum_quarter": Rule(lambda inputs, config: momentum(inputs.closes, config), QUARTER),
    "macd": Rule(
        lambda inputs, config: macd(inputs.closes, config),
        MacdConfig(),
        lambda config: int(config.slow_bars) - 1,
    ),
    "sma_cross": Rule(
        lambda inputs, config: sma_cross(inputs.closes, config),
        CrossConfig(),
        lambda config: int(config.slow_bars) - 1,
    ),
}
"""Name → maker of a policy."""
LOOKBACK_BARS: Mapping[str, int] = {
    "momentum": MomentumConfig().lookback_bars,
    "momentum_quarter": QUARTER.lookback_bars,
}
"""Name → bars before the first that a rule has a target at, of rules that look back for long."""


def rule_policy(
    name: str, *, seed: int, regime_names: Sequence[str], closes: FloatArray | None = None
) -> Policy:
    """Make a rule.

    Args:
        name: One of `RULES`, with parameters where some are set: `sma_cross:fast=20,slow=100`.
        seed: Root of what a rule draws; only `random` does.
        regime_names: R names, in the order of `PolicyInputs.regimes`.
        closes: (N, T) closes of the market that will be traded, NaN where there is no bar.

    Raises:
        ConfigError: If there is no rule or parameter of that name, or it reads a regime or prices
            that are not shown.
    """
    rule, config = _configured(name)
    return rule.make(RuleInputs(seed, regime_names, closes), config)


def rule_warm_up(name: str) -> int | None:
    """Return how many bars a rule needs before its first decision; None: it reads regimes.

    Raises:
        ConfigError: If there is no rule or parameter of that name.
    """
    rule, config = _configured(name)
    return None if rule.warm_up is None else rule.warm_up(config)


def _configured(text: str) -> tuple[Rule, Any]:
    reference = read_reference(text)
    name = reference.name
    if name not in RULES:
        raise ConfigError("policy must be a known one", was=repr(name), remedy=suggest(name, RULES))
    rule = RULES[name]
    known = {} if rule.config is None else asdict(rule.config)
    chosen = read_parameters(reference.parameters, known, f"rule {name}")
    return rule, (type(rule.config)(**{**known, **chosen}) if chosen else rule.config)
