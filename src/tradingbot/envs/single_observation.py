"""The observation of one account, written number by number into a fresh row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tradingbot.envs.config import EnvConfig
from tradingbot.envs.picklable import Remade
from tradingbot.envs.spaces import Observation, flatten_layout
from tradingbot.envs.world import World
from tradingbot.market.observation import private_features
from tradingbot.market.scalar import ScalarAccount, open_account
from tradingbot.market.tracing import straight_line

ObservationRow = NDArray[np.float32]
_FLOAT32 = np.dtype(np.float32)
Observer = Callable[[ScalarAccount], Observation | ObservationRow]


def make_observer(world: World, config: EnvConfig) -> Observer:
    """Return the function that shows an account its market and itself.

    Its result shares no memory with the world or with any result before.
    """
    return Remade(_observer, world, config)


def _observer(world: World, config: EnvConfig) -> Observer:
    write, layout = _writer(world, config), flatten_layout(world, config)
    if config.observation == "flat":
        return write
    technical, probabilities, position, portfolio, regime = layout
    window_end, window_shape = technical.stop, technical.shape
    columns = (probabilities.columns, position.columns, portfolio.columns, regime.columns)

    def observe(account: ScalarAccount) -> Observation:
        row = write(account)
        # Views of one fresh row: nothing is copied twice.
        return {
            "technical": row[:window_end].reshape(window_shape),
            "probabilities": row[columns[0]],
            "position": row[columns[1]],
            "portfolio": row[columns[2]],
            "regime": row[columns[3]],
        }

    return observe


def _writer(world: World, config: EnvConfig) -> Callable[[ScalarAccount], ObservationRow]:
    technical, probabilities, position, portfolio, regime = flatten_layout(world, config)
    rules = config.rules
    n_features = len(world.feature_names)
    features = _by_row(world.features).reshape(-1)  # a window is one run of it
    likely, regimes = _by_row(world.probabilities), _by_row(world.regimes)
    width, window_end = regime.stop, technical.stop
    private = slice(position.start, portfolio.stop)
    likely_columns, regime_columns = probabilities.columns, regime.columns
    private_numbers = straight_line(
        lambda account, maths: private_features(rules, account, maths), open_account(1.0, 0, 1.0)
    )

    def write(account: ScalarAccount) -> ObservationRow:
        at = account.row
        row = np.empty(width, _FLOAT32)
        after = (at + 1) * n_features
        row[:window_end] = features[after - window_end : after]
        row[likely_columns] = likely[at]
        row[private] = private_numbers(account)
        row[regime_columns] = regimes[at]
        return row

    return write


def _by_row(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lay (N, T, F) out as rows symbol · T + bar."""
    return np.ascontiguousarray(values, np.float32).reshape(-1, values.shape[-1])
