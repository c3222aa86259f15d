"""Speed of a master on a GPU: 100,000 portfolio steps of 143 sleeves, and equality with the CPU.

python benchmarks/gpu_portfolio.py [--device cuda] [--modes graph eager …] [--out FILE.json]

Needs torch, NumPy and these sources alone. The sleeves are synthetic. First the same weights are
played on the CPU and on the device, bar by bar, and values are compared; then a few updates of the
direct gradient are made on both, and weights are compared. Then a fresh learner is timed: `eager`
starts every kernel from Python, `graph` replays a whole update as one CUDA graph. A mode that fails
leaves its error; others go on. One JSON object goes to the output and to the file: machine,
versions, equality, and seconds, steps and steps per second of each mode, its first updates and the
capture of the graph included.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
import time
import traceback
import types
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "src"
sys.path.insert(0, str(SOURCES))

import numpy as np  # noqa: E402
import torch  # noqa: E402

if importlib.util.find_spec("gymnasium") is None:
    # The packages register or export environments of Gymnasium, which this script does without.
    for _name in ("envs", "envs/portfolio"):
        _module = types.ModuleType(f"tradingbot.{_name.replace('/', '.')}")
        _module.__path__ = [str(SOURCES / "tradingbot" / _name)]
        sys.modules[_module.__name__] = _module

from tradingbot.envs.portfolio.sleeve_market import SleeveMarket, plant_sleeves  # noqa: E402
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms  # noqa: E402
from tradingbot.learning.direct.config import DirectConfig  # noqa: E402
from tradingbot.learning.direct.learner import Direct  # noqa: E402
from tradingbot.learning.schedules import Schedule  # noqa: E402
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams  # noqa: E402
from tradingbot.networks.head_config import HeadConfig  # noqa: E402
from tradingbot.networks.view import TableView  # noqa: E402
from tradingbot.risk.limits import RiskLimits  # noqa: E402

SEED = 7
GOAL_S = 60.0
VALUE_TOLERANCE = 1e-9  # of float64 values of portfolios, after all compared bars
WEIGHT_TOLERANCE = 2e-3  # of float32 weights after a few updates, relative to their size
MODES = {"eager": False, "graph": True}
Result = dict[str, Any]


def main() -> None:
    """Compare, time every mode, write one JSON object."""
    given = read_arguments()
    device = torch.device(given.device)
    updates = -(-given.steps // (given.envs * given.chunk))
    result: Result = {
        "machine": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "versions": f"torch {torch.__version__}, numpy {np.__version__}, "
        f"Python {platform.python_version()}",
        "work": f"{updates} updates of {given.envs} portfolios × {given.chunk} bars, "
        f"{given.sleeves} synthetic sleeves",
        "goal_seconds": GOAL_S,
        "modes": {},
    }
    path = given.out or Path(os.environ.get("OUT", ".")) / "gpu_portfolio.json"
    result["equality"] = guarded(lambda: compare(given, device))
    for name in given.modes:
        captured = MODES[name] and device.type == "cuda"
        found = guarded(lambda c=captured: timed(given, device, c, updates))
        result["modes"][name] = found
        print(name, json.dumps(found)[:2000], file=sys.stderr, flush=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result))


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    parser.add_argument("--sleeves", type=int, default=143)
    parser.add_argument("--bars", type=int, default=3528)
    parser.add_argument("--steps", type=int, default=100_000, help="portfolio steps of a training")
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--chunk", type=int, default=16, help="bars of an update")
    parser.add_argument("--compared", type=int, default=3, help="updates that are compared")
    parser.add_argument("--out", type=Path, help="default: gpu_portfolio.json in $OUT or here")
    return parser.parse_args()


def guarded(measure: Any) -> Result:
    """Measure; an error becomes the result."""
    try:
        found: Result = measure()
    except Exception as e:  # one broken mode must not cost the others
        return {"error": f"{type(e).__name__}: {e}", "trace": traceback.format_exc()[-3000:]}
    return found


def make_task(given: argparse.Namespace, device: torch.device) -> PortfolioTask:
    """Return portfolios of synthetic sleeves on a device."""
    market = SleeveMarket(n_sleeves=given.sleeves, n_bars=given.bars)
    rules = SimulatorParams(
        account=AccountRules(portfolio_loss_frac=1.0),
        limits=RiskLimits(max_position_frac=1.0),
        episode=EpisodeRules(episode_bars=128, window_bars=1),
    )
    book = plant_sleeves(market, SEED).book.to(device)
    terms = PortfolioTerms(rules, risk_aversion=40.0)
    return PortfolioTask(book, terms, n_envs=given.envs, seed=SEED)


def make_learner(
    given: argparse.Namespace, device: torch.device, captured: bool, updates: int
) -> Direct:
    """Return a fresh learner."""
    task = make_task(given, device)
    config = DirectConfig(
        actor=HeadConfig(hidden=(32,), pooling="pooled"),
        objective="reward",
        chunk_bars=given.chunk,
        learning_rate=Schedule("cosine", 1e-2, 0.0, over=updates * given.chunk * given.envs),
        weight_decay=2e-6,
        squash_gain=1.0,
        act_levels=0,
    )
    return Direct(task, TableView(task.table), config, seed=SEED, captured=captured)


def compare(given: argparse.Namespace, device: torch.device) -> Result:
    """Compare values of portfolios after bars of drawn weights, and weights after updates."""
    host = torch.device("cpu")
    tasks = [make_task(given, each) for each in (host, device)]
    states = [task.begin()[0] for task in tasks]
    draws = torch.Generator().manual_seed(SEED)
    for _ in range(64):
        wanted = torch.randn(1, given.envs, given.sleeves + 1, generator=draws).softmax(-1)
        states = [
            task.step(state, wanted.to(task.table.device)).state
            for task, state in zip(tasks, states, strict=True)
        ]
    values = [task.wealth(state).cpu() for task, state in zip(tasks, states, strict=True)]
    gap = float((values[0] - values[1]).abs().max())
    learners = [make_learner(given, each, False, 100) for each in (host, device)]
    for _ in range(given.compared):
        for learner in learners:
            learner.update()
    furthest = max(
        float((one.detach().cpu() - two.detach().cpu()).abs().max() / scale_of(one))
        for one, two in zip(
            *(learner.networks()["actor"].parameters() for learner in learners), strict=True
        )
    )
    return {
        "value_difference": gap,
        "values_equal": gap <= VALUE_TOLERANCE,
        "weight_difference": furthest,
        "weights_equal": furthest <= WEIGHT_TOLERANCE,
    }


def scale_of(weights: torch.Tensor) -> float:
    """Return the size of the largest weight."""
    return max(float(weights.detach().abs().max()), 1e-6)


def timed(given: argparse.Namespace, device: torch.device, captured: bool, updates: int) -> Result:
    """Time a fresh learner to the last update."""
    learner = make_learner(given, device, captured, updates)
    begin = time.perf_counter()
    for _ in range(updates):
        learner.update()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "steps": learner.steps,
        "steps_per_s": learner.steps / seconds,
        "goal_met": seconds <= GOAL_S,
    }


if __name__ == "__main__":
    main()
