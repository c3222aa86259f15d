"""The master's task: the portfolio environment, for many portfolios at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.errors import DataError
from tradingbot.envs.portfolio.env import PortfolioEnv
from tradingbot.envs.portfolio.sleeves import run_sleeves, write_book
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.envs.world import select_symbols

N, B, LENGTH = 3, 2, 10


def ones(row, private):
    return torch.ones(len(row), dtype=private.dtype)


def portfolios(decide=ones, world=None, loss_frac=0.2, seed=4):
    config = short_config("target", episode_bars=LENGTH, smoothing_bars=1)
    whole, world = config, world or small_world()
    account = replace(config.rules.account, portfolio_loss_frac=1.0, position_loss_frac=1e9)
    config = replace(config, rules=replace(config.rules, account=account))
    book = write_book(world, run_sleeves(world, config, decide))
    account = replace(account, portfolio_loss_frac=loss_frac)
    terms = PortfolioTerms(replace(whole.rules, account=account), whole.costs)
    return PortfolioTask(book, terms, n_envs=B, seed=seed)


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
    config = short_config("target", episode_bars=LENGTH, smoothing_bars=1)
    env = PortfolioEnv(small_world(), lambda seen: torch.ones(len(seen)), config)
    book = write_book(small_world(), run_sleeves(small_world(), config, ones))
    task = PortfolioTask(book, PortfolioTerms(config.rules, config.costs), n_envs=B, seed=4)
    env.reset(seed=4)
    actions = drawn(3 * LENGTH)

    for number, (action, step) in enumerate(zip(actions, play(task, actions), strict=True)):
        if number and number % LENGTH == 0:
            env.reset()
        _, reward, terminated, truncated, info = env.step(action[0, 0].numpy())
        assert step.reward[0, 0].item() == pytest.approx(reward, abs=1e-7)
        assert step.terms[:, 0, 0].tolist() == pytest.approx([*info["reward_terms"].values()])
        assert step.final_return[0, 0].item() == pytest.approx(info["equity"] / 1e5 - 1, abs=1e-9)
        assert (bool(step.terminated[0, 0]), bool(step.truncated[0, 0])) == (terminated, truncated)
        if not truncated:
            assert step.turnover[0, 0].item() == pytest.approx(info["turnover_frac"], abs=1e-6)


def test_task_says_what_it_shows_and_asks_for():
    task = portfolios()
    state, seen = task.begin()
    book = task.book

    assert task.action.shape == (N + 1,)
    assert seen.private.shape == (1, B, task.n_private) == (1, B, 2 * N + 4)
    assert len(task.private_names) == task.n_private
    bar = int(seen.row[0, 1])
    shown = task.table[0, bar, : N * len(book.member_names)].view(N, -1)
    assert torch.equal(shown, book.members[bar])
    assert torch.equal(task.table[0, bar, N * len(book.member_names) :], book.shared[bar])
    assert book.column("proposal")[bar].tolist() == [1.0] * N
    assert task.wealth(state).tolist() == [[1.0, 1.0]]


def test_direct_gradient_flows_through_several_bars_and_agrees_with_differences():
    task = portfolios()
    state, _ = task.begin()
    weights = drawn(1)[0].double().requires_grad_()

    def worth(action):
        now = state
        for _ in range(3):
            now = task.differentiable_step(now, action).state
        return task.wealth(now).sum()

    (gradient,) = torch.autograd.grad(worth(weights), weights)
    step = torch.zeros_like(weights)
    step[0, 0, 1] = 1e-6
    with torch.no_grad():
        difference = (worth(weights + step) - worth(weights - step)) / 2e-6
    assert gradient[0, 0, 1].item() == pytest.approx(difference.item(), rel=1e-4)
    assert gradient.abs().sum() > 0.0


def test_swapped_sleeves_swap_what_happens_to_them():
    task = portfolios()
    order = [2, 0, 1]
    world = select_symbols(small_world(), [small_world().symbols[place] for place in order])
    other = portfolios(world=world)
    actions = drawn(6)
    swapped = actions[..., [*order, N]]

    for one, two in zip(play(task, actions), play(other, swapped), strict=True):
        assert torch.allclose(one.reward, two.reward, atol=1e-7)
        assert torch.allclose(one.state[0][[*order, N]], two.state[0], atol=1e-12)


def test_agent_that_sees_later_bars_only_changes_later_rows():
    """What is seen and held at a close does not depend on the bars after it."""
    world, cut = small_world(), 300
    later = crashed(world, 1, cut + 1)
    one, two = portfolios(world=world).book, portfolios(world=later).book

    assert torch.equal(one.members[: cut + 1], two.members[: cut + 1])
    assert torch.equal(one.rows[:cut], two.rows[:cut])
    assert not torch.equal(one.rows[cut], two.rows[cut])


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


def test_kept_portfolio_goes_on_as_it_does_in_the_whole_task():
    whole, actions = portfolios().during(200, 280), drawn(3 * LENGTH)
    kept = whole.keeping(1, 1)
    rows = []

    for step, alone in zip(play(whole, actions), play(kept, actions[:, :, 1:]), strict=True):
        assert torch.equal(alone.final_row, step.final_row[:, 1:])
        assert torch.equal(alone.episode, step.episode[:, 1:])
        torch.testing.assert_close(alone.reward, step.reward[:, 1:])
        rows.append(step.final_row[0])

    assert not (torch.stack(rows)[:, 0] == torch.stack(rows)[:, 1]).all()
    assert 200 <= int(torch.stack(rows).min()) <= int(torch.stack(rows).max()) <= 280


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
    halted = [bool(task.numbers(step.state).halted) for step in made]
    assert halted == [halts and i >= at for i in range(steps)]
    cash = [step.state[0][-1, 0].item() for step in made]
    assert cash[: at + 1] == pytest.approx([0.0] * (at + 1))
    assert not any(bool(step.terminated.any()) for step in made)
    if halts:
        assert cash[at + 1 :] == [1.0] * (steps - at - 1)
        assert task.numbers(made[at + 1].state).turnover.item() > 0.4  # sells what is left of both
        assert worth[at + 2 :] == [worth[at + 1]] * (steps - at - 2)
    else:
        assert max(cash) < 0.01
        assert len({*worth}) == steps


def test_halted_portfolio_stays_so_though_its_value_comes_back():
    world = crashed(small_world(), 0, CRASH)
    prices = world.prices.copy()
    prices[0, CRASH + 1 :, :4] *= 2.0  # what was halved is whole again at the open it is sold at
    task = portfolios(world=replace(world, prices=prices)).backtest(CRASH - 6, CRASH + 6)
    made = play(task, [HALVES.view(1, 1, -1)] * 12)
    worth = [task.wealth(step.state).item() for step in made]
    at = 5  # the step over the crash

    assert worth[at] < 0.8 < 0.9 < worth[at + 1]
    assert [bool(task.numbers(step.state).halted) for step in made] == [i >= at for i in range(12)]
    assert [step.state[0][-1, 0].item() for step in made][at + 1 :] == [1.0] * (11 - at)
    assert worth[at + 2 :] == [worth[at + 1]] * (10 - at)


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
        worth, cash = task.wealth(step.state)[0], step.state[0][-1]
        assert (worth[lost] == 1.0).all()
        assert (cash[lost] == 1.0).all()
        assert (task.numbers(step.state).halted == 0.0).all()
        assert (cash[~(lost | over)] < 0.01).all()
        alone += int(lost.sum()) == 1
    assert alone >= 2
