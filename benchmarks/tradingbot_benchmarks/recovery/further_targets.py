"""Targets of the plan that no other benchmark asks about, on small runs of the recovery's rows.

Rows are those of `variants`, on synthetic `regimes`, with fewer environments and passes: what is
compared is trained alike, and seconds are seconds. Curiosity and shaping are asked for exploration,
objectives for weights that settle and what exploration is paid, V-trace for eight actors.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.configuration.part_names import REWARD_OBJECTIVES
from tradingbot.envs.population import PopulationTask
from tradingbot.learning.learner import Learner, Metrics
from tradingbot.learning.reward_transform import CollectedSteps, TransformChain
from tradingbot.training.config_files import override_config
from tradingbot.training.data import open_data
from tradingbot.training.setup import build_training_setup
from tradingbot_benchmarks.recovery.cell import Cell, cell_config
from tradingbot_benchmarks.recovery.variants import Options
from tradingbot_benchmarks.threads import one_thread

_SMALL: Options = {"market.start": "2022-10-03", "symbols": ["SPY", "AAPL"], "budget.n_envs": 8}
_PPO: Options = {"learner.ppo.n_epochs": 4, "learner.ppo.minibatch": 256}
_HASTY: Options = {
    "budget.n_envs": 4,
    "learner.ppo.rollout_steps": 32,
    "learner.ppo.n_epochs": 1,
    "learner.ppo.minibatch": 128,
}
_PLANNED: Options = {
    f"learner.impala.{key}": value
    for key, value in {
        "actors": 8,
        "in_processes": False,
        "rollout_steps": 100,
        "minibatch": 256,
        "n_epochs": 1,
        "clip": 0.0,
        "decay": 1.0,
        "gradient_clip": 40.0,
    }.items()
}
"""The plan's eight actors, by turns in this process: to the bit what eight processes come to."""
_BINS, _LARGEST_MOVE = 10, 0.025
_PLAYED = 512
_ENTROPY = "policy/normalised_entropy"


class Figure(NamedTuple):
    """One measured number of one run."""

    target: str
    variant: str
    seed: int
    name: str
    value: float


def exploration(variant: str, seed: int, updates: int) -> Iterator[Figure]:
    """Yield how varied PPO is after some updates: its entropy, the codes and states it visits."""
    with one_thread():
        began, learner = time.process_time(), _learner(variant, seed, _PPO)
        told = [learner.update().metrics for _ in range(updates)]
        seconds = time.process_time() - began
        entropy = torch.stack([each[_ENTROPY] for each in told[-5:]]).mean()
        visited = coverage(learner)
    found = {"entropy": float(entropy), "coverage": visited, "seconds": seconds}
    for name, value in found.items():
        yield Figure("exploration", variant, seed, name, value)


def coverage(learner: Learner, steps: int = _PLAYED) -> float:
    """Return the share of cells that sampled actions visit, mean over agents.

    Cells are tenths of the largest position by tenths of ± 2.5 % since entry.
    """
    task = learner.task
    assert isinstance(task, PopulationTask)
    size, move = (task.private_names.index(name) for name in ("size", "entry_move"))
    cells = torch.zeros(len(task.agent_names), _BINS * _BINS, dtype=torch.bool)
    state, seen = task.begin()
    for _ in range(steps):
        held = (seen.private[..., size] * _BINS).long().clamp(0, _BINS - 1)
        moved = (seen.private[..., move] / _LARGEST_MOVE + 1.0) * _BINS / 2.0
        cells.scatter_(1, held * _BINS + moved.long().clamp(0, _BINS - 1), True)
        made = task.step(state, learner.sample(seen))
        state, seen = made.state, made.observation
    return float(cells.double().mean())


