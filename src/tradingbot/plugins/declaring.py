"""Decorators that declare one's own strategy, baseline, reward term or feature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.extension import Kind, add_extension
from tradingbot.plugins.declaration import DeclaredReward, DeclaredStrategy, keyword_parameters

Part = TypeVar("Part", bound=Callable[..., Any])
Spec = TypeVar("Spec")


@overload
def strategy(target: Part, /) -> Part: ...
@overload
def strategy(
    *, name: str | None = None, warm_up_bars: int | str = 0, vectorised: bool = False
) -> Callable[[Part], Part]: ...
def strategy(
    target: Part | None = None,
    /,
    *,
    name: str | None = None,
    warm_up_bars: int | str = 0,
    vectorised: bool = False,
) -> Part | Callable[[Part], Part]:
    """Declare a strategy, which `tradingbot backtest` and `tb.backtest` then know by name.

    It is asked at the close of every bar with a `MarketView` of what is known then, and returns the
    wanted position of each symbol (N,), or one number for all: −1 … 1 of the largest position, NaN
    for what is held. Keyword parameters are set with `name:parameter=value`.

    Args:
        target: The function, or a class whose instances are called with the view.
        name: What it is called; the function's name by default.
        warm_up_bars: Bars that must lie before the first decision, or the name of the parameter
            that says how many.
        vectorised: It is given the whole history at once and returns targets (N, T); each backtest
            then changes the future and refuses it if an earlier target moves.

    Example::

        @tb.strategy(warm_up_bars="bars")
        def above_its_mean(view, *, bars: int = 20):
            return np.where(view.close[:, -1] > view.close[:, -bars:].mean(axis=1), 1.0, 0.0)
    """
    return _declare("strategy", target, name, warm_up_bars, vectorised)


@overload
def baseline(target: Part, /) -> Part: ...
@overload
def baseline(
    *, name: str | None = None, warm_up_bars: int | str = 0, vectorised: bool = False
) -> Callable[[Part], Part]: ...
def baseline(
    target: Part | None = None,
    /,
    *,
    name: str | None = None,
    warm_up_bars: int | str = 0,
    vectorised: bool = False,
) -> Part | Callable[[Part], Part]:
    """Declare a strategy that every dossier of `tradingbot evaluate` compares agents with, too.

    Arguments are those of `strategy`.
    """
    return _declare("baseline", target, name, warm_up_bars, vectorised)


def reward_term(
    *,
    low: float = -1.0,
    high: float = 1.0,
    objective: str = "profit",
    version: int = 1,
    name: str | None = None,
) -> Callable[[Part], Part]:
    """Declare a reward term; `task.reward=name` trains with it alone.

    The function is given `step` (`rewards.RewardInputs`: tensors (B,), or plain numbers), `xp`
    (`market.maths.Maths`: where, clip, maximum, log1p … for both) and options by keyword, and
    returns the term, which is cut to [low, high]. It is written once for tensors and for numbers,
    so it uses `xp` and operators only.

    Args:
        low: Lower bound, −1 or above.
        high: Upper bound, 1 or below.
        objective: profit, risk, activity, timing or exploration.
        version: Raised whenever the same step can give another number.
        name: What it is called; the function's name by default.

    Example::

        @tb.reward_term(low=-1.0, high=0.0, objective="risk")
        def large_moves(step, xp, *, scale: float = 100.0):
            return -scale * step.equity_return * step.equity_return
    """
    if not -1.0 <= low < high <= 1.0:
        raise ConfigError("bounds of a reward term must lie in [-1, 1]", was=f"{low} … {high}")

    def declare(formula: Part) -> Part:
        chosen = name or formula.__name__
        add_extension(
            "reward_term", chosen, DeclaredReward(chosen, formula, low, high, objective, version)
        )
        return formula

    return declare


def feature(spec: Spec) -> Spec:
    """Declare a feature (`features.spec.FeatureSpec`); panels built from now on have its column.

    Such a panel has another hash than the usual one: both can lie side by side. It must be proved
    causal before anything learns from it, as any other.
    """
    found = getattr(spec, "name", None)
    if not isinstance(found, str) or not hasattr(spec, "network"):
        raise ConfigError("a feature must be a FeatureSpec", was=type(spec).__name__)
    add_extension("feature", found, spec)
    return spec


def _declare(
    kind: Kind, target: Part | None, name: str | None, warm_up_bars: int | str, vectorised: bool
) -> Part | Callable[[Part], Part]:
    def declare(given: Part) -> Part:
        made = strategy_of(given, name=name, warm_up_bars=warm_up_bars, vectorised=vectorised)
        add_extension(kind, made.name, made)
        return given

    return declare if target is None else declare(target)


def strategy_of(
    target: Callable[..., Any],
    *,
    name: str | None = None,
    warm_up_bars: int | str = 0,
    vectorised: bool = False,
) -> DeclaredStrategy:
    """Describe a function or class as a strategy, without a place in the registry.

    Raises:
        ConfigError: If it cannot be called with one view.
    """
    chosen = name or str(getattr(target, "__name__", type(target).__name__))
    if not callable(target):
        raise ConfigError(
            "a strategy must be a function or a class", was=type(target).__name__, where=chosen
        )
    known = keyword_parameters(target)
    if isinstance(warm_up_bars, str) and warm_up_bars not in known:
        rule = "warm_up_bars must be a number or the name of a parameter"
        raise ConfigError(rule, was=repr(warm_up_bars), where=chosen)
    if isinstance(warm_up_bars, int) and warm_up_bars < 0:
        raise ConfigError("warm_up_bars must be 0 or more", was=warm_up_bars, where=chosen)
    if not isinstance(target, type):
        _require_one_argument(target, chosen)
    return DeclaredStrategy(chosen, target, warm_up_bars, vectorised)


def _require_one_argument(target: Callable[..., Any], name: str) -> None:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    free = [
        parameter.name
        for parameter in inspect.signature(target).parameters.values()
        if parameter.default is inspect.Parameter.empty and parameter.kind in positional
    ]
    if len(free) != 1:
        rule = "a strategy must take one argument, the view; parameters must have defaults"
        raise ConfigError(rule, was=", ".join(free) or "none", where=name)
