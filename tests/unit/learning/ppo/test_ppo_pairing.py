"""Paired environments: twins play the same bars, and each action counts beside those of others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import ClockTask, SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.portfolio.sleeve_market import SleeveMarket, plant_sleeves
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.rollout import sleeve_config
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.ppo.pairing import pair_envs, rejoin_twins, subtract_twins
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import Task
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(6,))
SMALL = PPOConfig(
    actor=HEAD,
    critic=replace(HEAD, output_gain=1.0),
    rollout_steps=16,
    n_epochs=1,
    minibatch=16,
    learning_rate=constant(1e-2),
    paired_envs=2,
    kl_stop=0.0,
)


def learner(task: Task, seed: int = 1, **settings: object) -> PPO:
    return PPO(task, TableView(task.table), replace(SMALL, **settings), seed=seed)


def portfolios(n_envs: int = 6) -> PortfolioTask:
    planted = plant_sleeves(SleeveMarket(n_sleeves=3, n_bars=600), seed=1)  # synthetic
    rules = SimulatorParams(
        account=AccountRules(portfolio_loss_frac=1.0), episode=EpisodeRules(10, window_bars=1)
    )
    return PortfolioTask(planted.book, PortfolioTerms(rules), n_envs=n_envs, seed=3)


def agents(n_envs: int = 6) -> PopulationTask:
    config = sleeve_config()
    rules = replace(config.rules, episode=EpisodeRules(10, window_bars=1))
    world = synthetic_world("planted", n_symbols=2, n_bars=400, seed=1)
    return PopulationTask(world, replace(config, rules=rules), n_envs=n_envs, seed=3)


def signals(n_envs: int = 6) -> SignalTask:
    return SignalTask(2, n_envs, episode_bars=10)


def test_each_advantage_is_less_the_mean_of_its_twins_at_the_same_bar() -> None:
    # One agent, two bars of three twins: lanes 0, 2, 4 and lanes 1, 3, 5.
    advantage = torch.tensor([[1.0, 10.0, 2.0, 20.0, 6.0, 60.0]])[None]
    row = torch.tensor([[7, 8, 7, 9, 7, 8]])[None]  # lane 3 is elsewhere

    less, paired = subtract_twins(advantage, row, 3)

    assert less.tolist() == [[[1 - 4.0, 10 - 60.0, 2 - 3.5, 0.0, 6 - 1.5, 60 - 10.0]]]
    assert paired.tolist() == [[[True, True, True, False, True, True]]]


def test_expected_gradient_is_that_without_twins_and_its_variance_is_less() -> None:
    """All outcomes of three twins with two actions in two steps, each with its probability."""
    chance = torch.tensor([0.3, 0.6])  # of action 1, by step
    market = torch.tensor([5.0, -3.0])
    worth = torch.tensor([[0.2, 1.0], [0.5, -0.4]])  # of an action in a step
    row = torch.zeros(2, 1, 3, dtype=torch.int64)
    sums = {"plain": [0.0, 0.0], "paired": [0.0, 0.0]}
    for outcome in itertools.product((0, 1), repeat=6):
        action = torch.tensor(outcome).view(2, 3)
        weight = torch.where(action == 1, chance[:, None], 1.0 - chance[:, None]).prod().item()
        reward = market[:, None] + worth.gather(1, action)
        to_go = reward.flip(0).cumsum(0).flip(0)[:, None]
        score = (action - chance[:, None])[:, None]  # of the logit
        for name, each in (("plain", to_go), ("paired", subtract_twins(to_go, row, 3)[0])):
            gradient = (score * each).mean(-1).flatten()
            sums[name][0] += weight * gradient
            sums[name][1] += weight * gradient.square()

    slope = chance * (1.0 - chance) * (worth[:, 1] - worth[:, 0])
    for name, (mean, square) in sums.items():
        torch.testing.assert_close(mean, slope, msg=name)
        sums[name] = square - mean.square()
    assert (sums["paired"] < 0.2 * sums["plain"]).all()


@pytest.mark.parametrize("make", [portfolios, agents, signals])
def test_twins_play_the_same_bars_over_the_ends_of_episodes(make) -> None:
    ppo = learner(make(), paired_envs=3)

    for _ in range(3):
        metrics = ppo.update().metrics

        row, drawn = (part.unflatten(2, (3, 2)) for part in ppo._rollout[:5:4])
        assert torch.equal(row, row[:, :, :1].expand_as(row))
        assert not torch.equal(row[:, :, 0, 0], row[:, :, 0, 1])
        assert not torch.equal(drawn[:, :, 0], drawn[:, :, 1])
        assert ppo._rollout.truncated.any()
        assert metrics["rollout/paired_share"].tolist() == [1.0] * len(row[0])


def test_what_the_market_did_is_taken_out_of_advantages() -> None:
    # Without a critic or a future: only what a bar paid.
    blind = {"discount": 0.0, "normalise_values": False}
    left = []
    for paired_envs in (1, 4):
        ppo = learner(portfolios(64), paired_envs=paired_envs, **blind)
        ppo.update()
        left.append(float(ppo._judge(ppo._rollout)[0].std()))

    assert left[1] < 0.6 * left[0]


def test_twins_that_an_early_end_parted_are_together_again_in_the_next_rollout() -> None:
    task = SignalTask(2, 6, episode_bars=40, ruin=0.985)
    ppo = learner(task)
    shares = []
    for _ in range(6):
        shares.append(ppo.update().metrics["rollout/paired_share"])
        row = ppo._rollout.row.unflatten(2, (2, 3))
        assert torch.equal(row[0, :, 0], row[0, :, 1])
    assert torch.stack(shares).amin() < 1.0


def test_lanes_that_are_apart_go_on_from_where_the_first_twin_is() -> None:
    row = torch.tensor([[1, 2, 1, 5], [3, 4, 6, 4]])
    state = (torch.arange(8), torch.arange(16).view(2, 8))

    first, second = rejoin_twins(state, row, 2)

    assert first.tolist() == [0, 1, 2, 1, 4, 5, 4, 7]
    assert second.tolist() == [first.tolist(), (first + 8).tolist()]


def test_off_is_the_task_as_it_was() -> None:
    task = signals()
    ppo = learner(task, paired_envs=1)

    assert ppo.task is task
    assert "rollout/paired_share" not in ppo.update().metrics


@pytest.mark.parametrize("make", [portfolios, signals])
def test_resumed_learner_ends_with_the_same_bits(make) -> None:
    whole, resumed = (learner(make(), seed) for seed in (1, 2))
    whole.update()
    state = whole.state()
    whole.update()
    expected = whole.update()

    resumed.load_state(state)
    resumed.update()
    got = resumed.update()

    assert all(map(torch.equal, whole.state().values(), resumed.state().values()))
    assert all(map(torch.equal, expected.metrics.values(), got.metrics.values()))


def test_twins_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"must divide .*was 4 of 6"):
        learner(signals(), paired_envs=4)
    with pytest.raises(ConfigError, match="ClockTask"):
        pair_envs(ClockTask("truncated", length=4), 2)
    with pytest.raises(ConfigError, match="paired_envs"):
        PPOConfig(paired_envs=0)


def test_critic_learns_what_a_step_was_worth_and_not_beside_its_twins() -> None:
    """Without a future the target is the reward, whatever twins earned."""
    ppo = learner(portfolios(), discount=0.0, normalise_values=False)
    ppo.update()

    advantage, target, _ = ppo._judge(ppo._rollout)

    torch.testing.assert_close(target, ppo._rollout.reward, rtol=0.0, atol=1e-6)
    twins = (ppo._rollout.row, 2)
    value = ppo._values(ppo._rollout.row, ppo._rollout.private)
    torch.testing.assert_close(advantage, subtract_twins(target - value, *twins)[0])


def test_critic_counts_in_units_of_what_steps_were_worth_whatever_twins_earned() -> None:
    ppo = learner(portfolios(), discount=0.0)
    ppo.update()
    reward, before = ppo._rollout.reward, ppo._value_scale

    target = ppo._judge(ppo._rollout)[1]

    scale = before.with_targets(reward)
    torch.testing.assert_close(tuple(ppo._value_scale), tuple(scale))
    torch.testing.assert_close(target, scale.to_critic(reward), rtol=1e-4, atol=1e-4)


def test_kept_portfolios_are_those_that_were_asked_for() -> None:
    whole = portfolios(6)
    row = whole.begin(1)[1].row

    for first, count in ((0, 2), (2, 3), (5, 1)):
        kept = whole.keeping(first, count)
        assert kept.n_envs == count
        assert torch.equal(kept.begin(1)[1].row, row[:, first : first + count])
    assert len(set(row[0].tolist())) > 3
