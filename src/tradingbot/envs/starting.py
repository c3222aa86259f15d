"""Where episodes may begin: of one account at a symbol or bar, of a rollout at the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError, UserError, require_known
from tradingbot.envs.config import EnvConfig, start_mask
from tradingbot.envs.world import World, symbol_index
from tradingbot.market.params import READY_SHARE

RESET_OPTIONS = ("symbol", "bar")


def start_choices(
    world: World, config: EnvConfig, options: Mapping[str, Any] | None = None
) -> NDArray[np.int32]:
    """Return the rows, symbol · T + bar, at whose close an episode may begin.

    Args:
        world: What is traded.
        config: Window, episode and rule of starting.
        options: `symbol` and `bar`, either or both; None there leaves it open. A bar that is asked
            for need not be one of `config.starts`.

    Raises:
        UserError: If there is another option.
        DataError: If there is no such symbol, or no episode can begin there.
    """
    options = options or {}
    for key in options:
        rule = "option of reset must be symbol or bar"
        require_known(key, RESET_OPTIONS, rule, error=UserError)
    symbol, bar = options.get("symbol"), options.get("bar")
    episode = config.rules.episode
    mask = start_mask(world, config)
    if bar is not None:
        anywhere = start_mask(world, replace(config, starts="random"))
        mask = anywhere & (np.arange(world.n_bars) == bar)
    if symbol is not None:
        mask = mask & (np.arange(world.n_symbols) == symbol_index(world, symbol))[:, None]
    if not mask.any():
        last = world.n_bars - 1 - episode.episode_bars
        raise DataError(
            "an episode must be able to begin there",
            was=f"symbol {symbol or 'any'}, bar {'any' if bar is None else bar}",
            where=world.label,
            remedy=f"A window and an episode fit at bars {episode.window_bars - 1} to {last}, "
            "where every feature is defined",
        )
    return np.flatnonzero(mask.ravel()).astype(np.int32)


def first_ready_bar(world: World) -> int:
    """Return the first bar at which `READY_SHARE` of the symbols are usable, else any is.

    Raises:
        DataError: If there is none with a bar after it.
    """
    share = world.usable[:, :-1].mean(axis=0)
    for needed in (READY_SHARE, np.finfo(float).tiny):
        bars = np.flatnonzero(share >= needed)
        if len(bars):
            return int(bars[0])
    raise DataError(
        "a rollout must have a usable bar and one after it",
        was=f"{world.n_bars} bars, {int(world.usable.sum())} usable",
        where=world.label,
        remedy="Use more bars: regime indicators are defined after 192",
    )
