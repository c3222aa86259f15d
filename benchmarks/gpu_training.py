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
import gc
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

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.envs.world import World
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.generators import make_generator
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.learner import Learner
from tradingbot.learning.playing import play, score
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import Schedule
from tradingbot.market.goals import GoalRules
from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.networks.embedding import embed_table
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import EncoderView, TableView, View
from tradingbot.risk.limits import RiskLimits
from tradingbot.training.config_files import load_train_config
from tradingbot.training.reward_tools import build_reward_transform

SEED = 7
BARS_PER_YEAR = 1764.0
TOLERANCE = 2e-3  # of weights after a few float32 updates, relative to their size
GOALS_S = {"embed": 0.15, "ppo": 10.0, "ppo_trainable_encoder": 120.0, "sac": 60.0, "sac_all": 90.0}
RULES = SimulatorParams(
    account=AccountRules(position_loss_frac=float("inf"), portfolio_loss_frac=1.0),
    limits=RiskLimits(max_position_frac=1.0),
    action=ActionRules(space="target", smoothing_bars=1),
    episode=EpisodeRules(episode_bars=128, window_bars=1),
)
ENV = EnvConfig(rules=RULES, reward="log_growth")
OBJECTIVES_ENV = EnvConfig(rules=RULES, reward="objectives")
REPLAY_SIZE, GOAL_REPLAY_BYTES = 200_000, 2_000_000_000
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
    worst = furthest(ours, theirs)
    return {
        "updates": 4,
        "largest_relative_difference": worst,
        "tolerance": TOLERANCE,
        "equal": worst <= TOLERANCE,
        "embedding": check_embedding(scale),
        "actions": check_actions(scale, world),
        "captured": check_captured(scale, world),
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
        gap = (made[0].reward - made[1].reward.cpu()).abs()
        odd = max(odd, float((gap > 1e-4).float().mean()))
        states = [each.state for each in made]
    return {"largest_share_of_differing_rewards": odd}


def check_captured(scale: Scale, world: World) -> Result:
    """Compare SAC with replayed gradient steps against the same steps one kernel at a time.

    A third learner resumes from the first one's state halfway. Only where there are CUDA graphs.
    """
    if scale.device.type != "cuda":
        return {"skipped": "no CUDA graphs on this device"}
    task = task_of(world, scale, 16, compiled=False)
    heads = HeadConfig(hidden=(32, 32), activation="relu")
    rate = Schedule("linear", 1e-3, 1e-4, over=8_192)
    config = SACConfig(actor=heads, critic=heads, warm_up=64, batch_size=64, learning_rate=rate)
    made = [
        SAC(task, TableView(task.table), config, seed=SEED, captured=captured)
        for captured in (True, False, True)
    ]
    for learner in made[:2]:
        learner.update()
    made[2].load_state(made[0].state())
    for learner in made:
        for _ in range(2):
            learner.update()
    weights = [
        {name: tensor.double() for name, tensor in each.state().items() if "networks" in name}
        for each in made
    ]
    return {
        "gradient_steps": 3 * config.steps_per_update,
        "captured_against_eager": furthest(weights[0], weights[1]),
        "resumed_against_captured": furthest(weights[2], weights[0]),
        "tolerance": TOLERANCE,
    }


def furthest(ours: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]) -> float:
    """Return the largest difference between tensors of one name, relative to their size."""
    return max(
        float((ours[name] - theirs[name]).abs().max() / theirs[name].abs().max().clamp_min(1e-3))
        for name in theirs
    )


def embed(scale: Scale) -> Result:
    """Embed every bar once, in float32 and in bfloat16."""
    table = torch.randn(scale.symbols, scale.bars, 36, device=scale.device)
    encoder = full_encoder(scale, 36, scale.device)
    found: Result = {"goal_seconds": GOALS_S["embed"], "bars": scale.symbols * scale.bars}
    for precision in ("float32", "bfloat16"):
        out = table.new_empty(scale.symbols, scale.bars, encoder.width)

        def call(precision: str = precision, out: torch.Tensor = out) -> None:
            embed_table(encoder, table, precision=precision, out=out)  # type: ignore[arg-type]

        found[precision] = {"seconds": seconds_of(call, scale.device), **peak(scale.device)}
    return found


def ppo(scale: Scale) -> Result:
    """PPO on the embeddings of a frozen encoder."""
    task = task_of(market(scale.symbols, scale.bars), scale, n_envs=128)
    encoder = full_encoder(scale, task.table.shape[-1], scale.device)
    view = TableView(embed_table(encoder, task.table, precision="bfloat16"))
    return timed(lambda: PPO(task, view, ppo_config(scale), seed=SEED), scale, "ppo")


