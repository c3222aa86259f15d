"""The simulator benchmark: measurements as records, with goals, peers and bounds beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.simulator.bound import GrowthPoint, call_seconds
from tradingbot_benchmarks.simulator.measure import LEFT_OUT, Measured
from tradingbot_benchmarks.simulator.peers import NOT_INSTALLED, PEERS, PeerSpeed

SPEED_GOALS = {
    "batch_4096": 30e6,
    "batch_65536": 40e6,
    "eager_4096": 1e6,
    "single_env": 150e3,
    "parallel_143": 1e6,
}
"""Steps per second on two cores."""
STEP_GOAL_MS = 0.02
SPEEDUP_GOAL = 5.0
"""Of 8 environments against one."""
BUSY_GOAL_FRAC = 0.4
"""Of the quiet figure, beside a busy process."""
FIRST_STEP_GOALS_S = {"cold": 15.0, "warm": 1.0}
RATIO_GOALS = {"gym_anytrading": 20.0, "gym_trading_env": 80.0, "finrl": 500.0}
LEARNER_GOAL_FRAC = 0.10
MEMORY_GOAL_BYTES = 4e6
"""Growth that counts as none: what an allocator keeps."""

NOTES = {
    "batch_4096": "native lanes; private observation and row of the market window",
    "batch_4096_busy": "the same beside one process that keeps a core busy",
    "batch_65536": "native lanes; private observation and row of the market window",
    "eager_4096": "the same functions, not compiled; one thread",
    "batch_4096_window24": "native lanes, and the flat observation with 24 bars written",
    "single_env": "gymnasium TradingEnv, named observation with a window of 24 bars",
    "vec_8": "gymnasium.make_vec's TradingVectorEnv, 8 environments, named observation",
    "sb3_vec_8": "Stable-Baselines3's TradingVecEnv, 8 environments, named observation",
    "parallel_143": "symbol-steps; 143 lanes per environment on a common clock",
    "parallel_143_alone": "symbol-steps of one environment",
}


def records(measured: Measured) -> list[BenchRecord]:
    """Turn measurements into records; a figure that could not be measured says why."""
    return [
        *(_speed(name, measured) for name in NOTES),
        *_single(measured),
        *_first_steps(measured),
        *_peers(measured),
        *_costs(measured),
        *_growth(measured.growth),
    ]


def _speed(name: str, measured: Measured) -> BenchRecord:
    value, note = measured.speeds.get(name), NOTES[name]
    if value is None:
        return absent(name, "steps/s", NOT_INSTALLED if name == "sb3_vec_8" else LEFT_OUT)
    if name == "parallel_143":
        note = f"{note}, {measured.scale.market_environments} environments"
    if name == "batch_4096_busy":
        quiet = BUSY_GOAL_FRAC * measured.speeds["batch_4096"]
        return beyond(name, value, "steps/s", quiet, "goal, 40 % of batch_4096", note=note)
    if name in ("vec_8", "sb3_vec_8"):
        goal = SPEEDUP_GOAL * measured.speeds["single_env"]
        return beyond(name, value, "steps/s", goal, "goal, 5 × single_env", note=note)
    return beyond(name, value, "steps/s", SPEED_GOALS.get(name), "goal", note=note)


def _single(measured: Measured) -> Iterable[BenchRecord]:
    for percentile, value in measured.step_ms.items():
        goal = STEP_GOAL_MS if percentile == "p95" else None
        yield within(f"single_env_{percentile}_ms", value, "ms", goal, "goal")


def _first_steps(measured: Measured) -> Iterable[BenchRecord]:
    if "vec_8" in measured.speeds:
        speedup = measured.speeds["vec_8"] / measured.speeds["single_env"]
        note = "vec_8 ÷ single_env"
        yield beyond("environment_speedup_at_8", speedup, "×", SPEEDUP_GOAL, "goal", note=note)
    for cache, goal in FIRST_STEP_GOALS_S.items():
        name = f"first_step_{cache}"
        if cache not in measured.first_step_s:
            yield absent(name, "s", LEFT_OUT)
            continue
        note = f"of 4,096 environments in a fresh process, imports not counted, {cache} cache"
        yield within(name, measured.first_step_s[cache], "s", goal, "goal, at most", note=note)


def _peers(measured: Measured) -> Iterable[BenchRecord]:
    ours = measured.speeds["batch_4096"]
    written = measured.speeds["batch_4096_window24"]
    peers = {name: measured.peers.get(name, PeerSpeed(None, LEFT_OUT)) for name in PEERS}
    for name, peer in PEERS.items():
        found = peers[name]
        yield _ratio(f"vs_{name}", ours, found, RATIO_GOALS.get(name), peer.setting)
        yield _ratio(f"vs_{name}_window24", written, found, None, "our window written out too")
    for name, peer in PEERS.items():
        speed = peers[name].symbol_steps_per_s
        if speed is None:
            yield absent(f"peer_{name}", "steps/s", peers[name].reason)
        else:
            yield BenchRecord(f"peer_{name}", speed, "steps/s", note=peer.setting)


def _ratio(name: str, ours: float, peer: PeerSpeed, goal: float | None, note: str) -> BenchRecord:
    if peer.symbol_steps_per_s is None:
        return absent(name, "×", peer.reason)
    return beyond(name, ours / peer.symbol_steps_per_s, "×", goal, "goal", note=note)


def _costs(measured: Measured) -> Iterable[BenchRecord]:
    if measured.learner_share is None:
        yield absent("sb3_env_share", "frac", measured.learner_reason)
    else:
        note = "of SB3 PPO's wall time, 1,024 environments"
        yield within(
            "sb3_env_share", measured.learner_share, "frac", LEARNER_GOAL_FRAC, "goal", note=note
        )
    yield BenchRecord("state_bytes_per_env", measured.state_bytes, "bytes", note="float32")
    name, growth = "memory_growth_1e6_steps", measured.memory_growth_bytes
    if growth is None:
        yield absent(name, "bytes", "this system does not tell the memory of a process")
    else:
        note = f"of the process over {measured.memory_steps:,} environment-steps, batch stepped on"
        yield BenchRecord(name, growth, "bytes", MEMORY_GOAL_BYTES, "goal, at most", note=note)
    note = f"read and written by a copy of {measured.scale.copied_bytes / 2**20:,.0f} MiB"
    yield BenchRecord("copy_bandwidth", measured.copy_bandwidth, "bytes/s", note=note)
    note = "of torch; a busy neighbour stalls more than one"
    yield BenchRecord("threads", measured.threads, "threads", note=note)


def _growth(points: Sequence[GrowthPoint]) -> list[BenchRecord]:
    found = []
    for point in points:
        copied = f"copied at {point.bandwidth / 1e9:.1f} GB/s"
        note = f"{point.bytes_per_step:,.0f} bytes per step, {copied}"
        name = f"growth_{point.axis}_{point.at.replace(' ', '_')}"
        bound = point.bound_steps_per_s
        found.append(beyond(name, point.steps_per_s, "steps/s", bound, "memory bound", note=note))
        if point.eager_steps_per_s is not None:
            found.append(BenchRecord(f"eager_{name}", point.eager_steps_per_s, "steps/s"))
    sizes = [point for point in points if point.axis == "environments"]
    if len(sizes) > 1:
        note = "a step of no environments, from the two smallest batches"
        found.append(BenchRecord("call_overhead", call_seconds(sizes), "s", note=note))
    return found


def beyond(
    name: str, value: float, unit: str, reference: float | None, what: str, *, note: str = ""
) -> BenchRecord:
    """Make a record of which more is better: its ratio is value ÷ reference."""
    if reference is None:
        return BenchRecord(name, value, unit, note=note)
    return BenchRecord(name, value, unit, reference, what, value / reference, note)


def within(
    name: str, value: float, unit: str, reference: float | None, what: str, *, note: str = ""
) -> BenchRecord:
    """Make a record of which less is better: its ratio is reference ÷ value."""
    if reference is None:
        return BenchRecord(name, value, unit, note=note)
    return BenchRecord(name, value, unit, reference, what, reference / value, note)


def absent(name: str, unit: str, reason: str) -> BenchRecord:
    """Make the record of a figure that was not measured: no number (null in JSON), a reason."""
    return BenchRecord(name, math.nan, unit, note=reason)
