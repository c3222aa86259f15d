"""The rules by name. To add one: write its file, name it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tradingbot.agents.policy import Policy
from tradingbot.agents.rules.buy_and_hold import buy_and_hold
from tradingbot.agents.rules.expert import expert_of
from tradingbot.agents.rules.random_targets import RandomTargets
from tradingbot.domain.errors import ConfigError, suggest

RULES: Mapping[str, Callable[[int, Sequence[str]], Policy]] = {
    "random": lambda seed, _: RandomTargets(seed),
    "buy_and_hold": lambda _seed, _names: buy_and_hold,
    "expert": lambda _, regime_names: expert_of(regime_names),
}
"""Name → maker of a policy from a seed and the names of the regimes that the market shows."""


def rule_policy(name: str, *, seed: int, regime_names: Sequence[str]) -> Policy:
    """Make a rule.

    Args:
        name: One of `RULES`.
        seed: Root of what a rule draws; only `random` does.
        regime_names: R names, in the order of `Seen.regimes`.

    Raises:
        ConfigError: If there is no rule of that name, or it reads a regime that is not shown.
    """
    if name not in RULES:
        raise ConfigError("policy must be a known one", was=repr(name), remedy=suggest(name, RULES))
    return RULES[name](seed, regime_names)
