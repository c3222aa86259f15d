"""The master's task: the portfolio environment, for many portfolios at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.portfolio.env import PortfolioEnv
from tradingbot.envs.portfolio.task import PortfolioTask

N, B, LENGTH = 3, 2, 10


def ones(row, private):
    return torch.ones(len(row), dtype=private.dtype)


def portfolios(decide=ones, world=None, loss_frac=0.2):
    config = short_config("target", episode_bars=LENGTH, smoothing_bars=1)
    account = replace(config.rules.account, portfolio_loss_frac=loss_frac)
    config = replace(config, rules=replace(config.rules, account=account))
    return PortfolioTask(world or small_world(), config, decide, n_envs=B, seed=4)


def drawn(steps):
    draws = torch.Generator().manual_seed(2)
    return torch.rand(steps, 1, B, N + 1, generator=draws).softmax(-1)


def play(task, actions):
    state, made = task.begin()[0], []
    for action in actions:
        made.append(task.step(state, action))
        state = made[-1].state
    return made


def test_first_portfolio_is_that_of_the_environment_step_for_step():
    task = portfolios()
    env = PortfolioEnv(task.world, lambda seen: torch.ones(len(seen)), task.config)
    env.reset(seed=4)
    actions = drawn(3 * LENGTH)

    for number, (action, step) in enumerate(zip(actions, play(task, actions), strict=True)):
        if number and number % LENGTH == 0:
            env.reset()
        seen, reward, terminated, truncated, info = env.step(action[0, 0].numpy())
        assert step.reward[0, 0].item() == pytest.approx(reward, abs=1e-7)
        assert step.terms[:, 0, 0].tolist() == pytest.approx([*info["reward_terms"].values()])
        assert step.final_return[0, 0].item() == pytest.approx(info["equity"] / 1e5 - 1, abs=1e-6)
        assert (bool(step.terminated[0, 0]), bool(step.truncated[0, 0])) == (terminated, truncated)
        row = np.concatenate([seen["sleeves"].ravel(), seen["weights"], seen["portfolio"]])
        assert np.allclose(step.final_private[0, 0].numpy(), row, atol=1e-6)
        if not truncated:
            assert step.turnover[0, 0].item() == pytest.approx(info["turnover_frac"], abs=1e-6)


def test_task_says_what_it_shows_and_asks_for():
    task = portfolios()
    state, seen = task.begin()
    features = small_world().features

    assert task.action.shape == (N + 1,)
    assert seen.private.shape == (1, B, task.n_private) == (1, B, 18 * N + N + 1 + 3)
    assert seen.row.shape == (1, B)
    bar = int(seen.row[0, 1])
    width = task.table.shape[-1] // N
    shown = task.table[0, bar].view(N, width)[:, : features.shape[-1]].numpy()
    assert np.array_equal(shown, features[:, bar])
    assert task.wealth(state).tolist() == [[1.0, 1.0]]
    with pytest.raises(ConfigError, match="without its gradient"):
        task.differentiable_step(state, drawn(1)[0])


def test_state_shows_what_a_step_does_and_can_be_gone_on_with():
    task, actions = portfolios(), drawn(LENGTH + 3)
    made = play(task, actions)

    for step in made:
        for seen, again in zip(step.observation, task.observe(step.state), strict=True):
            assert torch.equal(seen, again)
    again = task.step(tuple(part.clone() for part in made[-2].state), actions[-1])
    assert torch.equal(again.reward, made[-1].reward)
    assert made[0].episode.tolist() == [[0, 0]]
    assert made[-1].episode.tolist() == [[1, 1]]


def test_all_cash_earns_nothing_and_one_sleeve_is_that_sleeve():
    task = portfolios().backtest(250, 320)
    cash = torch.tensor([0.0, 0.0, 0.0, 1.0]).view(1, 1, -1)
    one = torch.tensor([0.0, 1.0, 0.0, 0.0]).view(1, 1, -1)

    idle, held = play(task, [cash] * 70), play(task, [one] * 70)
    assert task.wealth(idle[-1].state).item() == 1.0
    prices = small_world().prices[1, :, 3]
    assert task.wealth(held[-1].state).item() == pytest.approx(prices[320] / prices[250], rel=0.03)
    assert not any(step.truncated.any() for step in held[:-1])


def test_bars_without_room_for_an_episode_are_refused():
    with pytest.raises(DataError, match="an episode must fit"):
        portfolios().during(300, 305)


CRASH = 260  # halves symbol 0: nine tenths of half the portfolio lose half, 22.5 %
HALVES = torch.tensor([0.5, 0.5, 0.0, 0.0])


@pytest.mark.parametrize(("loss_frac", "halts"), [(0.2, True), (0.3, False)])
def test_loss_limit_halts_a_backtest_in_cash(loss_frac, halts):
    whole = portfolios(world=crashed(small_world(), 0, CRASH), loss_frac=loss_frac)
    task, steps = whole.backtest(CRASH - 6, CRASH + 6), 12
    made = play(task, [HALVES.view(1, 1, -1)] * steps)
    worth = [task.wealth(step.state).item() for step in made]
    at = 5  # the step over the crash

    assert min(worth[:at]) > 0.95
    assert 0.7 < worth[at] < 0.8
    assert [bool(step.state[3][5]) for step in made] == [halts and i >= at for i in range(steps)]
    cash = [step.state[2][-1, 0].item() for step in made]
    assert cash[: at + 1] == pytest.approx([0.0] * (at + 1))
    assert not any(bool(step.terminated.any()) for step in made)
    if halts:
        assert cash[at + 1 :] == [1.0] * (steps - at - 1)
        assert made[at + 1].state[3][3].item() > 0.4  # sells what is left of both
        assert worth[at + 2 :] == [worth[at + 1]] * (steps - at - 2)
    else:
        assert max(cash) < 0.01
        assert len({*worth}) == steps


def test_lost_portfolio_ends_alone_and_begins_anew_in_cash():
    first = CRASH - LENGTH + 2
    whole = portfolios(world=crashed(small_world(), 0, CRASH))
    task = whole.during(first, first + LENGTH + 4)
    made = play(task, [HALVES.expand(1, B, -1)] * 4 * LENGTH)
    number, alone = torch.zeros(B, dtype=torch.int64), 0

    for step in made:
        lost, over = step.terminated[0], step.truncated[0]
        assert torch.equal(step.episode[0], number)
        number = number + (lost | over)
        assert torch.equal(lost, step.final_return[0] <= -0.2)
        assert torch.equal(lost, step.final_row[0] == CRASH)
        assert not (lost & over).any()
        worth, cash = task.wealth(step.state)[0], step.state[2][-1]
        assert (worth[lost] == 1.0).all()
        assert (cash[lost] == 1.0).all()
        assert (step.state[3][5] == 0.0).all()
        assert (cash[~(lost | over)] < 0.01).all()
        alone += int(lost.sum()) == 1
    assert alone >= 2
