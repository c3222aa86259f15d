"""Reward analysis: signal and noise, correlations, histograms, reward-to-go of a training run.

The run's policy plays whole episodes of the task it was trained on: training part, rules, costs and
reward of the run, deterministic actions, agents that trade. Starts are drawn from the run's seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.network_policy import TRADES
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.evaluation.analyses.analysis import CannotMeasureError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.settings import RewardSettings
from tradingbot.evaluation.dossier.rewards import RewardAnalysis, RewardRow
from tradingbot.learning.task import Observation
from tradingbot.runs.acting_checkpoint import acting_checkpoint

FloatArray = NDArray[np.float64]
_TERM, _TAIL, _NOISE = "reward/", 1e-3, 1e-12
_MOST_UPDATES = 200


class PlayedRewards(NamedTuple):
    """S steps of N agents in B environments."""

    terms: FloatArray
    """(S, K, N, B) weighted; their sum is the reward."""
    net_return: FloatArray
    """(S, N, B) change of wealth, a fraction."""
    ended: NDArray[np.bool_]
    """(S, N, B) the step is the last of its episode."""


def measure_rewards(subject: EvaluatedRun, settings: RewardSettings) -> RewardAnalysis:
    """Play the run's policy on its training part and describe what it is paid.

    Raises:
        DataError: If no agent trades, or no episode fits into the training part.
    """
    world, train, learner = subject.data.world, subject.data.split.train, subject.config.learner
    trades = acting_checkpoint(subject.run).agent.get(TRADES)
    chosen = np.ones(len(world.symbols), bool) if trades is None else trades.numpy()
    if not chosen.any():
        raise CannotMeasureError("no agent trades, and an account in cash is paid nothing")
    task = PopulationTask(
        world, subject.env, n_envs=settings.episodes, seed=subject.run.record.seeds["root"]
    ).during(train.start, train.stop - 1)
    if subject.config.environment.kind == "goal":
        goal = subject.config.environment.goal
        task = GoalTask(task, goal, goal.asked)
    played = play_rewards(task, subject.policy)
    terms, net = played.terms[:, :, chosen], played.net_return[:, chosen]
    reward, ended = terms.sum(axis=1), played.ended[:, chosen]
    flat = terms.transpose(1, 0, 2, 3).reshape(terms.shape[1], -1)
    values = np.concatenate([flat, [reward.ravel(), net.ravel()]])
    discount = float(getattr(learner.settings, "discount", 1.0))
    updates, course = read_course(subject.run.read_journal("metrics"), task.term_names)
    steps_to_end, mean, deviation = rewards_by_horizon(
        *rewards_to_go(reward, ended, discount), settings.n_horizons
    )
    return RewardAnalysis(
        period=str(subject.data.periods["train"]),
        steps=reward.size,
        episodes=int(ended.sum()),
        discount=discount,
        is_learned=learner.spec.learns_reward(learner.settings),
        rows=describe_rewards((*task.term_names, "reward", "net return"), values, settings.n_bins),
        correlation=tuple(map(tuple, correlate(values).tolist())),
        steps_to_end=steps_to_end,
        to_go_mean=mean,
        to_go_deviation=deviation,
        updates=updates,
        course=course,
    )


def play_rewards(task: PopulationTask, policy: Policy) -> PlayedRewards:
    """Play every environment for the length of an episode, which ends there at the latest."""
    is_code = task.action.kind == "discrete"

    def act(seen: Observation) -> Tensor:
        # Lane = environment · N + agent, as policies of N agents read it.
        rows, private = seen.row.T.reshape(-1), seen.private.permute(2, 1, 0).flatten(1)
        private = private[: len(PRIVATE_NAMES)]  # policies know themselves what they are asked for
        allowed = seen.allowed.permute(2, 1, 0).flatten(1) if is_code else None
        nothing = private.new_empty(len(rows), 0)  # networks see the view, not these
        wanted = policy(PolicyInputs(rows, nothing, nothing, private, allowed))
        action = wanted.view(task.n_envs, -1).T
        return action.long() if is_code else action

    state, seen = task.begin()
    steps: list[tuple[Tensor, ...]] = []
    for _ in range(task.episode_bars):
        before = task.wealth(state).double()
        made = task.step(state, act(seen))
        after = 1.0 + made.final_return.double()
        net = torch.where(before > 0.0, after / before - 1.0, 0.0)
        steps.append((made.terms.double(), net, made.terminated | made.truncated))
        state, seen = made.state, made.observation
    return PlayedRewards(*(torch.stack(part).numpy() for part in zip(*steps, strict=True)))


def describe_rewards(
    names: Sequence[str], values: FloatArray, n_bins: int
) -> tuple[RewardRow, ...]:
    """Describe R quantities (R, M) over bars: moments, signal to noise, histogram."""
    deviations = _deviations(values)
    rows = []
    for name, each, deviation in zip(names, values, deviations.tolist(), strict=True):
        low, high = np.quantile(each, (_TAIL, 1.0 - _TAIL))
        edges = np.linspace(low, high, n_bins + 1) if high > low else np.array([low, high])
        place = np.searchsorted(edges[1:-1], each, side="right")
        shares = np.bincount(place, minlength=len(edges) - 1) / len(each)
        mean = float(each.mean())
        rows.append(
            RewardRow(
                quantity=name,
                mean=mean,
                deviation=deviation,
                signal_to_noise=mean / deviation if deviation else float("nan"),
                nonzero_frac=float((each != 0.0).mean()),
                edges=tuple(edges.tolist()),
                shares=tuple(shares.tolist()),
            )
        )
    return tuple(rows)


def correlate(values: FloatArray) -> FloatArray:
    """Return the correlations (R, R) of quantities (R, M); NaN where one does not vary."""
    centred, deviation = values - values.mean(axis=1, keepdims=True), _deviations(values)
    scale = np.outer(deviation, deviation)
    product = centred @ centred.T / values.shape[1]
    found = np.divide(product, scale, out=np.full_like(scale, np.nan), where=scale > 0.0)
    return np.asarray(found.clip(-1.0, 1.0))  # rounding lies beyond


def rewards_to_go(
    reward: FloatArray, ended: NDArray[np.bool_], discount: float
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return Σ γᵏ · reward from each step (S, …) to the end of its episode, and the steps to it.

    The step itself counts as one; 0 where the end of the episode was not seen.
    """
    to_go, steps = np.zeros_like(reward), np.zeros(reward.shape, dtype=np.int64)
    following, left = np.zeros_like(reward[0]), np.zeros(reward.shape[1:], dtype=np.int64)
    for step in range(len(reward) - 1, -1, -1):
        following = reward[step] + discount * np.where(ended[step], 0.0, following)
        left = np.where(ended[step], 1, np.where(left > 0, left + 1, 0))
        to_go[step], steps[step] = following, left
    return to_go, steps


