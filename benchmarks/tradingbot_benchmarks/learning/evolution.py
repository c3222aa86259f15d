"""Evolution strategies as one tensor program, against one process per member on the same cores."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from tradingbot.domain.errors import UserError
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.population import PopulationTask
from tradingbot.executors.executor import Progress, Work, WorkItem
from tradingbot.executors.processes import ProcessExecutor
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.es.evolution import AgentScales
from tradingbot.learning.es.learner import ES
from tradingbot.learning.es.perturbation import draw_seeds, mirrored_members
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.curve.measure import LearningRun, run_learning
from tradingbot_benchmarks.learning.sac.quality import CONFIG
from tradingbot_benchmarks.record import BenchRecord

_SEED = 7
_TOLERANCE = 1e-4
"""Between the weights after one update that were made in both ways."""
GOAL = 6.0
SHARE_GOAL = 0.8


@dataclass(frozen=True)
class EvolutionSize:
    """What is played in one generation."""

    agents: int = 8
    n_envs: int = 5
    population: int = 256
    bars: int = 64
    rounds: int = 3
    """Generations of which the fastest counts, in both ways."""

    def learner(self) -> ES:
        """Return a learner that has not learned yet; the same in every process."""
        world = synthetic_world("planted", n_symbols=self.agents, n_bars=1_024, seed=_SEED)
        task = PopulationTask(world, CONFIG, n_envs=self.n_envs, seed=_SEED, compiled=False)
        config = ESConfig(population=self.population, bars=self.bars)
        task = task.showing("size")
        return ES(task, TableView(task.table), config, seed=_SEED)


def open_member(size: EvolutionSize) -> Work:
    """Return what plays one member in a process of its own: (seed, sign) → mean rewards (N,)."""
    torch.set_num_threads(1)
    learner = size.learner()
    kept = {name: weight.detach().clone() for name, weight in learner._actor.named_parameters()}

    def play(payload: tuple[int, int], _: Progress) -> list[float]:
        seed, sign = payload
        sigma = torch.tensor(learner.config.sigma)
        pair = mirrored_members(kept, dict.fromkeys(kept, sigma), [seed])
        for name, weight in learner._actor.named_parameters():
            weight.data.copy_(pair[name][sign])
        return _play(learner, size.bars).tolist()

    return play


@torch.no_grad()
def _play(learner: ES, n_bars: int) -> Tensor:
    state, seen = learner.task.begin()
    earned = torch.zeros(seen.row.shape, dtype=torch.float64)
    for _ in range(n_bars):
        step = learner.task.step(state, learner.act(seen))
        state, seen = step.state, step.observation
        earned += step.reward
    return earned.mean(1) / n_bars


def es_vs_processes(size: EvolutionSize) -> BenchRecord:
    """Time whole generations in both ways, once both are seen to make the same weights.

    Raises:
        UserError: If they do not, or a process is lost.
    """
    cores = len(os.sched_getaffinity(0))
    with torch_threads(1):
        learner = size.learner()
        state = learner.task.begin()[0]
        seeds = draw_seeds(size.population // 2, torch.Generator().manual_seed(_SEED))
        scales = AgentScales(torch.ones(size.agents), torch.ones(size.agents))

        def ours() -> Tensor:
            return learner._evolution.fitness(
                learner.task, state, learner._see, learner._choose, scales, seeds
            )

        with ProcessExecutor(partial(open_member, size), cores) as workers:
            theirs = partial(_by_processes, workers, seeds)
            _require_equal(size, ours(), theirs(), seeds, scales)
            ours_s, theirs_s = (_fastest(play, size.rounds) for play in (ours, theirs))
    steps = size.population * size.bars * size.agents * size.n_envs
    note = (
        f"one generation: {size.population} members × {size.bars} bars × {size.agents} agents × "
        f"{size.n_envs} environments ({steps:,} steps); ours on one core, {cores} processes on as "
        f"many; updates equal "
        f"within {_TOLERANCE:g}; goal {GOAL:g} ×"
    )
    name = "one process per member"
    return BenchRecord("es_vs_processes", ours_s, "s", theirs_s, name, theirs_s / ours_s, note)


def _by_processes(workers: ProcessExecutor, seeds: list[int]) -> Tensor:
    order = [(seed, sign) for seed in seeds for sign in (0, 1)]
    for place, payload in enumerate(order):
        workers.submit(WorkItem(str(place), payload))
    found: list[list[float]] = [[] for _ in order]
    for _ in order:
        outcome = workers.wait(lambda *_: None)
        found[int(outcome.item.name)] = outcome.result()
    return torch.tensor(found, dtype=torch.float64)


def _fastest(play: object, rounds: int) -> float:
    assert callable(play)
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        play()
        spent.append(time.perf_counter() - began)
    return min(spent)


def _require_equal(
    size: EvolutionSize, ours: Tensor, theirs: Tensor, seeds: list[int], scales: AgentScales
) -> None:
    made = []
    for fitness in (ours, theirs):
        learner = size.learner()
        learner._evolution.follow(fitness, seeds, scales, 0.01)
        made.append(torch.cat([p.detach().flatten() for p in learner._actor.parameters()]))
    gap = float((made[0] - made[1]).abs().max())
    if gap > _TOLERANCE:
        rule = "a population must move weights as its members one by one do"
        raise UserError(rule, was=f"a difference of {gap:.2g}", where="es_vs_processes")


def es_vs_sac(n_agents: int, *, seeds: Sequence[int], updates: int = 0) -> BenchRecord:
    """Compare what evolution strategies and SAC earn out of sample on the planted market.

    Args:
        n_agents: Symbols.
        seeds: Of market and learners; what both earn is summed over them.
        updates: Of each, for a first look; 0: the settings' own.
    """
    run = LearningRun(n_agents=n_agents, shrinkage=None, compiled=False, updates=updates)
    with torch_threads(1):
        found = {
            name: [run_learning("planted_0.10", name, seed, run) for seed in seeds]
            for name in ("es", "sac")
        }
    ours, sac = (sum(each.policy_bp for each in made) for made in found.values())
    ours_s, sac_s = (sum(each.seconds for each in made) for made in found.values())
    best = sum(each.oracle_bp for each in found["es"])
    note = (
        f"synthetic planted κ = 0.10, {n_agents} symbols, seeds {', '.join(map(str, seeds))}, one "
        f"core; net return on 1,512 later bars, {ours / best:.0%} of the oracle in {ours_s:.0f} s "
        f"against {sac / best:.0%} in {sac_s:.0f} s; goal {SHARE_GOAL:g}"
    )
    if sac <= 0.0:
        return BenchRecord("es_vs_sac", math.nan, "frac", note=f"SAC earned nothing; {note}")
    return BenchRecord(
        "es_vs_sac", ours / sac, "frac", SHARE_GOAL, "goal", ours / sac / SHARE_GOAL, note
    )


TINY = EvolutionSize(agents=2, n_envs=2, population=4, bars=8, rounds=1)
"""So small that figures mean nothing: for tests."""
