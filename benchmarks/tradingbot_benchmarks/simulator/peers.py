"""Other trading environments, stepped with random actions: what ours is compared with.

Each runs in a process of its own (`python -m tradingbot_benchmarks.simulator.peers NAME SECONDS`),
because importing one changes warnings and backends of the process. Their code is not modified.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tradingbot.domain.seeding import stream
from tradingbot_benchmarks.simulator.timing import calls_per_second

if TYPE_CHECKING:
    import pandas as pd

WINDOW_BARS = 24
N_FEATURES = 23
N_BARS = 3528
FINRL_TICKERS = 143
FINRL_SHORT_BARS = 300
REPEATS = 3
FINRL_INDICATORS = (
    "macd",
    "boll_ub",
    "boll_lb",
    "rsi_30",
    "cci_30",
    "dx_30",
    "close_30_sma",
    "close_60_sma",
)
_DRAWN = 4096  # actions drawn at once, as for a batch of ours: a draw per step costs peers most
NOT_INSTALLED = "not installed"


Built = tuple[Any, Iterator[Any], int]
"""An environment, random actions without end, and its number of symbols."""


@dataclass(frozen=True)
class PeerSpeed:
    """What a peer reached, or why it has no figure."""

    symbol_steps_per_s: float | None
    reason: str = ""


@dataclass(frozen=True)
class Peer:
    """One environment of another project."""

    module: str
    """Its top-level package."""
    package: str
    """Its name on the package index."""
    setting: str
    """What is measured."""
    build: Callable[[], Built]


def measure_peer(name: str, seconds: float) -> PeerSpeed:
    """Measure a peer of `PEERS` in a fresh process; an absent one gets a reason, not a number."""
    if importlib.util.find_spec(PEERS[name].module) is None:
        return PeerSpeed(None, NOT_INSTALLED)
    command = [sys.executable, "-m", "tradingbot_benchmarks.simulator.peers", name, str(seconds)]
    finished = subprocess.run(command, check=False, capture_output=True, text=True)
    if finished.returncode != 0:
        lines = finished.stderr.strip().splitlines() or ["no message"]
        return PeerSpeed(None, f"installed, but failed: {lines[-1]}")
    return PeerSpeed(float(json.loads(finished.stdout.splitlines()[-1])))


def step_peer(name: str, seconds: float) -> float:
    """Step a peer with random actions for some time, resets included; symbol-steps per second."""
    env, actions, n_symbols = PEERS[name].build()
    env.reset(seed=0)
    steps_per_s = calls_per_second(
        lambda: _step(env, next(actions)), seconds=seconds / REPEATS, repeats=REPEATS
    )
    return steps_per_s * n_symbols


def _step(env: Any, action: Any) -> None:
    _, _, terminated, truncated, _ = env.step(action)
    if terminated or truncated:
        env.reset()


def _codes(n_codes: int) -> Iterator[int]:
    draws = stream(0, "bench", "peer")
    while True:
        yield from draws.integers(0, n_codes, _DRAWN).tolist()


def _vectors(width: int) -> Iterator[Any]:
    draws = stream(0, "bench", "peer")
    while True:
        yield from draws.uniform(-1.0, 1.0, (_DRAWN // width, width)).astype(np.float32)


def _bars(n_bars: int) -> pd.DataFrame:
    import pandas as pd

    draws = stream(0, "bench", "peer bars")
    close = 100.0 * np.exp(np.cumsum(0.006 * draws.standard_normal(n_bars)))
    opened = close * np.exp(0.001 * draws.standard_normal(n_bars))
    index = pd.date_range("2024-01-01", periods=n_bars, freq="h")
    high, low = np.maximum(opened, close) * 1.002, np.minimum(opened, close) * 0.998
    return pd.DataFrame(
        {"open": opened, "high": high, "low": low, "close": close, "volume": 1e6}, index=index
    )


def _gym_anytrading() -> Built:
    from gym_anytrading.envs import StocksEnv

    frame = _bars(N_BARS).rename(columns=str.capitalize)
    env = StocksEnv(df=frame, window_size=WINDOW_BARS, frame_bound=(WINDOW_BARS, N_BARS))
    return env, _codes(2), 1


def _gym_trading_env() -> Built:
    from gym_trading_env.environments import TradingEnv

    frame = _bars(N_BARS)
    draws = stream(0, "bench", "peer features")
    for number in range(N_FEATURES):
        frame[f"feature_{number}"] = draws.standard_normal(N_BARS)
    positions = [-1, -0.5, 0, 0.25, 0.5, 0.75, 1]
    env = TradingEnv(
        df=frame,
        positions=positions,
        trading_fees=1e-4,
        borrow_interest_rate=2e-6,
        max_episode_duration=512,
        verbose=0,
    )
    return env, _codes(len(positions)), 1


def _finrl(n_bars: int) -> Built:
    env_class = _finrl_environment()
    env = env_class(
        df=_finrl_frame(n_bars),
        stock_dim=FINRL_TICKERS,
        hmax=100,
        initial_amount=1_000_000,
        num_stock_shares=[0] * FINRL_TICKERS,
        buy_cost_pct=[0.001] * FINRL_TICKERS,
        sell_cost_pct=[0.001] * FINRL_TICKERS,
        reward_scaling=1e-4,
        state_space=1 + FINRL_TICKERS * (2 + len(FINRL_INDICATORS)),
        action_space=FINRL_TICKERS,
        tech_indicator_list=list(FINRL_INDICATORS),
        print_verbosity=10**9,
    )
    return env, _vectors(FINRL_TICKERS), FINRL_TICKERS


def _finrl_environment() -> Any:
    # FinRL's top-level import asks for brokers' packages that its environment does not need.
    package = importlib.util.find_spec("finrl")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0])
    file = folder / "meta" / "env_stock_trading" / "env_stocktrading.py"
    spec = importlib.util.spec_from_file_location("finrl_env_stocktrading", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.StockTradingEnv


def _finrl_frame(n_bars: int) -> pd.DataFrame:
    """Long frame with one row per day and ticker, indexed by the number of the day."""
    import pandas as pd

    draws = stream(0, "bench", "peer tickers")
    shape = (n_bars, FINRL_TICKERS)
    close = 100.0 * np.exp(np.cumsum(0.006 * draws.standard_normal(shape), axis=0))
    days = np.repeat(np.arange(n_bars), FINRL_TICKERS)
    dates = pd.date_range("2024-01-01", periods=n_bars).strftime("%Y-%m-%d").to_numpy()
    columns: dict[str, Any] = {
        "date": dates[days],
        "tic": np.tile([f"S{n:03d}" for n in range(FINRL_TICKERS)], n_bars),
        "close": close.ravel(),
    }
    columns |= {name: draws.standard_normal(close.size) for name in FINRL_INDICATORS}
    return pd.DataFrame(columns, index=days)


PEERS: dict[str, Peer] = {
    "gym_anytrading": Peer(
        "gym_anytrading", "gym-anytrading", "StocksEnv, window 24 of 2 columns", _gym_anytrading
    ),
    "gym_trading_env": Peer(
        "gym_trading_env",
        "gym-trading-env",
        "7 positions, 23 features, no window",
        _gym_trading_env,
    ),
    "finrl": Peer(
        "finrl",
        "FinRL",
        f"StockTradingEnv (pandas), 143 tickers × {N_BARS:,} bars, 8 indicators",
        partial(_finrl, N_BARS),
    ),
    # It looks through the whole frame at every step, so a short one flatters it.
    "finrl_short": Peer(
        "finrl",
        "FinRL",
        f"the same with {FINRL_SHORT_BARS} bars",
        partial(_finrl, FINRL_SHORT_BARS),
    ),
}


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(step_peer(sys.argv[1], float(sys.argv[2])))}\n")
