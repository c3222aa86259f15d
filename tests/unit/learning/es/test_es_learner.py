"""A population as one more axis: equal to members one by one, and it learns."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.sabotage_tasks import RiggedTask
from fixtures.toy_tasks import ClockTask, SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.envs import synthetic_world
from tradingbot.envs.curriculum.task import CurriculumTask
from tradingbot.envs.population import PopulationTask
from tradingbot.evaluation.rollout import sleeve_config
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.es.evolution import AgentScales
from tradingbot.learning.es.learner import ES
from tradingbot.learning.es.loss import distinct_share
from tradingbot.learning.es.members import member_outputs, play_members
from tradingbot.learning.es.perturbation import mirrored_members
from tradingbot.learning.guards import FlightRecorder, GuardConfig
from tradingbot.learning.guards.config import InterventionConfig
from tradingbot.learning.playing import play
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import Observation, repeat_task
from tradingbot.market.curriculum.settings import CurriculumSettings
from tradingbot.market.curriculum.stages import STAGES, PassRule
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView

SMALL = ESConfig(actor=HeadConfig(hidden=(6,)), population=8, bars=8, sigma=0.1)


def trading_task(n_envs: int, episode_bars: int) -> PopulationTask:
    config = sleeve_config()
    rules = replace(config.rules, episode=replace(config.rules.episode, episode_bars=episode_bars))
    world = synthetic_world(n_bars=400)
    return PopulationTask(world, replace(config, rules=rules), n_envs=n_envs, seed=2)


def one_by_one(learner: ES, seeds: list[int]) -> Tensor:
    """Play every member by itself, with a head of its own; return (P, N) mean rewards."""
    actor, found = learner._actor, []
    kept = {name: tensor.clone() for name, tensor in actor.state_dict().items()}
    state = learner.task.begin()[0]
    for seed in seeds:
        for sign in (1.0, -1.0):
            generator = torch.Generator().manual_seed(seed)
            for name, parameter in actor.named_parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.data.copy_(kept[name] + sign * learner.config.sigma * noise)
            found.append(played(learner, state))
            actor.load_state_dict(kept)
    return torch.stack(found)


def played(learner: ES, state: tuple[Tensor, ...]) -> Tensor:
    seen, earned = learner.task.observe(state), 0.0
    for _ in range(learner.config.bars):
        step = learner.task.step(state, learner.act(seen))
        state, seen, earned = step.state, step.observation, earned + step.reward
    return (earned / learner.config.bars).mean(-1)


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
@pytest.mark.parametrize("at_once", [0, 4])
def test_population_earns_what_its_members_earn_one_by_one(pooling: Pooling, at_once: int) -> None:
    config = replace(
        SMALL, actor=HeadConfig(hidden=(6, 5), pooling=pooling), members_at_once=at_once
    )
    task = SignalTask(3, 4)
    learner = ES(task, TableView(task.table), config, seed=1)
    seeds, scales = [11, 12, 13, 14], AgentScales(torch.ones(3), torch.ones(3))

    found = learner._evolution.fitness(
        task, task.begin()[0], learner._see, learner._choose, scales, seeds
    )

    assert found.std(0).min() > 1e-4
    torch.testing.assert_close(found.float(), one_by_one(learner, seeds), rtol=1e-5, atol=1e-6)


def test_members_of_a_trading_task_play_the_bars_of_the_mean() -> None:
    task = trading_task(n_envs=3, episode_bars=40)
    wide = repeat_task(task, 4)
    wealth = play(task, lambda seen: torch.full(seen.row.shape, 0.5), 60).reward.mean((0, 2))

    def act(seen: Observation) -> Tensor:
        shares = torch.tensor([0.0, 0.5, 0.5, 1.0]).repeat_interleave(3)
        return shares.expand(seen.row.shape)

    found = play_members(wide, task.begin()[0], 60, act, 4).mean(-1) / 60

    torch.testing.assert_close(found[1].float(), wealth, rtol=1e-5, atol=1e-7)
    assert distinct_share(found).tolist() == pytest.approx([2 / 3] * 4)
    assert found[0].abs().max() == 0.0


def test_population_of_a_curriculum_passes_its_stages() -> None:
    own = trading_task(n_envs=2, episode_bars=6)
    easy = replace(STAGES[0], min_sharpe=-100.0, min_win_rate_frac=0.0, min_trades=0)
    settings = CurriculumSettings(
        stages=(easy, easy), rule=PassRule(4, 2, 0.5), markets_per_stage=1
    )
    task = CurriculumTask(own, settings)
    learner = ES(task, TableView(task.table), replace(SMALL, bars=14), seed=1)

    learner.update()
    learner.update()

    assert learner.task_metrics()["curriculum/stage"].tolist() == [2.0] * 4


def test_signal_is_learned_in_a_few_generations() -> None:
    task = SignalTask(2, 8, kappa=0.6, opposed=True)
    config = replace(SMALL, population=32, bars=32, act_levels=2)
    learner = ES(task, TableView(task.table), config, seed=1)
    before = play(task, learner.act, 64).reward.mean()

    for _ in range(40):
        learner.update()

    after = play(task, learner.act, 64).reward.mean()
    assert after > before + 0.1, (before, after)
    assert after > 0.15


def test_population_without_differences_moves_nothing_but_by_decay() -> None:
    task = ClockTask("truncated", length=4, n_agents=2)
    task.repeated = lambda times: _widened(task, times)  # type: ignore[attr-defined]
    config = replace(SMALL, weight_decay=0.0)
    learner = ES(task, TableView(task.table), config, seed=1)
    before = [parameter.clone() for parameter in learner._actor.parameters()]

    metrics = learner.update().metrics

    assert metrics["population/distinct_share"].tolist() == [0.0, 0.0]
    assert all(torch.equal(a, b) for a, b in zip(before, learner._actor.parameters(), strict=True))


def test_members_play_the_bars_that_the_mean_plays() -> None:
    task = SignalTask(2, 4)
    learner = ES(task, TableView(task.table), replace(SMALL, sigma=1e-7), seed=1)
    for _ in range(2):
        told = learner.update().metrics
        # Members that are all but the mean earn what it earned: over the same bars.
        torch.testing.assert_close(told["population/fitness"], told["rollout/reward"])


@pytest.mark.parametrize(("elites", "count"), [(0.25, 2), (0.75, 6), (1.0, 8)])
def test_elites_are_the_best_of_the_members(
    elites: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = SignalTask(2, 4)
    learner = ES(task, TableView(task.table), replace(SMALL, elites=elites), seed=1)
    earned = torch.stack([torch.arange(8.0), torch.arange(8.0).flip(0)], dim=1).double()
    monkeypatch.setattr(learner._evolution, "fitness", lambda *_: earned)

    told = learner.update().metrics

    best = sum(range(8 - count, 8)) / count
    assert told["population/elite_fitness"].tolist() == [best, best]


@pytest.mark.parametrize(("levels", "bins"), [(0, 11), (2, 2), (5, 5), (40, 11)])
def test_entropy_is_of_what_the_mean_does_in_as_many_bins_as_there_are_levels(
    levels: int, bins: int
) -> None:
    task = SignalTask(2, 4)
    learner = ES(task, TableView(task.table), replace(SMALL, act_levels=levels), seed=1)
    n_levels = levels or bins
    even = torch.linspace(0.0, 1.0, n_levels).repeat(4)[:, None]
    selected = torch.stack([even, torch.full_like(even, 1.0)], dim=1)

    entropy = learner._entropy(selected)

    assert float(entropy[1]) == 0.0
    expected = 1.0 if n_levels == bins else 0.99
    assert expected <= float(entropy[0]) <= 1.0 + 1e-6
    told = learner.update()
    torch.testing.assert_close(
        told.metrics["policy/normalised_entropy"], learner._entropy(told.experience.selected)
    )


def test_low_entropy_pauses_agents_that_evolve() -> None:
    """The plan's escalation, where one code is paid for whatever the market does."""
    task = RiggedTask("always_pays", n_agents=2, n_envs=4)
    asked = InterventionConfig(by_rule=(("LOW_ENTROPY", "pause"),), pause_steps=10_000)
    limits = {"warm_up_steps": 0, "warm_up_updates": 0, "probe_every": 0}
    guards = GuardConfig(**limits, low_entropy_critical=0.2, interventions=asked)  # type: ignore[arg-type]
    hasty = replace(SMALL, population=16, bars=16, sigma=0.2, learning_rate=constant(0.1))
    learner = ES(task, TableView(task.table), hasty, seed=1)
    recorder = FlightRecorder(task, guards)

    reports = [recorder.watch(learner, learner.update()) for _ in range(13)]

    entropy = torch.stack([each.measures["policy/normalised_entropy"] for each in reports])
    assert entropy[:3].min() > 0.5
    assert entropy[-1].max() < 0.2
    assert reports[0].decision.response is None
    assert "pause" in [each.decision.response for each in reports]
    assert bool(recorder.paused.any())