def rewards_by_horizon(
    to_go: FloatArray, steps: NDArray[np.int64], n_horizons: int
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
    """Return numbers of steps to the end, evenly chosen, with mean and deviation of `to_go`."""
    longest = max(int(steps.max()), 1)
    wanted = np.unique(np.linspace(1, longest, n_horizons).round().astype(np.int64))
    found = {int(each): to_go[steps == each] for each in wanted}
    known = {each: values for each, values in found.items() if len(values)}
    means = tuple(float(values.mean()) for values in known.values())
    return tuple(known), means, tuple(float(values.std()) for values in known.values())


def read_course(
    journal: Iterable[dict[str, Any]], names: Sequence[str]
) -> tuple[tuple[int, ...], tuple[tuple[str, tuple[float, ...]], ...]]:
    """Return updates of a journal and the mean of each term in them, over agents."""
    keys = {_TERM + name for name in names}
    rows = [row for row in journal if keys <= row.get("metrics", {}).keys()]
    rows = rows[:: max(1, -(-len(rows) // _MOST_UPDATES))]
    course = [
        (name, tuple(float(np.mean(row["metrics"][_TERM + name])) for row in rows))
        for name in names
    ]
    return tuple(row["updates"] for row in rows), tuple(course) if rows else ()


def _deviations(values: FloatArray) -> FloatArray:
    """Return the deviation of each quantity (R,); 0 where only rounding varies."""
    deviation = values.std(axis=1)
    return np.where(deviation > _NOISE * np.abs(values).max(axis=1), deviation, 0.0)
