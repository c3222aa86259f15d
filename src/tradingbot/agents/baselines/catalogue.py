"""The rules by name. To add one: write its file, name it here; or declare one in a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tradingbot.agents.baselines import price_rules
from tradingbot.agents.baselines.expert import (
    INDICATOR_BARS,
    ExpertIndicators,
    ExpertLimits,
    make_expert,
)
from tradingbot.agents.baselines.market_rules import RandomTargets, buy_and_hold, flat, table_of
from tradingbot.agents.baselines.residual_reversal import (
    OwnMoves,
    ReversalConfig,
    reversal_targets,
)
from tradingbot.agents.baselines.trend_follower import TrendFollower, TrendLimits
from tradingbot.agents.policy import Policy
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.plugins.declaration import configure
from tradingbot.plugins.reference import read_reference


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What rules are made from."""

    seed: int
    """Root of what a rule draws; only `random` does."""
    regime_names: Sequence[str]
    """R names, in the order of `PolicyInputs.regimes`."""
    known_closes: price_rules.FloatArray | None = None
    """(N, T) closes of the market, NaN where there is no bar; None where there are none to read."""
    read_indicators: Callable[[], ExpertIndicators] | None = None
    """Computes what the expert reads; None where there are no bars to read."""
    read_own_moves: Callable[[], OwnMoves] | None = None
    """Computes what residual reversal reads; None where there are no bars to read."""

    @property
    def closes(self) -> price_rules.FloatArray:
        """(N, T) closes.

        Raises:
            ConfigError: If there are none.
        """
        if self.known_closes is None:
            raise ConfigError(
                "a rule that reads prices must be given closes", was="none", where="rule_policy"
            )
        return self.known_closes

    @property
    def indicators(self) -> ExpertIndicators:
        """What the expert reads.

        Raises:
            ConfigError: If there are no bars.
        """
        if self.read_indicators is None:
            rule = "the expert must be given the indicators of the market"
            remedy = "Make it with evaluation.backtest.baselines.baseline"
            raise ConfigError(rule, was="none", where="rule_policy", remedy=remedy)
        return self.read_indicators()

    @property
    def own_moves(self) -> OwnMoves:
        """What residual reversal reads.

        Raises:
            ConfigError: If there are no bars.
        """
        if self.read_own_moves is None:
            rule = "residual reversal must be given the own moves of the symbols"
            remedy = "Make it with evaluation.backtest.baselines.baseline"
            raise ConfigError(rule, was="none", where="rule_policy", remedy=remedy)
        return self.read_own_moves()


@dataclass(frozen=True, eq=False)
class Rule:
    """How a rule is made, and what can be set of it."""

    make: Callable[[RuleInputs, Any], Policy]
    config: Any = None
    """Dataclass of its parameters; None: it has none."""
    warm_up: Callable[[Any], int] | None = lambda _: 0
    """From parameters to bars before the first decision; None: it reads regimes, which say."""


def _of_closes(
    targets: Callable[[price_rules.FloatArray, Any], price_rules.FloatArray],
) -> Callable[..., Policy]:
    """Make a rule that tells targets (N, T) from closes one of rule inputs."""
    return lambda inputs, config: table_of(targets(inputs.closes, config))


def _slow_bars(config: price_rules.CrossConfig) -> int:
    return config.slow_bars - 1


RULES: Mapping[str, Rule] = {
    "random": Rule(lambda inputs, _: RandomTargets(inputs.seed)),
    "buy_and_hold": Rule(lambda *_: buy_and_hold),
    "expert": Rule(
        lambda inputs, limits: make_expert(inputs.indicators, limits),
        ExpertLimits(),
        lambda _: INDICATOR_BARS,
    ),
    "flat": Rule(lambda *_: flat),
    "momentum": Rule(_of_closes(price_rules.momentum_targets), price_rules.MomentumConfig()),
    "momentum_quarter": Rule(_of_closes(price_rules.momentum_targets), price_rules.QUARTER),
    "macd": Rule(_of_closes(price_rules.macd_targets), price_rules.MacdConfig(), _slow_bars),
    "residual_reversal": Rule(
        lambda inputs, config: table_of(reversal_targets(inputs.own_moves, config)),
        ReversalConfig(),
        lambda config: config.warm_up_bars,
    ),
    "sma_cross": Rule(_of_closes(price_rules.cross_targets), price_rules.CrossConfig(), _slow_bars),
    "trend_follower": Rule(
        lambda inputs, limits: TrendFollower(tuple(inputs.regime_names), limits),
        TrendLimits(),
        None,
    ),
}
"""Name → maker of a policy."""
LOOKBACK_BARS: Mapping[str, int] = {
    "momentum": price_rules.MomentumConfig().lookback_bars,
    "momentum_quarter": price_rules.QUARTER.lookback_bars,
}
"""Name → bars before the first that a rule has a target at, of rules that look back for long."""


def rule_policy(
    name: str,
    *,
    seed: int,
    regime_names: Sequence[str],
    closes: price_rules.FloatArray | None = None,
    indicators: Callable[[], ExpertIndicators] | None = None,
    own_moves: Callable[[], OwnMoves] | None = None,
) -> Policy:
    """Make a rule.

    Args:
        name: One of `RULES`, with parameters where some are set: `sma_cross:fast=20,slow=100`.
        seed: Root of what a rule draws; only `random` does.
        regime_names: R names, in the order of `PolicyInputs.regimes`.
        closes: (N, T) closes of the market that will be traded, NaN where there is no bar.
        indicators: Computes what `expert` reads of that market.
        own_moves: Computes what `residual_reversal` reads of it.

    Raises:
        ConfigError: If there is no rule or parameter of that name, or it reads a regime or prices
            that are not shown.
    """
    rule, config = _configured(name)
    return rule.make(RuleInputs(seed, regime_names, closes, indicators, own_moves), config)


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
    rule = RULES[require_known(name, RULES, "policy must be a known one")]
    return rule, configure(rule.config, reference.parameters, f"rule {name}")
