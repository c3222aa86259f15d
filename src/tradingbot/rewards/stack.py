"""A reward as a weighted stack of terms: what the simulator calls, and what gets logged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.market.advance import Advanced
from tradingbot.market.maths import FLOAT_MATHS, TENSOR_MATHS, Maths, T
from tradingbot.market.params import SimulatorParams
from tradingbot.rewards.catalogue import registered_terms, reward_term
from tradingbot.rewards.inputs import RewardInputs, reward_inputs
from tradingbot.rewards.term import Bounds, RewardTerm, TermOptions

MAX_WEIGHT = 1000.0


@dataclass(frozen=True)
class WeightedTerm:
    """One layer of a stack."""

    term: RewardTerm
    weight: float
    options: TermOptions
    cut: Bounds = field(init=False)
    """The term lies within these before it is weighted."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cut", self.options.bounds)

    @property
    def bounds(self) -> Bounds:
        """The weighted term lies within these."""
        ends = [self.weight * bound for bound in self.cut]
        return Bounds(min(ends), max(ends))

    def evaluate(self, step: RewardInputs[T], xp: Maths[T]) -> T:
        """Return the weighted term, (B,) or one number."""
        low, high = self.cut
        return self.weight * xp.clip(self.term.formula(step, self.options, xp), low, high)


@dataclass(frozen=True)
class RewardStack:
    """Weighted terms whose sum is the reward; satisfies `market.simulation.Reward`.

    Build it with `reward_stack`. Pure and without state: everything a term remembers is in the
    account.
    """

    layers: tuple[WeightedTerm, ...]

    def __call__(self, rules: SimulatorParams, advanced: Advanced) -> Tensor:
        """Return the weighted terms, (K, B); their sum over K is the reward."""
        step = reward_inputs(rules, advanced, TENSOR_MATHS)
        return torch.stack(self._weighted(step, TENSOR_MATHS))

    def scalar(self, rules: SimulatorParams, advanced: Any) -> list[float]:
        """Return the K weighted terms of one step in plain numbers.

        `advanced` is `market.advance.Advanced` of one account, in plain numbers.
        """
        return self._weighted(reward_inputs(rules, advanced, FLOAT_MATHS), FLOAT_MATHS)

    def clipped(self, rules: SimulatorParams, advanced: Advanced) -> Tensor:
        """Tell where a term left its bounds and was cut, or is not a number: (K, B) bool."""
        step = reward_inputs(rules, advanced, TENSOR_MATHS)
        flags = []
        for layer in self.layers:
            low, high = layer.cut
            raw = layer.term.formula(step, layer.options, TENSOR_MATHS)
            flags.append(~((raw >= low) & (raw <= high)))
        return torch.stack(flags)

    @property
    def names(self) -> tuple[str, ...]:
        """K names of the terms, in order."""
        return tuple(layer.term.name for layer in self.layers)

    @property
    def weights(self) -> dict[str, float]:
        """Weight by name of term."""
        return {layer.term.name: layer.weight for layer in self.layers}

    @property
    def bounds(self) -> Bounds:
        """The reward lies within these, up to rounding of the sum."""
        return Bounds(
            sum(layer.bounds.low for layer in self.layers),
            sum(layer.bounds.high for layer in self.layers),
        )

    def _weighted(self, step: RewardInputs[T], xp: Maths[T]) -> list[T]:
        return [layer.evaluate(step, xp) for layer in self.layers]


def reward_stack(
    weights: Mapping[str, float], options: Mapping[str, Mapping[str, object]] | None = None
) -> RewardStack:
    """Stack terms in the order of the catalogue; terms of weight 0 are left out.

    Args:
        weights: Weight by name of term.
        options: Changed options by name of term; each must have a weight, or they would do nothing.

    Raises:
        ConfigError: If a term or option is unknown, a weight is no number of at most 1000 in size,
            or no weight is left.
    """
    options = options or {}
    for name in (*weights, *options):
        reward_term(name)
    for name in options:
        if weights.get(name, 0.0) == 0.0:
            raise ConfigError(
                "a reward term whose options are changed must have a weight",
                was=repr(name),
                where="rewards",
                remedy="Give it a weight other than 0, or leave its options out",
            )
    layers = tuple(
        WeightedTerm(term, _checked(weights[name], name), term.make_options(options.get(name, {})))
        for name, term in registered_terms().items()
        if weights.get(name, 0.0) != 0.0
    )
    if not layers:
        rule = "a reward must have a term whose weight is not 0"
        raise ConfigError(rule, was=dict(weights), where="rewards")
    return RewardStack(layers)


def reward_identity(reward: object) -> str:
    """Say what a reward is made of; nothing where that cannot be told.

    Terms from elsewhere may change behind their names.
    """
    layers = reward.layers if isinstance(reward, RewardStack) else ()
    if not all(layer.term.formula.__module__.startswith("tradingbot.") for layer in layers):
        return ""
    terms = [(layer.term.name, layer.weight, layer.options, layer.cut) for layer in layers]
    return repr(terms) if terms else ""


def _checked(weight: float, name: str) -> float:
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not (number and math.isfinite(weight) and abs(weight) <= MAX_WEIGHT):
        rule = f"the weight of a reward term must be a number of at most {MAX_WEIGHT:g} in size"
        raise ConfigError(rule, was=repr(weight), where=f"reward term {name}")
    return float(weight)
