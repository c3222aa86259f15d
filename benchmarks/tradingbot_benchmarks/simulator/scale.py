"""How much of the simulator benchmark is run: in full, quickly, or tiny for tests."""

from __future__ import annotations

from dataclasses import dataclass

HEADLINE_ENVIRONMENTS = 4096
WIDE_ENVIRONMENTS = 65_536


@dataclass(frozen=True)
class Scale:
    """Sizes and durations of one run of the benchmark; the figures keep their names."""

    headline: int = HEADLINE_ENVIRONMENTS
    """Environments of `batch_4096`."""
    wide: int = WIDE_ENVIRONMENTS
    """Environments of `batch_65536`."""
    environments: tuple[int, ...] = (64, 512, 4096, 65_536, 262_144)
    """Points of the growth over environments."""
    windows: tuple[int, ...] = (1, 8, 24, 96)
    """Bars in a window that is written out, all at `headline` environments."""
    symbols: tuple[int, ...] = (1, 10, 143)
    """Symbols among which episodes are drawn, all at `headline` environments."""
    rules: bool = True
    """Also measure with the optional rules off, and with a bare reward."""
    market_symbols: int = 143
    market_bars: int = 3528
    """Two years of hourly bars."""
    market_environments: int = 32
    """Environments of one lane per symbol in `parallel_143`."""
    lone_market: bool = True
    """Also step one environment of all symbols."""
    seconds: float = 0.4
    """Least time of one repeat."""
    repeats: int = 5
    """Odd, so that the median is a measurement."""
    few: int = 8
    """Environments of `vec_8` and `sb3_vec_8`."""
    busy: bool = True
    """Also measure beside another process that keeps a core busy."""
    first_steps: bool = True
    """Also measure the first step of a fresh process, with an empty and a filled cache."""
    single_steps: int = 20_000
    """Steps of the lone environment of which each is timed."""
    peers: tuple[str, ...] = ("gym_anytrading", "gym_trading_env", "finrl", "finrl_short")
    """Names of `simulator_peers.PEERS`."""
    peer_seconds: float = 4.0
    memory_batch_steps: int = 2500
    """Batch steps between two readings of the process's memory."""
    learner: bool = True
    """Measure the environment's share of SB3 PPO's time."""
    copied_bytes: int = 2**28
    """Size of the tensor whose copy measures the bandwidth of memory."""
    compiled: bool = True


FULL = Scale()
QUICK = Scale(
    environments=(4096, 65_536),
    windows=(24,),
    symbols=(143,),
    rules=False,
    lone_market=False,
    seconds=0.2,
    repeats=3,
    single_steps=5000,
    peers=("gym_anytrading", "gym_trading_env", "finrl"),
    peer_seconds=0.6,
    memory_batch_steps=250,
    learner=False,
    first_steps=False,
)
