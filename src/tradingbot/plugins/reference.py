"""Policies by name: `sma_cross:fast=20,slow=100`, `my_strategy`, `module:object`, `model:NAME`.

Beside a portfolio run also `allocation:NAME`, a rule that divides capital among its sleeves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.extension import Origin, extension_values, extensions
from tradingbot.domain.plain_values import read_number
from tradingbot.plugins.declaration import DeclaredStrategy
from tradingbot.plugins.declaring import strategy_of
from tradingbot.plugins.loading import import_object, loaded_plugins

RULE_NAMES = (
    *("buy_and_hold", "expert", "flat", "macd"),
    *("momentum", "momentum_quarter", "random", "residual_reversal"),
    *("sma_cross", "trend_follower"),
)
"""Those of `agents.RULES`, which takes seconds to import."""
WITHOUT_PARAMETERS = ("buy_and_hold", "flat", "random")
"""Rules of which nothing can be set."""
ORACLE_NAMES = ("omniscient", "oracle")
"""Those of `evaluation.backtest.baselines.ORACLES`."""
MODEL_PREFIX = "model:"
"""What the name of a supervised model begins with, where other things may be named as well."""
ALLOCATION_PREFIX = "allocation:"
"""What the name of a rule begins with that divides capital among the sleeves of a portfolio."""
ALLOCATION_NAMES = (
    *("equal_weight", "inverse_volatility", "minimum_variance", "mean_variance"),
    *("hierarchical_risk_parity", "confidence_weighted", "best_single_agent", "all_cash"),
)
"""Those of `evaluation.allocation.rules.ALLOCATION_RULES`, as one word each."""
RUN_PREFIX = "run:"
"""What the name of a trained run begins with, where a rule could stand as well."""
_WORDS: dict[Any, bool] = {"true": True, "false": False}


@dataclass(frozen=True)
class PolicyReference:
    """A name and what is set of its parameters."""

    name: str
    """Of a rule, a strategy or a run; `module:object`, or `model:` and a supervised model."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_import(self) -> bool:
        """Whether it names an object of a module or file."""
        is_pair = re.fullmatch(r"[^\s:]+:[A-Za-z_][\w.]*", self.name) is not None
        return is_pair and self.model is None and self.allocation is None

    @property
    def allocation(self) -> str | None:
        """Name of the allocation rule that it names; None where it names another policy."""
        is_rule = self.name.startswith(ALLOCATION_PREFIX)
        return self.name.removeprefix(ALLOCATION_PREFIX) if is_rule else None

    @property
    def model(self) -> str | None:
        """Name of the supervised model that it names; None where it names another policy."""
        is_model = self.name.startswith(MODEL_PREFIX)
        return self.name.removeprefix(MODEL_PREFIX) if is_model else None


def read_reference(text: str) -> PolicyReference:
    """Read a name with parameters.

    Example:
        >>> read_reference("sma_cross:fast=20,slow=100")
        PolicyReference(name='sma_cross', parameters={'fast': 20, 'slow': 100})
        >>> read_reference("my_module:Breakout").is_import
        True

    Raises:
        ConfigError: If a parameter has no value.
    """
    name, colon, last = text.rpartition(":")
    if not colon or "=" not in last:
        return PolicyReference(text)
    pairs = [pair.partition("=") for pair in last.split(",")]
    if not name or not all(key and value for key, _, value in pairs):
        rule = "parameters of a policy must be NAME=VALUE with commas between them"
        raise ConfigError(rule, was=repr(text), remedy="Write e.g. sma_cross:fast=20,slow=100")
    values = {key.strip(): read_number(value.strip()) for key, _, value in pairs}
    return PolicyReference(name, {key: _WORDS.get(value, value) for key, value in values.items()})


def split_names(text: str) -> tuple[str, ...]:
    """Split a list by commas, but not the parameters of a policy.

    Example:
        >>> split_names("macd, sma_cross:fast=5,slow=30, flat")
        ('macd', 'sma_cross:fast=5,slow=30', 'flat')
    """
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part.strip()}"
        else:
            names.append(part.strip())
    return tuple(names)


def find_strategy(text: str) -> DeclaredStrategy | None:
    """Return the declared strategy that a text names, with its parameters; None for other names.

    Raises:
        ConfigError: If `module:object` cannot be imported or is no strategy, or a parameter is
            unknown.
    """
    reference = read_reference(text)
    declared = declared_strategies()
    if reference.is_import:
        strategy = declared_as(import_object(reference.name))  # type: ignore[arg-type]
    elif reference.name in declared:
        strategy = declared[reference.name]
    else:
        return None
    return strategy.with_parameters(reference.parameters)


def declared_as(target: Callable[..., Any]) -> DeclaredStrategy:
    """Return a function or class as it was declared; as `strategy_of` tells it if it was not.

    Raises:
        ConfigError: If it cannot be called with one view.
    """
    own = (each for each in declared_strategies().values() if each.target is target)
    return next(own, None) or strategy_of(target)


def declared_strategies() -> dict[str, DeclaredStrategy]:
    """Return every declared strategy and baseline by name.

    Raises:
        ConfigError: If one has the name of a rule or an oracle of the package.
    """
    taken = (*RULE_NAMES, *ORACLE_NAMES)
    return extension_values("strategy", taken) | extension_values("baseline", taken)


def strategy_origin(text: str) -> Origin | None:
    """Return the plugin that a policy's code is in; None for the package's own."""
    reference = read_reference(text)
    if reference.is_import:
        module = reference.name.partition(":")[0]
        plugins = loaded_plugins()
        stem = module.rpartition("/")[2].removesuffix(".py")
        return plugins.get(stem if module.endswith(".py") else module)
    for kind in ("strategy", "baseline"):
        part = extensions(kind).get(reference.name)
        if part is not None:
            return part.origin
    return None
