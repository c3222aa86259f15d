"""`tb.check_strategy` and `check_parts`: what must hold of every part of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.domain.extension import KINDS, Extension, extensions
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.synthetic_market import inputs_of_market, synthetic_market
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.look_ahead import require_causal
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import as_traded
from tradingbot.facade.environments import make_env
from tradingbot.features.causality.prover import prove_causal, prove_every_bar
from tradingbot.features.causality.subject import ProofContext
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.proof_subjects import feature_subject
from tradingbot.features.spec import FeatureSpec
from tradingbot.market.params import ActionSpace
from tradingbot.plugins.declaration import DeclaredStrategy
from tradingbot.plugins.reference import declared_as, declared_strategies, find_strategy
from tradingbot.rewards import reward_preset

_SYMBOLS, _BARS, _STEPS, _ENVS = 3, 500, 200, 16
_SPACES: tuple[ActionSpace, ...] = ("continuous", "target", "discrete")


@dataclass(frozen=True)
class CheckedPart:
    """One part and what came out."""

    kind: str
    name: str
    plugin: str
    """With the first digits of its hash; empty where it was declared in a program."""
    problem: str
    """Empty where every check held."""


def check_strategy(
    strategy: str | Callable[..., Any], bars: Bars | World | str | Path | Any
) -> None:
    """Refuse a strategy that looks ahead, changes from call to call or returns no targets.

    It is asked at every bar; then bars after five cuts are changed and it is asked again from the
    beginning: what it decided before a cut must be the same to the last bit.

    Args:
        strategy: A function, a class, or the name of a declared one.
        bars: What it looks at; any bars will do.

    Raises:
        ConfigError: If it fails, or a target is outside −1 … 1.
        DataError: If a decision moved, naming symbol and bar.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("noise", symbols=["SPY"], timeframe="1d")
        >>> tb.check_strategy(lambda view: 0.5, bars)
    """
    found = find_strategy(strategy) if isinstance(strategy, str) else declared_as(strategy)
    if found is None:
        raise ConfigError("strategy must be a declared one", was=repr(strategy))
    data = as_traded(bars)
    require_causal(found, data.prices, scaled=data.with_features, first_bar=found.warm_up())


def check_parts() -> list[CheckedPart]:
    """Check every part that plugins and this program declared, on a synthetic market.

    Strategies: targets in range, the same with another future. Reward terms: finite and within
    their bounds in every action space. Features: streaming = batch bit for bit, proved causal,
    undefined in the warm-up only, within their range.
    """
    return [
        CheckedPart(kind, part.name, part.origin.id if part.origin else "", _problem_of(part))
        for kind in KINDS
        for part in extensions(kind).values()
    ]


def _problem_of(part: Extension) -> str:
    try:
        if isinstance(part.value, DeclaredStrategy):
            declared_strategies()  # its name must be free
            world = synthetic_world("regimes", n_symbols=_SYMBOLS, n_bars=_BARS, seed=1)
            require_causal(part.value, world, first_bar=part.value.warm_up())
        elif part.kind == "reward_term":
            for space in _SPACES:
                _check_reward(part.name, space)
        elif isinstance(part.value, FeatureSpec):
            _check_feature(part.value)
    except UserError as e:
        return str(e)
    return ""


def _check_reward(name: str, space: ActionSpace) -> None:
    """Act at random in many environments; see that the term stays what it says.

    Raises:
        DataError: If it is not finite, or leaves its bounds.
    """
    low, high = reward_preset(name).bounds
    world = synthetic_world("regimes", n_symbols=_SYMBOLS, n_bars=_BARS, seed=1)
    env = make_env(world, actions=space, reward=name, n_envs=_ENVS, episode_bars=64)
    env.reset(seed=1)
    draws = stream(1, "check", name, space)
    for _ in range(_STEPS):
        shape = env.action_space.shape
        assert shape is not None
        discrete = space == "discrete"
        action = draws.integers(0, 7, shape) if discrete else draws.uniform(-1.0, 1.0, shape)
        terms = np.asarray(env.step(action)[4]["reward_terms"])
        inside = low - 1e-6 <= terms.min() and terms.max() <= high + 1e-6
        if not (inside and np.isfinite(terms).all()):
            raise DataError(
                f"reward term {name} must be finite and lie in [{low:g}, {high:g}]",
                was=f"{terms.min():g} … {terms.max():g}",
                where=f"{space} actions",
            )


def _check_feature(spec: FeatureSpec) -> None:
    """Prove a feature causal both ways, and see that it is defined where and as it says.

    Raises:
        DataError: Naming what does not hold.
    """
    inputs = inputs_of_market(
        synthetic_market("regimes", n_symbols=_SYMBOLS, n_bars=_BARS, seed=1, params={})
    )
    _require_proved(spec, inputs)
    values = compute_features(inputs, [spec])[spec.name]
    warm_up, (low, high) = spec.network.warm_up_bars, spec.network_range
    if not np.isnan(values[:warm_up]).all() or np.isnan(values[warm_up:]).any():
        raise DataError(
            f"feature {spec.name} must be undefined in its first {warm_up} bars and nowhere else",
            was=f"{int(np.isnan(values[:, 0]).sum())} undefined",
        )
    known = values[warm_up:]
    if known.min() < low or known.max() > high:
        raise DataError(
            f"feature {spec.name} must lie in its network_range [{low:g}, {high:g}]",
            was=f"{known.min():g} … {known.max():g}",
        )


def _require_proved(spec: FeatureSpec, inputs: MarketInputs) -> None:
    context = ProofContext((spec,), int(0.7 * len(inputs.closed_at)))
    report = prove_causal(inputs, [feature_subject(context)])
    for verdict in (*report.verdicts, *prove_every_bar(inputs, [spec])):
        if not verdict.is_causal:
            raise DataError(
                f"feature {spec.name} must be causal", was=str(verdict.offence or verdict.reason)
            )
