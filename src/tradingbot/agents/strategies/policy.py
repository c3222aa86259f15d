"""A strategy of one's own as a policy that backtests can ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tradingbot.agents.baselines.market_rules import table_of
from tradingbot.agents.policy import Policy, PolicyInputs, apply_no_trade_band
from tradingbot.agents.strategies.view import FloatArray, MarketReel, MarketTables
from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.plugins.declaration import DeclaredStrategy
from tradingbot.plugins.loading import plugin_error


class StrategyPolicy:
    """Asks a strategy bar by bar; satisfies `agents.policy.Policy`.

    Accounts that it decides for are those of all N symbols, once or several times over; each time
    over has an instance and a view of its own, so that positions and memory are not mixed up.
    """

    def __init__(self, strategy: DeclaredStrategy, tables: MarketTables) -> None:
        """Keep what to ask and what to show."""
        self._strategy, self._tables = strategy, tables
        self._asked: list[tuple[Callable[[Any], Any], MarketReel]] = []
        self._last_bar = -1

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return targets (B,), or positions that are held where those are near enough.

        Raises:
            ConfigError: If the strategy fails or returns what is no target.
            DataError: If accounts are not those of all symbols at one bar.
        """
        n_symbols, n_bars = self._tables.present.shape
        bars, rest = seen.row % n_bars, len(seen.row) % n_symbols
        if rest or bool((bars != bars[0]).any()):
            raise DataError(
                "a strategy must be asked for all symbols at one bar", was=f"{len(seen.row)} rows"
            )
        bar, sizes = int(bars[0]), seen.size.double().numpy().reshape(-1, n_symbols)
        if bar < self._last_bar or len(self._asked) != len(sizes):  # another backtest begins
            self._asked = [(self._build(), MarketReel(self._tables)) for _ in sizes]
        self._last_bar = bar
        wanted = [
            self._ask(function, reel, bar, held)
            for (function, reel), held in zip(self._asked, sizes, strict=True)
        ]
        target = torch.from_numpy(np.concatenate(wanted)).to(seen.size.dtype)
        return apply_no_trade_band(target, seen.size)

    def _build(self) -> Callable[[Any], Any]:
        try:
            return self._strategy.build()
        except Exception as e:
            raise plugin_error(f"strategy {self._strategy.name} must be made", e) from e

    def _ask(
        self, function: Callable[[Any], Any], reel: MarketReel, bar: int, held: FloatArray
    ) -> FloatArray:
        view = reel.view(bar, held.copy())
        answer = _call(self._strategy.name, function, view)
        where = f"strategy {self._strategy.name} at bar {bar}"
        return read_targets(answer, held, where)


def strategy_policy(strategy: DeclaredStrategy, tables: MarketTables) -> Policy:
    """Make a strategy a policy; a vectorised one is asked once, for all bars."""
    if strategy.vectorised:
        return table_of(vectorised_targets(strategy, tables))
    return StrategyPolicy(strategy, tables)


def vectorised_targets(strategy: DeclaredStrategy, tables: MarketTables) -> FloatArray:
    """Return the targets (N, T) of a vectorised strategy; where it says NaN, 0.

    Raises:
        ConfigError: If it fails, or they are no targets.
    """
    shape = tables.present.shape
    view = MarketReel(tables).view(shape[1] - 1, np.zeros(shape[0]))
    answer = np.asarray(_call(strategy.name, strategy.build(), view), dtype=np.float64)
    where = f"strategy {strategy.name}"
    if answer.shape != shape:
        raise ConfigError(f"targets must have shape {shape}", was=answer.shape, where=where)
    return read_targets(answer, np.zeros(shape), where)


def _call(name: str, function: Callable[[Any], Any], view: Any) -> Any:
    try:
        return function(view)
    except UserError:
        raise
    except Exception as e:
        raise plugin_error(f"strategy {name} must decide at bar {view.bar}", e) from e


def read_targets(answer: Any, held: FloatArray, where: str) -> FloatArray:
    """Read what a strategy answered: one number for all, or one for each; NaN keeps what is held.

    Raises:
        ConfigError: If it is neither, or outside −1 … 1.
    """
    try:
        target = np.broadcast_to(np.asarray(answer, dtype=np.float64), held.shape)
    except (TypeError, ValueError) as e:
        raise ConfigError(
            f"targets must be one number, or numbers of shape {held.shape}",
            was=f"{type(answer).__name__} {np.shape(answer) or ''}",
            where=where,
        ) from e
    outside = np.abs(target) > 1.0
    if outside.any():
        raise ConfigError(
            "targets must lie in [-1, 1], fractions of the largest position",
            was=f"{target[outside][0]:g}",
            where=where,
        )
    return np.where(np.isnan(target), held, target)
