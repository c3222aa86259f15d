"""gym-trading-env's TradingEnv: an action is the position to be in, as a fraction of equity."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tradingbot.envs.envcheck.bars import DictatedBars
from tradingbot.envs.envcheck.peers.installed import frame, hours, load_module, version_of
from tradingbot.envs.envcheck.probe import AnyEnv, EnvProbe, Info

_PACKAGE = "gym-trading-env"
_POSITIONS = [-1, 0, 1]
_SHORT, _FLAT, _LONG = range(3)
_VARIED = {"windows": 8, "max_episode_duration": 24}


def trading_env_probe() -> EnvProbe:
    """Make the probe; the features shown are the close and its log return.

    Raises:
        MissingExtraError: If gym-trading-env is not installed.
    """
    environment = load_module(_PACKAGE, "gym_trading_env.environments").TradingEnv

    def build(bars: DictatedBars, *, varied: bool = False, **costs: float) -> AnyEnv:
        growth = np.diff(np.log(bars.closes), prepend=np.log(bars.closes[0]))
        market = frame(bars, feature_close=bars.closes, feature_growth=growth)
        market.index = hours(bars)
        made: AnyEnv = environment(
            market,
            positions=list(_POSITIONS),
            initial_position=0,
            verbose=0,
            trading_fees=costs["fee_frac"],
            borrow_interest_rate=costs["borrow_frac"],
            portfolio_initial_value=costs["initial_cash"],
            **(_VARIED if varied else {}),
        )
        return made

    return EnvProbe(
        name="gym-trading-env TradingEnv",
        version=version_of(_PACKAGE),
        build=build,
        build_varied=partial(build, varied=True),
        hold=_present_position,
        buy=_LONG,
        sell=_FLAT,
        short=_SHORT,
        cash=lambda env, info: _net(info, "fiat"),
        units=lambda env, info: _net(info, "asset"),
        equity=lambda env, info: float(info["portfolio_valuation"]),
    )


def _present_position(env: AnyEnv) -> int:
    inner: Any = env.unwrapped
    return _POSITIONS.index(inner._position)


def _net(info: Info, what: str) -> float:
    """Return what is owned less what is borrowed and the interest owed on it."""
    owned, borrowed, interest = (
        float(info[f"portfolio_distribution_{part}{what}"])
        for part in ("", "borrowed_", "interest_")
    )
    return owned - borrowed - interest
