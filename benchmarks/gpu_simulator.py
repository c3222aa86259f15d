"""Speed of the simulator on a GPU, with nothing but torch, NumPy and this repository's sources.

python benchmarks/gpu_simulator.py [--device cuda] [--lanes 4096 65536 1048576] [--out gpu.json]

Every rule is on and the reward is the whole of v31, as in `tradingbot bench simulator`; actions
are random and drawn on the device within the timed loop; the market is synthetic. Before timing,
the compiled step on the device is compared with the functions called one by one on the CPU, both
in float64, where rounding cannot hide a difference; speed is measured in float32. Programs:
`compiled` calls the compiled step from Python, `graph` replays a CUDA graph of several such steps
over static buffers (on a CPU there is only `compiled`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch

from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.compiled import (
    PackedStep,
    PackedStepFunction,
    compiled_step,
    packed_step,
)
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.episodes import Starts, begin, drawn_symbols, possible_starts
from tradingbot.market.packing import PackedAccount, pack, pack_rates
from tradingbot.market.params import AccountRules, SimulatorParams
from tradingbot.market.simulation import Reward
from tradingbot.rewards import reward_preset
from tradingbot.risk.limits import RiskLimits

SEED = 7
N_SYMBOLS, N_BARS = 143, 3528
CHECKED_LANES, CHECKED_STEPS = 4096, 64
STEPS_PER_GRAPH = 16
COPIED_BYTES = 2**30
RELATIVE_SLACK = 1e-8  # of a float64 number: operations in another order round differently
ODD_LANES = 1e-3  # share of lanes in which rounding may tip a comparison

RULES = SimulatorParams(
    account=AccountRules(
        stop_loss_frac=0.02,
        take_profit_frac=0.04,
        max_holding_bars=70,
        position_loss_frac=0.05,
        portfolio_loss_frac=0.20,
    ),
    limits=RiskLimits(max_position_frac=0.5, reserve_frac=0.02, allow_short=True),
)


StepMaker = Callable[[SimulatorParams, Reward, TensorMarket, Starts], PackedStepFunction]


class Lanes:
    """B environments on a device, and the step that advances them."""

    def __init__(self, market: TensorMarket, n_lanes: int, make: StepMaker) -> None:
        device = market.device
        usable = np.ones((market.n_symbols, market.n_bars), dtype=bool)
        episode = RULES.episode
        possible = possible_starts(
            usable, window_bars=episode.window_bars, episode_bars=episode.episode_bars
        )
        starts = drawn_symbols(possible, n_lanes, SEED)
        self.market, self.starts = market, Starts(*(part.to(device) for part in starts))
        self.step = make(RULES, reward_preset("v31"), market, self.starts)
        rates = COST_PROFILES["impact"].rates(dtype=market.dtype, device=device)
        self.rates = pack_rates(rates)
        first = torch.zeros(n_lanes, dtype=torch.int32, device=device)
        cash = RULES.account.initial_cash_ccy
        self.account = pack(begin(self.starts, market, cash, first))
        self.action = torch.zeros(n_lanes, dtype=market.dtype, device=device)

    def advance(self) -> PackedStep:
        """Draw actions and step every lane."""
        self.action.uniform_(-1.0, 1.0)
        made = self.call(self.account)
        self.account = made.account
        return made

    def call(self, account: PackedAccount) -> PackedStep:
        """Step given accounts with the actions drawn last."""
        return self.step(self.rates, account, self.action)


def synthetic_bars() -> TensorMarket:
    """Random walks with bars around them, the same on every machine."""
    draws = np.random.default_rng(SEED)
    shape = (N_SYMBOLS, N_BARS)
    close = 100.0 * np.exp(np.cumsum(0.006 * draws.standard_normal(shape), axis=1))
    opened = np.concatenate([close[:, :1], close[:, :-1]], axis=1)
    opened = opened * np.exp(0.001 * draws.standard_normal(shape))
    spread = np.exp(np.abs(0.002 * draws.standard_normal(shape)))
    high, low = np.maximum(opened, close) * spread, np.minimum(opened, close) / spread
    volume = 1e6 * np.exp(0.3 * draws.standard_normal(shape))
    return tensor_market(
        np.stack([opened, high, low, close, volume], axis=-1),
        np.ones(shape, dtype=bool),
        dtype=torch.float64,
    )


def require_equal(device: torch.device, market: TensorMarket, n_lanes: int) -> float:
    """Compare compiled on the device with eager on the CPU; the largest share of odd lanes.

    Every step starts from the CPU's state, so that rounding cannot add up over steps.
    """
    ours = Lanes(market.to(device), n_lanes, compiled_step)
    theirs = Lanes(market, n_lanes, packed_step)
    worst = 0.0
    for _ in range(CHECKED_STEPS):
        before = theirs.account
        expected = theirs.advance()
        ours.action.copy_(theirs.action)
        found = ours.call(PackedAccount(*(part.to(device) for part in before)))
        pairs = zip((*found.account, *found[1:]), (*expected.account, *expected[1:]), strict=True)
        odd = torch.stack([differing(a.cpu(), b) for a, b in pairs]).any(0)
        worst = max(worst, float(odd.float().mean()))
    if worst > ODD_LANES:
        raise SystemExit(f"device differs from CPU in {worst:.3%} of lanes: no speed is measured")
    return worst


def differing(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Mark the lanes (B,) of (…, B) whose numbers differ beyond rounding."""
    if found.is_floating_point():
        size = expected.abs().amax(-1, keepdim=True).clamp_min(1.0)
        slack = RELATIVE_SLACK * torch.maximum(expected.abs(), 1e-2 * size)
        same = (found - expected).abs() <= slack
    else:
        same = found == expected
    return ~same.reshape(-1, same.shape[-1]).all(0)