def ppo_features(scale: Scale) -> Result:
    """PPO on the features as they are: what most of our presets do; scored out of sample."""
    world = market(scale.symbols, scale.bars)
    task = task_of(world, scale, n_envs=128)
    view = TableView(task.table)
    return timed(lambda: PPO(task, view, ppo_config(scale), seed=SEED), scale, "", judge=world)


def ppo_trainable_encoder(scale: Scale) -> Result:
    """PPO that trains the encoder too."""
    task = task_of(market(scale.symbols, scale.bars), scale, n_envs=32)
    config = replace(
        ppo_config(scale),
        rollout_steps=128,
        segment_bars=128,
        minibatch=1024,
        n_epochs=2,
        precision="bfloat16",
    )

    def make() -> Learner:
        encoder = full_encoder(scale, task.table.shape[-1], scale.device)
        view = EncoderView(encoder, task.table, precision="bfloat16")
        return PPO(task, view, config, seed=SEED)

    return timed(make, scale, "ppo_trainable_encoder")


def sac(scale: Scale) -> Result:
    """SAC: 16 environments per agent, one gradient step per step of all environments.

    Products of float32 matrices are made in TF32.
    """
    world = market(scale.symbols, scale.bars)
    task = task_of(world, scale, n_envs=16)
    view = TableView(task.table)
    torch.set_float32_matmul_precision("high")
    try:
        return timed(lambda: SAC(task, view, SACConfig(), seed=SEED), scale, "sac", judge=world)
    finally:
        torch.set_float32_matmul_precision("highest")


def sac_all(scale: Scale) -> Result:
    """SAC with every tool that goes with it: curiosity, objectives, shaping; a replay of 200 k.

    Tools have the settings of the preset `recovery_c`. Hindsight learns from what goals pay and
    takes no other reward: its replay, with goals and episodes, is measured beside.
    """
    world, config = market(scale.symbols, scale.bars), load_train_config("recovery_c")
    task = task_of(world, scale, n_envs=16, env=OBJECTIVES_ENV).showing("size", "total_return")
    settings = SACConfig(buffer_size=REPLAY_SIZE)

    def make() -> SAC:
        tools = build_reward_transform(config, task, SEED)
        return SAC(task, TableView(task.table), settings, seed=SEED, reward_transform=tools)

    torch.set_float32_matmul_precision("high")
    try:
        found = timed(make, scale, "sac_all", judge=world)
    finally:
        torch.set_float32_matmul_precision("highest")
    own = {"replay_bytes": make().replay_bytes}
    free(scale.device)
    return (
        found
        | own
        | {
            "hindsight_replay_bytes": hindsight_bytes(scale, world),
            "replay_size": REPLAY_SIZE,
            "goal_replay_bytes": GOAL_REPLAY_BYTES,
        }
    )


def hindsight_bytes(scale: Scale, world: World) -> int:
    """Return the memory of a replay from which goals are relabelled."""
    task = task_of(world, scale, n_envs=16).showing("size", "total_return", "drawdown")
    goals = GoalTask(task, GoalRules(reward="sparse"))
    head = HeadConfig(hidden=(8,))
    relabelled = HindsightConfig(strategy="future")
    config = SACConfig(head, head, buffer_size=REPLAY_SIZE, hindsight=relabelled)
    return SAC(goals, TableView(goals.table), config, seed=SEED).replay_bytes


def direct(scale: Scale) -> Result:
    """Follow the direct gradient through the simulator."""
    world = market(scale.symbols, scale.bars)
    task = task_of(world, scale, n_envs=16)
    rate = Schedule("cosine", 3e-3, 0.0, over=scale.steps)
    config = DirectConfig(learning_rate=rate)
    view = TableView(task.table)
    return timed(lambda: Direct(task, view, config, seed=SEED), scale, "", judge=world)