def _widened(task: ClockTask, times: int) -> ClockTask:
    wide = ClockTask("truncated", length=4, n_agents=2)
    wide.n_envs = task.n_envs * times
    return wide


def test_task_that_cannot_be_repeated_is_refused() -> None:
    task = ClockTask("truncated")

    with pytest.raises(ConfigError, match="repeat its environments"):
        ES(task, TableView(task.table), SMALL, seed=1)


def test_member_outputs_are_those_of_a_head_with_its_weights() -> None:
    head = StackedHead(2, 3, 2, HeadConfig(hidden=(4,), pooling="partial"), torch.Generator())
    weights = {name: p.detach() for name, p in head.named_parameters()}
    scales = dict.fromkeys(weights, torch.tensor(0.3))
    members = mirrored_members(weights, scales, [5])
    inputs = torch.randn(2, 2 * 3, 3, generator=torch.Generator().manual_seed(1))

    found = member_outputs(head, members, inputs).detach()

    for place in range(2):
        head.load_state_dict({name: tensor[place] for name, tensor in members.items()})
        here = slice(3 * place, 3 * place + 3)
        torch.testing.assert_close(found[:, here], head(inputs[:, here]).detach())


def test_weights_follow_ranks_of_the_elites_and_decay_but_deviations_do_not() -> None:
    task = SignalTask(3, 4)
    head = HeadConfig(hidden=(6,), pooling="partial")
    config = replace(SMALL, actor=head, elites=0.5, weight_decay=0.5)
    learner = ES(task, TableView(task.table), config, seed=1)
    seeds, scales = [3, 4], AgentScales(torch.ones(3), torch.tensor([1.0, 1.0, 0.0]))
    fitness = torch.tensor([[9.0, 0.0, 5.0], [1.0, 0.1, 0.0], [2.0, 0.2, 0.0], [3.0, 90.0, 0.0]])
    # Places ⅛, ⅜, ⅝, ⅞; above ½, of ½: 0, 0, ¼, ¾, less their mean ¼. Sizes do not count.
    utility = torch.tensor([[0.5, -0.25], [-0.25, -0.25], [-0.25, 0.0], [0.0, 0.5]])
    own = torch.zeros(2, 3)
    own[:, :2] = (utility[1::2] - utility[0::2]) / (4 * config.sigma)
    expected = _first_step(learner, own, seeds, config.weight_decay)

    learner._evolution.follow(fitness.double(), seeds, scales, 0.01)

    for name, parameter in learner._actor.named_parameters():
        torch.testing.assert_close(parameter.detach(), expected[name], rtol=1e-4, atol=1e-6)


