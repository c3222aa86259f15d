"""FinRL's StockTradingEnv, in its pandas and its NumPy form: an action is shares over a maximum.

The package's own `__init__` imports brokers that are not installed, so the files are loaded alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tradingbot.envs.envcheck.bars import DictatedBars
from tradingbot.envs.envcheck.peers.installed import frame, load_file, version_of
from tradingbot.envs.envcheck.probe import AnyEnv, EnvProbe

_PACKAGE = "finrl"
_FOLDER = "finrl/meta/env_stock_trading"
_MOST_SHARES = 100  # of one order; all the suite's cash at its first price
_NEVER = 10**9
_ACTIONS: dict[str, Any] = {
    name: np.array([share], dtype=np.float32)
    for name, share in (("hold", 0.0), ("buy", 1.0), ("sell", -1.0))
}


def pandas_probe() -> EnvProbe:
    """Make the probe of the pandas environment with one stock and one indicator.

    Raises:
        UserError: If FinRL is not installed or its file cannot be loaded.
    """
    environment = load_file(_PACKAGE, f"{_FOLDER}/env_stocktrading.py").StockTradingEnv

    def build(bars: DictatedBars, **costs: float) -> AnyEnv:
        market = frame(bars, date=[str(i) for i in range(len(bars))], tic="X", indicator=0.0)
        made: AnyEnv = environment(
            df=market,
            stock_dim=1,
            hmax=_MOST_SHARES,
            initial_amount=costs["initial_cash"],
            num_stock_shares=[0],
            buy_cost_pct=[costs["fee_frac"]],
            sell_cost_pct=[costs["fee_frac"]],
            reward_scaling=1e-4,
            state_space=4,
            action_space=1,
            tech_indicator_list=["indicator"],
            print_verbosity=_NEVER,
        )
        return made

    return EnvProbe(
        name="FinRL StockTradingEnv",
        version=version_of(_PACKAGE),
        build=build,
        **_ACTIONS,
        cash=lambda env, info: _inner(env).state[0],
        units=lambda env, info: _inner(env).state[2],
        equity=lambda env, info: _inner(env).asset_memory[-1],
        fees_paid=lambda env, info: _inner(env).cost,
    )


def numpy_probe() -> EnvProbe:
    """Make the probe of the NumPy environment with one stock and one indicator.

    Raises:
        UserError: If FinRL is not installed or its file cannot be loaded.
    """
    environment = load_file(_PACKAGE, f"{_FOLDER}/env_stocktrading_np.py").StockTradingEnv

    def build(bars: DictatedBars, *, is_training: bool = False, **costs: float) -> AnyEnv:
        arrays = {
            "price_array": bars.closes[:, None],
            "tech_array": np.zeros((len(bars), 1)),
            "turbulence_array": np.zeros(len(bars)),
            "if_train": is_training,
        }
        made: AnyEnv = environment(
            arrays,
            initial_capital=costs["initial_cash"],
            buy_cost_pct=costs["fee_frac"],
            sell_cost_pct=costs["fee_frac"],
            max_stock=_MOST_SHARES,
        )
        return made

    return EnvProbe(
        name="FinRL StockTradingEnv (np)",
        version=version_of(_PACKAGE),
        build=build,
        build_varied=partial(build, is_training=True),
        **_ACTIONS,
        cash=lambda env, info: _inner(env).amount,
        units=lambda env, info: _inner(env).stocks[0],
        equity=lambda env, info: _inner(env).total_asset,
    )


def _inner(env: AnyEnv) -> Any:
    return env.unwrapped
