"""Actors and learner: the same bits in processes, killed or not; measured lag; it learns."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.impala_learners import HEAD, LOCAL, build, trading_task, weights
from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.processes import ProcessExecutor
from tradingbot.learning.impala.actors import RemoteActors
from tradingbot.learning.impala.improvement import Corrected
from tradingbot.learning.impala.learner import IMPALA
from tradingbot.learning.impala.orders import join_rollouts
from tradingbot.learning.learner import Metrics
from tradingbot.learning.playing import play
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.rollout import Choice, Rollout, allocate_rollout, collect_rollout
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import keep_envs, keep_lanes
from tradingbot.networks.view import TableView


def process_ids(learner: IMPALA) -> list[int]:
    assert isinstance(learner._actors, RemoteActors)
    executor = learner._actors._executor
    assert isinstance(executor, ProcessExecutor)
    return [worker.process.pid or 0 for worker in executor._workers]


def test_processes_come_to_the_bits_of_this_one_though_two_are_killed() -> None:
    here, there = build(), build(replace(LOCAL, in_processes=True))
    lost = []
    for number in range(4):
        here.update()
        lost.append(float(there.update().metrics["actors/lost"]))
        if number == 1:
            for process in process_ids(there):
                os.kill(process, signal.SIGKILL)

    assert all(torch.equal(part, weights(there)[name]) for name, part in weights(here).items())
    assert lost[0] == 0.0
    assert len(set(process_ids(there))) == 2


def test_task_steps_here_as_before_once_its_environments_are_in_processes() -> None:
    learner = build(replace(LOCAL, in_processes=True))
    task = learner.task
    action = torch.full((2, 4), 0.5)
    before = task.step(task.begin()[0], action)  # native lanes hold addresses from now on

    learner.update()

    after = task.step(task.begin()[0], action)
    assert task.table.data_ptr() == learner._divided[0].table.data_ptr()
    assert torch.equal(after.reward, before.reward)
    assert torch.equal(after.final_private, before.final_private)


def test_asynchronous_actors_measure_their_lag() -> None:
    learner = build(replace(LOCAL, in_processes=True, asynchronous=True))

    lags = [float(learner.update().metrics["actors/largest_lag"]) for _ in range(5)]

    assert lags[0] == 0.0
    assert max(lags) >= 1.0
    stored = learner.state()
    again = build(replace(LOCAL, in_processes=False))
    again.load_state(stored)
    again.update()
    assert again.updates == 6


def test_fixed_lag_is_one_update_after_the_first() -> None:
    learner = build()

    lags = [float(learner.update().metrics["actors/lag"]) for _ in range(4)]

    assert lags == [0.0, 1.0, 1.0, 1.0]


def test_ratios_are_one_where_none_is_behind_and_differ_where_one_is() -> None:
    learner = build()

    first, second = (learner.update().metrics["policy/ratio"] for _ in range(2))

    torch.testing.assert_close(first, torch.ones(2), rtol=1e-5, atol=1e-5)
    assert (second - 1.0).abs().max() > 1e-4


def test_environments_of_actors_are_those_of_the_whole_task() -> None:
    task = trading_task(n_envs=4)
    state, _ = task.begin()
    whole = allocate_rollout(task, 50)
    collect_rollout(task, state, task.observe(state), _hold_half, whole)
    parts = []
    for first in (0, 2):
        part = keep_envs(task, first, 2)
        own = tuple(keep_lanes(each, 2, first, 2) for each in state)
        made = allocate_rollout(part, 50)
        collect_rollout(part, own, part.observe(own), _hold_half, made)
        parts.append(made)

    joined = join_rollouts(parts)

    for name in ("row", "reward", "truncated", "final_row"):
        torch.testing.assert_close(getattr(joined, name), getattr(whole, name))
    assert whole.truncated.any()


def _hold_half(seen: object) -> Choice:
    action = torch.full(seen.row.shape, 0.5)  # type: ignore[attr-defined]
    return Choice(action, action, torch.zeros_like(action))


def test_signal_is_learned() -> None:
    task = SignalTask(2, 8, kappa=0.6)
    config = replace(LOCAL, actors=4, rollout_steps=32, discount=0.5, learning_rate=constant(0.003))
    learner = IMPALA(task, TableView(task.table), config, seed=1)
    before = play(task, learner.act, 64).reward.mean()

    for _ in range(25):
        learner.update()

    after = play(task, learner.act, 64).reward.mean()
    assert after > before + 0.1, (before, after)


def test_passes_are_so_many_optimiser_steps() -> None:
    learner = build(replace(LOCAL, n_epochs=3))

    learner.update()  # 16 steps in 4 environments are two minibatches of 32

    steps = {int(state["step"]) for state in learner._improver.optimiser.state.values()}
    assert steps == {6}


def next_rollout(learner: IMPALA) -> Rollout:
    actors = learner._open_actors()
    actors.ask(learner._orders.order(0, learner._state))
    return actors.next().rollout


def moved(clip: float) -> float:
    """How far ln π of the actions of a rollout goes in one update of many passes."""
    learner = build(replace(LOCAL, actors=1, n_epochs=10, clip=clip, learning_rate=constant(0.03)))
    rollout = next_rollout(learner)
    before = learner._improver.log_prob(rollout)
    learner._learn(rollout)
    return float((learner._improver.log_prob(rollout) - before).abs().mean().detach())


def test_clipped_policy_stays_nearer_to_the_one_before_the_update() -> None:
    assert moved(clip=0.1) < 0.5 * moved(clip=0.0)


def test_ratio_to_what_acted_is_counted_once_where_ratios_are_clipped() -> None:
    learner = build(replace(LOCAL, actors=1, clip=0.2, ratio_clip=1.0))
    rollout = next_rollout(learner)
    now = rollout.log_prob + torch.linspace(-1.0, 1.0, rollout.log_prob.numel()).view_as(
        rollout.log_prob
    )
    ones = torch.ones_like(now)

    samples = learner._improver._samples(Corrected(rollout, ones, ones, now))

    ratio = (samples.log_prob.flatten() - flat(rollout.log_prob)).exp()
    torch.testing.assert_close(samples.log_prob.flatten(), flat(now))
    torch.testing.assert_close(samples.advantage.flatten(), ratio.clamp_max(1.0))


def improved(
    entropy: float = 0.0, advantage: float = 0.0, times: int = 1, **changed: object
) -> tuple[IMPALA, list[Metrics]]:
    """Learn some times from one rollout in which all actions did as well."""
    config = replace(LOCAL, actors=1, n_epochs=5, **changed)  # type: ignore[arg-type]
    learner = build(config)
    rollout = next_rollout(learner)
    told = []
    for _ in range(times):
        now = learner._improver.log_prob(rollout)
        target = torch.full_like(now, advantage)
        corrected = Corrected(rollout, torch.zeros_like(now), target, now)
        weight = torch.full((2,), entropy)
        told.append(
            learner._improver.improve(corrected, agent=torch.ones(2), entropy=weight, rate=0.003)
        )
    return learner, told


def test_entropy_is_kept_up_by_its_weight() -> None:
    # Where all actions do as well, a weight above 0 keeps to the uniform policy, of entropy 0
    # over [0, 1]; one below 0 gives it up.
    kept, given_up = (improved(entropy=each, times=5)[1][-1] for each in (1.0, -1.0))

    assert (kept["policy/entropy"] > -0.3).all()
    assert (given_up["policy/entropy"] < -2.0).all()


def test_gradients_are_cut_to_the_limit_that_is_set() -> None:
    norms = {}
    for limit in (0.01, 1e9):
        learner, told = improved(advantage=50.0, gradient_clip=limit)
        assert float(told[0]["grad/norm"].min()) > 1.0  # of before it is cut
        gradients = [p.grad for p in learner.network.parameters() if p.grad is not None]
        norms[limit] = float(torch.stack([g.square().sum() for g in gradients]).sum().sqrt())
    # Of what all share, and of each of the two agents.
    assert 0.0 < norms[0.01] <= 0.01 * 3**0.5 * 1.001
    assert norms[1e9] > 1.0


def flat(part: Tensor) -> Tensor:
    """See (S, N, B) as samples of each agent, one after the other."""
    return part.transpose(0, 1).flatten()


@pytest.mark.parametrize(
    ("change", "words"),
    [({"actors": 3}, "must divide budget.n_envs"), ({"asynchronous": True}, "in_processes")],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(replace(LOCAL, **change))  # type: ignore[arg-type]


def test_heads_begin_as_those_of_ppo_do() -> None:
    task = trading_task()
    ppo = PPO(task, TableView(task.table), PPOConfig(actor=HEAD, critic=HEAD), seed=1)

    assert build().network.state_dict().keys() == ppo.network.state_dict().keys()


def test_resumed_learner_counts_the_same_lag_and_orders_go_out_with_its_last_weights() -> None:
    learner, resumed = build(), build()
    for _ in range(2):
        learner.update()
    resumed.load_state({name: part.clone() for name, part in learner.state().items()})

    before = weights(resumed)

    lag = resumed.update().metrics["actors/lag"]

    assert float(lag) == 1.0
    sent = resumed._orders.order(0, resumed._state).weights
    assert sent
    assert all(any(torch.equal(part, own) for own in before.values()) for part in sent.values())