def _first_step(learner: ES, own: Tensor, seeds: list[int], decay: float) -> dict[str, Tensor]:
    """Adam's first step by 0.01 along Σ weight · perturbation + decay · weight."""
    named = dict(learner._actor.named_parameters())
    gradient = {name: torch.zeros_like(weight) for name, weight in named.items()}
    for pair, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(seed)
        for name, weight in named.items():
            noise = torch.randn(weight.shape, generator=generator)
            each = own[pair][:, None] if name == "deviations" else own[pair].mean()
            gradient[name] += each * noise
    stepped = {}
    for name, weight in named.items():
        whole = gradient[name] + (0.0 if name == "deviations" else decay) * weight.detach()
        stepped[name] = weight.detach() - 0.01 * whole / (whole.abs() + 1e-8)
    return stepped


def test_agents_that_are_told_to_explore_vary_their_own_weights_more() -> None:
    task = SignalTask(3, 4)
    config = replace(SMALL, actor=HeadConfig(hidden=(6,), pooling="partial"))
    evolution = ES(task, TableView(task.table), config, seed=1)._evolution
    scale = torch.tensor([1.0, 2.0, 3.0])

    usual, more = (evolution.member(7, each) for each in (torch.ones(3), scale))

    for name, mean in evolution._weights.items():
        factor = scale[:, None] if name == "deviations" else torch.tensor(2.0)
        torch.testing.assert_close(more[name][0] - mean, factor * (usual[name][0] - mean))


def test_every_generation_draws_other_members_by_the_seed_of_the_run() -> None:
    def members(seed: int, times: int = 3) -> list[list[int]]:
        task, drawn = SignalTask(2, 4), []
        learner = ES(task, TableView(task.table), SMALL, seed=seed)
        follow = learner._evolution.follow

        def spied(fitness: Tensor, seeds: list[int], scales: AgentScales, rate: float) -> Tensor:
            drawn.append(seeds)
            return follow(fitness, seeds, scales, rate)

        learner._evolution.follow = spied  # type: ignore[method-assign]
        for _ in range(times):
            learner.update()
        return drawn

    first, again, other = members(1), members(1), members(2)

    assert first == again
    drawn = [seed for generation in first + other for seed in generation]
    assert len(set(drawn)) == len(drawn) == 2 * 3 * SMALL.population // 2


def test_resumed_evolution_ends_with_the_same_bits() -> None:
    def made() -> ES:
        task = SignalTask(2, 4)
        return ES(task, TableView(task.table), SMALL, seed=1)

    whole, resumed = made(), made()
    for _ in range(2):
        whole.update()
    resumed.load_state({key: part.clone() for key, part in whole.state().items()})
    for _ in range(2):
        whole.update()
        resumed.update()

    again = resumed.state()
    assert all(torch.equal(part, again[key]) for key, part in whole.state().items())
    assert all(
        torch.equal(one, two)
        for one, two in zip(whole._actor.parameters(), resumed._actor.parameters(), strict=True)
    )