class Watched(TransformChain):
    """A chain of transforms, and what the task paid to it: by term, and by episode."""

    def __init__(self, chain: TransformChain) -> None:
        """Take a chain that is built already."""
        self._chain, self.needs_terms = chain, True
        self.sizes: Tensor | float = 0.0
        """(K,) mean size of each term so far, summed over updates."""
        self.episodes: list[Tensor] = []
        """Rewards of whole episodes."""
        self._since: Tensor | float = 0.0

    def transform(self, steps: CollectedSteps) -> Tensor:
        """Return what the chain does, and count what was paid."""
        assert steps.terms is not None
        self.sizes = self.sizes + steps.terms.abs().mean((0, 2, 3))
        for reward, ends in zip(steps.reward, steps.terminated | steps.truncated, strict=True):
            total = self._since + reward
            self.episodes.append(total[ends])
            self._since = torch.where(ends, 0.0, total)
        return self._chain.transform(steps)

    def learn(self, steps: CollectedSteps) -> Metrics:
        """Learn as the chain does."""
        return self._chain.learn(steps)


def objectives(seed: int, updates: int, window: int) -> Iterator[Figure]:
    """Yield whether weights of objectives settle, what exploration is paid, and how rewards vary.

    Args:
        seed: Of training and market.
        updates: After which weights should stand still.
        window: Updates before and after, whose mean weights are compared.
    """
    with one_thread():
        learner = _learner("objectives", seed, _HASTY)
        watched = Watched(learner._reward_transform)  # type: ignore[attr-defined]
        learner._reward_transform = watched  # type: ignore[attr-defined]
        told = [learner.update().metrics for _ in range(updates + window)]
    weights = _weights(told)
    at = {"first": weights[:window], "before": weights[updates - window : updates]}
    means = {name: part.mean(0) for name, part in at.items()} | {"after": weights[updates:].mean(0)}
    paid = torch.cat(watched.episodes).double()
    assert isinstance(watched.sizes, Tensor)
    found = {
        "moved in the first 1,000": float((means["before"] - means["first"]).abs().max()),
        "moved after": float((means["after"] - means["before"]).abs().max()),
        "exploration of what is paid": _share(watched.sizes, learner.task.term_names),
        "deviation of episodes ÷ size of their mean": float(paid.std() / paid.mean().abs()),
        "mean of episodes": float(paid.mean()),
        "episodes": float(len(paid)),
    }
    for name, value in found.items():
        yield Figure("objectives", "objectives", seed, name, value)


def eight_actors(seed: int, updates: int) -> Iterator[Figure]:
    """Yield whether V-trace with the plan's eight actors stays finite and keeps its entropy."""
    with one_thread():
        learner = _learner("vtrace", seed, _PLANNED)
        told = [learner.update().metrics for _ in range(updates)]
    bad = sum(int((~value.isfinite()).sum()) for each in told for value in each.values())
    weights = [w for part in learner.networks().values() for w in part.parameters()]
    bad += sum(int((~weight.isfinite()).sum()) for weight in weights)
    entropy = torch.stack([each[_ENTROPY] for each in told])
    found = {
        "numbers that are not finite": float(bad),
        "entropy at first": float(entropy[:5].mean()),
        "entropy in the end": float(entropy[-5:].mean()),
        "least entropy of an agent": float(entropy.min()),
    }
    for name, value in found.items():
        yield Figure("eight actors", "vtrace", seed, name, value)


def _learner(variant: str, seed: int, more: Mapping[str, object]) -> Learner:
    """Return the learner of a row on `regimes`, not trained yet."""
    config = override_config(cell_config(Cell("regimes", variant, seed)), {**_SMALL, **more})
    with tempfile.TemporaryDirectory() as folder:
        data = open_data(config, Path(folder))
        return build_training_setup(config, data, seed=seed).learner


def _weights(told: list[Metrics]) -> Tensor:
    """Return the mean weights of objectives, (updates, J, N)."""
    names = [name for name in told[0] if name.startswith("objectives/weight/")]
    return torch.stack([torch.stack([each[name] for name in names]) for each in told])


def _share(sizes: Tensor, terms: tuple[str, ...]) -> float:
    """Return the share of the terms of exploration in the sizes (K,) of all terms."""
    explores = torch.tensor([name in REWARD_OBJECTIVES["exploration"] for name in terms])
    return float(sizes[explores].sum() / sizes.sum())
