"""Speed of training on a GPU, with torch, NumPy, Polars, Pydantic, Gymnasium and these sources.

python benchmarks/gpu_training.py [--device cuda] [--parts check embed ppo …] [--out result.json]

The market is synthetic (`planted`), 143 symbols × 3,528 bars; one agent per symbol. First updates
on the device are compared with the CPU. A part trains once to warm up (kernels, compilation) and
is then timed whole with a fresh learner; one that would take longer than --limit seconds stops and
says so (`complete`: false, `seconds` extrapolated). A part that fails leaves its error and the
others go on. `--steps`, `--symbols` and `--bars` make everything smaller for a trial on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch

from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.envs.world import World
from tradingbot.envs.worlds import synthetic_world
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner
from tradingbot.learning.playing import play, score
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import Schedule
from tradingbot.market.rules import AccountRules, ActionRules, EpisodeRules, Rules
from tradingbot.networks.embedding import embed_table
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.heads import HeadConfig
from tradingbot.networks.view import EncoderView, TableView, View
from tradingbot.risk.limits import RiskLimits

SEED = 7
BARS_PER_YEAR = 1764.0
TOLERANCE = 2e-3  # of weights after a few float32 updates, relative to their size
GOALS_S = {"embed": 0.15, "ppo": 10.0, "ppo_trainable_encoder": 120.0, "sac": 60.0}
RULES = Rules(
    account=AccountRules(position_loss_frac=float("inf"), portfolio_loss_frac=1.0),
    limits=RiskLimits(max_position_frac=1.0),
    action=ActionRules(space="target", smoothing_bars=1),
    episode=EpisodeRules(episode_bars=128, window_bars=1),
)
ENV = EnvConfig(rules=RULES, reward="log_growth")
Result = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    device: torch.device
    symbols: int
    bars: int
    steps: int
    """Environment steps per agent."""
    limit_s: float
    """Of one timed training."""
    encoder: str
    growth: tuple[int, ...]
    """Numbers of agents."""


def main() -> None:
    """Run the parts, write one JSON object."""
    given = read_arguments()
    scale = Scale(
        torch.device(given.device), given.symbols, given.bars, given.steps, given.limit,
        given.encoder, tuple(given.growth),
    )  # fmt: skip
    result: Result = describe(scale)
    path = given.out or Path(os.environ.get("OUT", ".")) / "gpu_training.json"
    for name in given.parts:
        print(f"{name} …", flush=True)
        result["parts"][name] = guarded(PARTS[name], scale)
        print(json.dumps(result["parts"][name], indent=1)[:2000], flush=True)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"Wrote {path}")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--symbols", type=int, default=143)
    parser.add_argument("--bars", type=int, default=3528)
    parser.add_argument("--steps", type=int, default=100_000, help="per agent")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds of one training")
    parser.add_argument("--encoder", default="full")
    parser.add_argument("--growth", type=int, nargs="+", default=[1, 10, 100, 143, 300, 1000])
    parser.add_argument("--out", type=Path, help="default: gpu_training.json in $OUT or here")
    return parser.parse_args()


def describe(scale: Scale) -> Result:
    """Say where and on what is measured."""
    is_cuda = scale.device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(scale.device) if is_cuda else scale.device.type,
        "versions": f"torch {torch.__version__}, numpy {np.__version__}",
        "data": f"synthetic, planted, {scale.symbols} symbols × {scale.bars} bars",
        "steps_per_agent": scale.steps,
        "parts": {},
    }


def guarded(part: Callable[[Scale], Result], scale: Scale) -> Result:
    """Measure a part; an error becomes its result."""
    free(scale.device)
    start = time.perf_counter()
    try:
        found = part(scale)
    except Exception as e:  # one broken part must not cost the others
        found = {"error": f"{type(e).__name__}: {e}", "trace": traceback.format_exc()[-3000:]}
    return found | {"part_seconds": time.perf_counter() - start}


# ---- parts -----------------------------------------------------------------------------------


def check(scale: Scale) -> Result:
    """Compare a few updates of the direct gradient, which draws nothing, with the CPU."""
    world = market(min(scale.symbols, 8), min(scale.bars, 1024))
    config = DirectConfig(actor=HeadConfig(hidden=(32,)), chunk_bars=16)
    found: dict[str, dict[str, torch.Tensor]] = {}
    for device in (torch.device("cpu"), scale.device):
        task = task_of(world, replace_device(scale, device), 8, compiled=False)
        learner = Direct(task, TableView(task.table), config, seed=SEED)
        for _ in range(4):
            learner.update()
        found[device.type] = {
            name: tensor.detach().double().cpu()
            for name, tensor in learner.networks()["actor"].state_dict().items()
        }
    ours, theirs = found[scale.device.type], found["cpu"]
    worst = max(
        float((ours[name] - theirs[name]).abs().max() / theirs[name].abs().max().clamp_min(1e-3))
        for name in theirs
    )
    return {
        "updates": 4,
        "largest_relative_difference": worst,
        "tolerance": TOLERANCE,
        "equal": worst <= TOLERANCE,
        "embedding": check_embedding(scale),
        "actions": check_actions(scale, world),
    }


def check_embedding(scale: Scale) -> Result:
    """Compare embeddings of the same weights."""
    encoder = full_encoder(scale, 33, torch.device("cpu"))
    table = torch.randn(2, 256, 33, generator=make_generator(SEED, "check"))
    expected = embed_table(encoder, table)
    found = embed_table(encoder.to(scale.device), table.to(scale.device)).cpu()
    return {"largest_difference": float((found - expected).abs().max())}


def check_actions(scale: Scale, world: World) -> Result:
    """Compare the step of the simulator under the same actions, compiled where it would be."""
    tasks = [task_of(world, replace_device(scale, device), 16) for device in ("cpu", scale.device)]
    states = [task.begin()[0] for task in tasks]
    draws = make_generator(SEED, "actions")
    odd = 0.0
    for _ in range(32):
        action = torch.rand(world.n_symbols, 16, generator=draws)
        pairs = zip(tasks, states, strict=True)
        made = [task.step(state, action.to(task.table.device)) for task, state in pairs]
