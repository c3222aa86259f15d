"""Speed of the direct gradient on a GPU, one kernel at a time and as a CUDA graph.

python benchmarks/gpu_direct.py [--device cuda] [--modes eager graph …] [--out gpu_direct.json]

Needs torch, NumPy and these sources alone. By default 150 updates of 143 agents × 16 environments ×
64 bars on a synthetic market. Modes: `eager` starts every kernel from Python; `compiled` compiles
the differentiable step; `graph` and `compiled_graph` replay a whole update of each as one CUDA
graph. First the weights of each mode are compared with those of `eager` after every one of a few
updates, and a learner that resumes halfway with one that never stopped. Then a fresh learner is
timed: the first update, the second (captures), the others; compiling is over by then, and is the
`first_s` of the comparison. A mode that would take longer than --limit seconds stops and says so
(`complete`: false, `seconds` extrapolated). A mode that fails leaves its error; others go on.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import statistics
import sys
import time
import traceback
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCES))

import numpy as np  # noqa: E402
import torch  # noqa: E402

if importlib.util.find_spec("gymnasium") is None:
    # The package registers environments with Gymnasium, which this script does without.
    _ENVS = types.ModuleType("tradingbot.envs")
    _ENVS.__path__ = [str(SOURCES / "tradingbot" / "envs")]
    sys.modules["tradingbot.envs"] = _ENVS

from tradingbot.envs.config import EnvConfig  # noqa: E402
from tradingbot.envs.population import PopulationTask  # noqa: E402
from tradingbot.envs.world import World  # noqa: E402
from tradingbot.learning.direct.config import DirectConfig  # noqa: E402
from tradingbot.learning.direct.learner import Direct  # noqa: E402
from tradingbot.learning.schedules import Schedule  # noqa: E402
from tradingbot.market.params import (  # noqa: E402
    AccountRules,
    ActionRules,
    EpisodeRules,
    SimulatorParams,
)
from tradingbot.networks.view import TableView  # noqa: E402
from tradingbot.risk.limits import RiskLimits  # noqa: E402

SEED = 7
GOAL_S = 15.0
TOLERANCE = 2e-3  # of weights after a few float32 updates, relative to their size
SIGNAL_MEMORY, SIGNAL_STRENGTH, VOLATILITY = 0.8, 0.1, 0.01
MODES: Mapping[str, tuple[bool, bool]] = {
    "eager": (False, False),
    "graph": (False, True),
    "compiled": (True, False),
    "compiled_graph": (True, True),
}
"""Whether the step is compiled, and whether updates are captured."""
ENV = EnvConfig(
    rules=SimulatorParams(
        account=AccountRules(position_loss_frac=float("inf"), portfolio_loss_frac=1.0),
        limits=RiskLimits(max_position_frac=1.0),
        action=ActionRules(space="target", smoothing_bars=1),
        episode=EpisodeRules(episode_bars=128, window_bars=1),
    ),
    reward="log_growth",
)
Result = dict[str, Any]


def main() -> None:
    """Compare and time the modes, write one JSON object."""
    given = read_arguments()
    world = market(given.symbols, given.bars)
    device = torch.device(given.device)
    is_cuda = device.type == "cuda"
    result: Result = {
        "device": torch.cuda.get_device_name(device) if is_cuda else device.type,
        "versions": f"torch {torch.__version__}, numpy {np.__version__}",
        "work": f"{given.updates} updates of {given.symbols} agents × {given.envs} environments "
        f"× {given.chunk} bars; {world.label}",
        "goal_seconds": GOAL_S,
        "modes": {},
    }
    path = given.out or Path(os.environ.get("OUT", ".")) / "gpu_direct.json"
    expected: list[dict[str, torch.Tensor]] = []
    for name in dict.fromkeys(("eager", *given.modes)):
        print(f"{name} …", flush=True)
        found = guarded(name, world, given, expected)
        result["modes"][name] = found
        print(json.dumps(found, indent=1)[:3000], flush=True)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"Wrote {path}")
    print_table(result)


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    parser.add_argument("--symbols", type=int, default=143)
    parser.add_argument("--bars", type=int, default=3528)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--chunk", type=int, default=64, help="bars of an update")
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--compared", type=int, default=6, help="updates that are compared")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of one timed training")
    parser.add_argument("--eager-limit", type=float, default=8.0, help="of mode eager")
    parser.add_argument("--profile", action="store_true", help="count kernels of the last update")
    parser.add_argument("--out", type=Path, help="default: gpu_direct.json in $OUT or here")
    return parser.parse_args()


def guarded(
    name: str, world: World, given: argparse.Namespace, expected: list[dict[str, torch.Tensor]]
) -> Result:
    """Measure a mode; an error becomes its result."""
    found: Result = {}
    gc.collect()
    if given.device.startswith("cuda"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    try:
        found["comparison"] = compare(name, world, given, expected)
        found |= timed(name, world, given)
    except Exception as e:  # one broken mode must not cost the others
        found |= {"error": f"{type(e).__name__}: {e}", "trace": traceback.format_exc()[-3000:]}
    return found


def compare(
    name: str, world: World, given: argparse.Namespace, expected: list[dict[str, torch.Tensor]]
) -> Result:
    """Compare weights with those of eager after every update, and a resumed learner's at the end.

    The first call, of mode eager, fills `expected`.
    """
    start = time.perf_counter()
    learner, middle, halfway, gaps = make(name, world, given), {}, given.compared // 2, []
    first_s = 0.0
    for number in range(given.compared):
        if number == halfway:
            middle = learner.state()
        learner.update()
        weights = weights_of(learner)
        first_s = first_s or time.perf_counter() - start
        if name == "eager":
            expected.append(weights)
        gaps.append(furthest(weights, expected[number]))
    resumed = make(name, world, given)
    resumed.load_state(middle)
    for _ in range(given.compared - halfway):
        resumed.update()
    return {
        "differences_from_eager": gaps,
        "tolerance": TOLERANCE,
        "equal": max(gaps) <= TOLERANCE,
        "resumed_difference": furthest(weights_of(resumed), weights),
        "first_s": first_s,
        "seconds": time.perf_counter() - start,
    }


def timed(name: str, world: World, given: argparse.Namespace) -> Result:
    """Time a fresh learner to the last update or the limit."""
    learner = make(name, world, given)
    limit = given.eager_limit if name == "eager" else given.limit
    each: list[float] = []
    wait(given)
    while len(each) < given.updates and sum(each) < limit:
        start = time.perf_counter()
        made = learner.update()
        wait(given)
        each.append(time.perf_counter() - start)
    others = each[2:] or each
    found: Result = {
        "updates": len(each),
        "complete": len(each) == given.updates,
        "first_s": each[0],
        "second_s": each[min(1, len(each) - 1)],
        "median_other_s": statistics.median(others),
        "seconds": sum(each) + (given.updates - len(each)) * statistics.median(others),
        "growth_bp_last": float(made.metrics["rollout/growth_bp"].mean()),
        "finite": all(bool(torch.isfinite(x).all()) for x in made.metrics.values()),
    }
    if given.device.startswith("cuda"):
        found["peak_bytes"] = torch.cuda.max_memory_allocated()
        found["reserved_bytes"] = torch.cuda.memory_reserved()
    if given.profile and name != "eager":
        found["kernels_per_update"] = count_kernels(learner, given)
    return found


def count_kernels(learner: Direct, given: argparse.Namespace) -> Result:
    """Count what one update runs on the GPU, the most time first."""
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        learner.update()
        wait(given)
    rows = profile.key_averages()
    top = sorted(rows, key=lambda row: -row.device_time_total)[:12]
    return {
        "count": sum(row.count for row in rows),
        "busy_ms": sum(row.device_time_total for row in rows) / 1e3,
        "top": [(row.key[:70], row.count, row.device_time_total / 1e3) for row in top],
    }


def make(name: str, world: World, given: argparse.Namespace) -> Direct:
    """Return the learner of a mode, with 70 % of the bars to learn from."""
    compiled, captured = MODES[name]
    device = given.device
    task = PopulationTask(
        world, ENV, n_envs=given.envs, seed=SEED, device=device, compiled=compiled
    )
    task = task.during(0, int(0.7 * world.n_bars)).showing("size")
    rate = Schedule("cosine", 3e-3, 0.0, over=given.updates * given.chunk * given.envs)
    config = DirectConfig(chunk_bars=given.chunk, learning_rate=rate)
    return Direct(task, TableView(task.table), config, seed=SEED, captured=captured)


def market(n_symbols: int, n_bars: int) -> World:
    """Draw bars whose next return one of 36 numbers foretells a little; all others are noise."""
    draws = np.random.default_rng(SEED)
    shape = (n_symbols, n_bars)
    features = draws.standard_normal((*shape, 23)).astype(np.float32).clip(-5.0, 5.0)
    signal = features[..., 0]
    for t in range(1, n_bars):
        keep = (1.0 - SIGNAL_MEMORY**2) ** 0.5
        signal[:, t] = SIGNAL_MEMORY * signal[:, t - 1] + keep * signal[:, t]
    returns = VOLATILITY * draws.standard_normal(shape)
    returns[:, 1:] += VOLATILITY * SIGNAL_STRENGTH * signal[:, :-1]
    close = 100.0 * np.exp(returns.cumsum(axis=1))
    opening = np.concatenate([close[:, :1], close[:, :-1]], axis=1)
    reach = 1.0 + 0.2 * VOLATILITY * draws.random(shape)
    prices = np.stack(
        [opening, np.maximum(opening, close) * reach, np.minimum(opening, close) / reach, close,
         np.full(shape, 1e6)], axis=-1,
    )  # fmt: skip
    there = np.ones(shape, dtype=bool)
    return World(
        symbols=tuple(f"S{i:03d}" for i in range(n_symbols)),
        prices=prices,
        present=there,
        features=features,
        regimes=draws.uniform(-1.0, 1.0, (*shape, 10)).astype(np.float32),
        probabilities=np.full((*shape, 3), 1.0 / 3.0, dtype=np.float32),
        usable=there,
        closed_at=np.arange(n_bars, dtype=np.int64) * 3_600_000_000,
        feature_names=tuple(f"feature_{i}" for i in range(23)),
        regime_names=tuple(f"regime_{i}" for i in range(10)),
        label=f"synthetic, one signal, {n_symbols} symbols × {n_bars} bars, seed {SEED}",
        synthetic=True,
    )


def weights_of(learner: Direct) -> dict[str, torch.Tensor]:
    """Copy the actor's weights."""
    weights = learner.networks()["actor"].state_dict()
    return {name: tensor.detach().double().cpu() for name, tensor in weights.items()}


