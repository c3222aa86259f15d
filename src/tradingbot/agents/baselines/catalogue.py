"""The rules by name. To add one: write its file, name it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.buy_and_hold import buy_and_hold
from tradingbot.agents.baselines.expert import expert_of
from tradingbot.agents.baselines.flat import flat
from tradingbot.agents.baselines.macd import macd
from tradingbot.agents.baselines.momentum import QUARTER, MomentumConfig, momentum
from tradingbot.agents.baselines.random_targets import RandomTargets
from tradingbot.agents.baselines.sma_cross import sma_cross
from tradingbot.agents.policy import Policy
from tradingbot.domain.errors import ConfigError, suggest

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What rules are made from."""

    seed: int
    """Root of what a rule draws; only `random` does."""
    regime_names: Sequence[str]
    """R names, in the order of `Seen.regimes`."""
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


RULES: Mapping[str, Callable[[RuleInputs], Policy]] = {
    "random": lambda inputs: RandomTargets(inputs.seed),
    "buy_and_hold": lambda _: buy_and_hold,
    "expert": lambda inputs: expert_of(inputs.regime_names),
    "flat": lambda _: flat,
    "momentum": lambda inputs: momentum(inputs.closes),
    "momentum_quarter": lambda inputs: momentum(inputs.closes, QUARTER),
    "macd": lambda inputs: macd(inputs.closes),
    "sma_cross": lambda inputs: sma_cross(inputs.closes),
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
        name: One of `RULES`.
        seed: Root of what a rule draws; only `random` does.
        regime_names: R names, in the order of `Seen.regimes`.
        closes: (N, T) closes of the market that will be traded, NaN where there is no bar.

    Raises:
        ConfigError: If there is no rule of that name, or it reads a regime or prices that are not
            shown.
    """
    if name not in RULES:
        raise ConfigError("policy must be a known one", was=repr(name), remedy=suggest(name, RULES))
    return RULES[name](RuleInputs(seed, regime_names, closes))