def graph_of(lanes: Lanes) -> Callable[[], object]:
    """Capture several steps over static buffers; a call replays them all."""
    static = PackedAccount(*(part.clone() for part in lanes.account))

    def advance_static() -> PackedStep:
        lanes.action.uniform_(-1.0, 1.0)
        made = lanes.call(static)
        for buffer, part in zip(static, made.account, strict=True):
            buffer.copy_(part)
        return made

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            advance_static()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(STEPS_PER_GRAPH):
            advance_static()
    return graph.replay


def calls_per_second(call: Callable[[], object], device: torch.device, seconds: float) -> float:
    """Median over five repeats of calls per second, waiting for the device at each end."""
    for _ in range(5):
        call()
    wait(device)
    start = time.perf_counter()
    call()
    wait(device)
    calls = max(1, int(seconds / max(1e-7, time.perf_counter() - start)))
    rates = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait(device)
        rates.append(calls / (time.perf_counter() - start))
    return statistics.median(rates)


def wait(device: torch.device) -> None:
    """Let the device finish what was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def copy_bandwidth(device: torch.device, n_bytes: int, seconds: float) -> float:
    """Bytes read and written per second by copying a tensor."""
    source = torch.ones(max(1, n_bytes // 4), device=device)
    target = torch.empty_like(source)
    copies = calls_per_second(lambda: target.copy_(source), device, seconds)
    return copies * 2 * source.nbytes


def bytes_per_step(lanes: Lanes, made: PackedStep) -> float:
    """Bytes a lane's step reads and writes, from the tensors' sizes, each once."""
    drawn = (lanes.action, lanes.action)  # written by the draw, read by the step
    read = (*lanes.account, lanes.starts.offset, lanes.starts.key)
    written = (*made.account, *made[1:])
    moved = sum(part.nbytes for part in (*read, *written, *drawn)) / len(lanes.action)
    next_start = lanes.starts.choices.element_size() + lanes.market.rows.element_size()
    return moved + lanes.market.rows[0].nbytes + next_start


def measure(
    device: torch.device, market: TensorMarket, n_lanes: int, bandwidth: float, seconds: float
) -> list[dict[str, object]]:
    """Measure one number of lanes with every program the device has."""
    lanes = Lanes(market.to(device, torch.float32), n_lanes, compiled_step)
    made = lanes.advance()
    moved = bytes_per_step(lanes, made)
    speeds = {"compiled": calls_per_second(lanes.advance, device, seconds) * n_lanes}
    if device.type == "cuda":
        replay = graph_of(lanes)
        replays = calls_per_second(replay, device, seconds)
        speeds["graph"] = replays * STEPS_PER_GRAPH * n_lanes
    points: list[dict[str, object]] = []
    for program, speed in speeds.items():
        point = {
            "name": f"{device.type}_{program}_{n_lanes}",
            "program": program,
            "lanes": n_lanes,
            "steps_per_s": speed,
            "bytes_per_step": moved,
            "bound_steps_per_s": bandwidth / moved,
            "share_of_bound": speed * moved / bandwidth,
            "state_bytes_per_lane": lanes.account.bytes_per_account,
        }
        print(
            f"{point['name']}: {speed / 1e6:,.1f} M steps/s, "
            f"{point['share_of_bound']:.0%} of the memory bound",
            flush=True,
        )
        points.append(point)
    return points


def main() -> None:
    """Check, measure, write one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--lanes", type=int, nargs="+", default=[4096, 65_536, 1_048_576])
    parser.add_argument("--seconds", type=float, default=1.0, help="of one repeat")
    parser.add_argument("--out", type=Path, help="default: gpu_simulator.json in $OUT or here")
    given = parser.parse_args()
    device = torch.device(given.device)
    market = synthetic_bars()
    checked = min(CHECKED_LANES, max(given.lanes))
    odd = require_equal(device, market, checked)
    print(f"equal to the CPU over {CHECKED_STEPS} steps of {checked:,} lanes; odd {odd:.4%}")
    bandwidth = copy_bandwidth(device, COPIED_BYTES if device.type == "cuda" else 2**26, 0.2)
    print(f"copy bandwidth {bandwidth / 1e9:,.0f} GB/s", flush=True)
    points = [
        point
        for n_lanes in given.lanes
        for point in measure(device, market, n_lanes, bandwidth, given.seconds)
    ]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    result = {
        "device": name,
        "versions": f"torch {torch.__version__}, numpy {np.__version__}",
        "copy_bandwidth": bandwidth,
        "odd_lanes": odd,
        "data": f"synthetic, {N_SYMBOLS} symbols × {N_BARS} bars",
        "points": points,
    }
    path = given.out or Path(os.environ.get("OUT", ".")) / "gpu_simulator.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"Wrote {path}")


if __name__ == "__main__":
    main()