def furthest(ours: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]) -> float:
    """Return the largest difference between tensors of one name, relative to their size."""
    return max(
        float((ours[name] - theirs[name]).abs().max() / theirs[name].abs().max().clamp_min(1e-3))
        for name in theirs
    )


def wait(given: argparse.Namespace) -> None:
    """Let the device finish what was asked of it."""
    if given.device.startswith("cuda"):
        torch.cuda.synchronize()


def print_table(result: Result) -> None:
    """Print a line per mode."""
    print(f"{result['device']}, {result['versions']}: {result['work']}")
    for name, found in result["modes"].items():
        if "error" in found:
            print(f"{name:>15}: {found['error'][:200]}")
            continue
        gaps = found["comparison"]
        print(
            f"{name:>15}: {found['seconds']:8.2f} s of {found['updates']} updates timed"
            f" | compiling {gaps['first_s']:.2f}"
            f" first {found['first_s']:.2f} second {found['second_s']:.2f}"
            f" other {found['median_other_s']:.4f} s"
            f" | differs {max(gaps['differences_from_eager']):.1e}"
            f" resumed {gaps['resumed_difference']:.1e}"
            f" | peak {found.get('peak_bytes', 0) / 1e9:.2f}"
            f" reserved {found.get('reserved_bytes', 0) / 1e9:.2f} GB"
            f" | growth {found['growth_bp_last']:.3f} bp"
        )


if __name__ == "__main__":
    main()