def growth(scale: Scale) -> Result:
    """Measure how the time of PPO and SAC grows with agents, with a tenth of the steps."""
    found: Result = {}
    small = replace(scale, steps=max(scale.steps // 10, 1), limit_s=scale.limit_s / 5)
    for n_agents in scale.growth:
        free(scale.device)
        found[str(n_agents)] = {
            name: guarded(growth_point(n_agents, name), small) for name in ("ppo", "sac")
        }
    return found


def growth_point(n_agents: int, learner: str) -> Callable[[Scale], Result]:
    """Return the part that trains so many agents."""

    def part(scale: Scale) -> Result:
        world = market(n_agents, min(scale.bars, 1024))
        task = task_of(world, scale, n_envs=16)
        view: View = TableView(task.table)
        if learner == "ppo":
            return timed(lambda: PPO(task, view, ppo_config(scale), seed=SEED), scale, "")
        config = SACConfig(buffer_size=20_000)
        return timed(lambda: SAC(task, view, config, seed=SEED), scale, "")

    return part


PARTS: Mapping[str, Callable[[Scale], Result]] = {
    "check": check,
    "embed": embed,
    "ppo": ppo,
    "ppo_features": ppo_features,
    "sac": sac,
    "sac_all": sac_all,
    "direct": direct,
    "ppo_trainable_encoder": ppo_trainable_encoder,
    "growth": growth,
}
_WORLDS: dict[tuple[int, int], World] = {}


# What parts are made of.


def market(n_symbols: int, n_bars: int) -> World:
    """Generate the planted market; kept between parts, for features take their time."""
    key = (n_symbols, n_bars)
    if key not in _WORLDS:
        _WORLDS[key] = synthetic_world(n_symbols=n_symbols, n_bars=n_bars, seed=SEED, kappa=0.1)
    return _WORLDS[key]


def task_of(
    world: World,
    scale: Scale,
    n_envs: int,
    *,
    compiled: bool | None = None,
    env: EnvConfig = ENV,
) -> PopulationTask:
    """Train on the first 70 % of the bars."""
    task = PopulationTask(
        world, env, n_envs=n_envs, seed=SEED, device=scale.device, compiled=compiled
    )
    return task.during(0, int(0.7 * world.n_bars)).showing("size")


def ppo_config(scale: Scale) -> PPOConfig:
    """Large minibatches: with 143 agents at once small ones leave a GPU idle."""
    return PPOConfig(
        rollout_steps=64,
        n_epochs=4,
        minibatch=2048,
        learning_rate=Schedule("linear", 1e-3, 1e-5, over=scale.steps),
        act_levels=2,
    )


def full_encoder(scale: Scale, n_features: int, device: torch.device) -> Encoder:
    """Draw the encoder of the scale."""
    weights = make_generator(SEED, "encoder")
    return build_encoder(encoder_preset(scale.encoder), n_features, weights).to(device)


def timed(
    make: Callable[[], Learner], scale: Scale, goal: str, *, judge: World | None = None
) -> Result:
    """Warm up with two updates, then time a fresh learner to the budget or the limit."""
    start = time.perf_counter()
    warm = make()
    for _ in range(2):  # SAC draws random actions in the first
        warm.update()
    del warm
    gc.collect()
    wait(scale.device)
    warm_up = time.perf_counter() - start
    learner = make()
    reset_peak(scale.device)
    wait(scale.device)
    start = time.perf_counter()
    while learner.steps < scale.steps and time.perf_counter() - start < scale.limit_s:
        learner.update()
        wait(scale.device)
    elapsed = time.perf_counter() - start
    n_agents = len(learner.task.agent_names)
    found: Result = {
        "agents": n_agents,
        "n_envs": learner.task.n_envs,
        "steps": learner.steps,
        "updates": learner.updates,
        "complete": learner.steps >= scale.steps,
        "seconds": elapsed * max(scale.steps / max(learner.steps, 1), 1.0),
        "steps_per_s": learner.steps * n_agents / elapsed,
        "warm_up_seconds": warm_up,
        **peak(scale.device),
    }
    if goal:
        found["goal_seconds"] = GOALS_S[goal]
    if judge is not None:
        found["out_of_sample"] = out_of_sample(learner, judge, scale)
    return found


def out_of_sample(learner: Learner, world: World, scale: Scale) -> Result:
    """Play the last 30 % of the bars: a fast learner that learned nothing would not do."""
    first = int(0.7 * world.n_bars) + 14
    shown = learner.task.private_names  # type: ignore[attr-defined]
    task = evaluation_task(world, ENV, first_bar=first, device=scale.device).showing(*shown)
    played = play(task, learner.act, task.episode_bars)
    scores = score(played, task.action, bars_per_year=BARS_PER_YEAR)
    names = ("return_bp", "sharpe", "trades_per_1000")
    return {name: float(scores[name].mean()) for name in names}


def replace_device(scale: Scale, device: torch.device | str) -> Scale:
    """Return the same scale on another device."""
    return replace(scale, device=torch.device(device))


def seconds_of(call: Callable[[], None], device: torch.device) -> float:
    """Return the best of five calls after two."""
    times = []
    for number in range(7):
        wait(device)
        start = time.perf_counter()
        call()
        wait(device)
        if number >= 2:
            times.append(time.perf_counter() - start)
    return min(times)


def wait(device: torch.device) -> None:
    """Let the device finish what was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def free(device: torch.device) -> None:
    """Give cached memory back."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
        reset_peak(device)


def reset_peak(device: torch.device) -> None:
    """Forget the highest use of memory so far."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak(device: torch.device) -> Result:
    """Return the highest use of memory since the last reset."""
    if device.type != "cuda":
        return {}
    return {"peak_bytes": torch.cuda.max_memory_allocated(device)}


if __name__ == "__main__":
    main()
