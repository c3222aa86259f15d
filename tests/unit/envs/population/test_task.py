"""The trading task: lanes stay with their agents, starts with their symbols, flags with events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask, evaluation_task
from tradingbot.envs.world import World
from tradingbot.evaluation.rollout import sleeve_config
from tradingbot.learning.task import ActionSpec
from tradingbot.market.params import ActionSpace
from tradingbot.rewards import RewardConfig

N, B, BARS = 3, 5, 420


def make(
    space: ActionSpace = "target", world: World | None = None, **changes: int
) -> PopulationTask:
    """Return the task on a small synthetic world."""
    return PopulationTask(
        world or small_world(), short_config(space, smoothing_bars=1, **changes), n_envs=B, seed=3
    )


def drawn(task: PopulationTask, steps: int) -> torch.Tensor:
    """Return actions (steps, N, B)."""
    rng = stream(1, "actions")
    if task.action.kind == "discrete":
        return torch.from_numpy(rng.integers(0, 7, (steps, N, B)))
    return torch.from_numpy(rng.uniform(task.action.low, 1.0, (steps, N, B))).float()


def test_lanes_stay_in_the_symbol_of_their_agent() -> None:
    task = make()
    state, seen = task.begin()
    symbols = torch.arange(N)[:, None].expand(N, B)
    ends = 0
    for action in drawn(task, 60):
        assert torch.equal(seen.row // BARS, symbols)
        made = task.step(state, action)
        ended = made.terminated | made.truncated
        assert torch.equal(made.final_row, seen.row + 1)
        assert torch.equal(made.observation.row[~ended], made.final_row[~ended])
        ends += int(ended.sum())
        state, seen = made.state, made.observation
    assert ends >= 4 * N * B


def test_environments_of_one_agent_begin_at_different_bars_and_the_seed_decides() -> None:
    first = make().begin()[1].row
    assert all(len(row.unique()) > 1 for row in first)
    assert torch.equal(first, make().begin()[1].row)
    other = PopulationTask(small_world(), short_config("target"), n_envs=B, seed=4)
    assert not torch.equal(first, other.begin()[1].row)


def test_symbol_with_few_usable_bars_starts_in_those_only() -> None:
    world = small_world()
    usable = world.usable.copy()
    few = np.array([250, 251, 300])
    usable[1] = False
    usable[1, few] = True
    task = make(world=replace(world, usable=usable))
    state, seen = task.begin()
    starts = [seen.row]
    for action in drawn(task, 200):
        made = task.step(state, action)
        ended = made.terminated | made.truncated
        starts.append(torch.where(ended, made.observation.row, -1))
        state = made.state
    begun = torch.stack(starts)
    bars = begun[:, 1][begun[:, 1] >= 0] % BARS
    assert set(bars.tolist()) == set(few.tolist())
    counts = torch.bincount(bars, minlength=BARS)[few]
    assert counts.min() > 0.15 * counts.sum()
    for symbol in (0, 2):
        rows = begun[:, symbol][begun[:, symbol] >= 0]
        assert usable.ravel()[rows.numpy()].all()
        assert len(rows.unique()) > 30


def test_symbol_without_a_start_is_refused() -> None:
    world = small_world()
    usable = world.usable.copy()
    usable[2] = False
    with pytest.raises(DataError, match=rf"every symbol must have a bar .*\({world.symbols[2]}\)"):
        make(world=replace(world, usable=usable))


def test_episodes_of_a_period_begin_and_end_in_it() -> None:
    task = make().during(250, 300)
    state, _ = task.begin()
    for action in drawn(task, 80):
        made = task.step(state, action)
        bars = made.final_row % BARS
        assert bars.min() > 250
        assert bars.max() <= 300
        state = made.state
    with pytest.raises(DataError, match="in the world"):
        make().during(300, BARS)
    with pytest.raises(DataError, match="every symbol must have a bar"):
        make().during(300, 305)


@pytest.mark.parametrize(
    ("config", "spec"),
    [
        (sleeve_config(), ActionSpec("box", low=0.0, high=1.0)),
        (short_config("continuous"), ActionSpec("box", low=-1.0, high=1.0)),
        (EnvConfig.preset("long_short").with_space("target"), ActionSpec("box")),
        (short_config("discrete"), ActionSpec("discrete", n_actions=7)),
    ],
)
def test_actions_are_what_the_rules_say(config: EnvConfig, spec: ActionSpec) -> None:
    world = small_world()
    config = replace(config, rules=replace(config.rules, episode=short_config().rules.episode))
    assert PopulationTask(world, config, n_envs=1, seed=0).action == spec


def test_table_shows_features_regimes_and_probabilities_by_row() -> None:
    world, task = small_world(), make()
    expected = np.concatenate((world.features, world.regimes, world.probabilities), axis=-1)
    assert task.table.dtype == torch.float32
    assert np.array_equal(task.table.numpy(), expected)
    row = int(task.begin()[1].row[2, 1])
    assert np.array_equal(task.table.reshape(-1, expected.shape[-1])[row], expected[2, row % BARS])


@pytest.mark.parametrize("space", ["target", "discrete"])
def test_observation_of_a_step_is_that_of_its_state(space: ActionSpace) -> None:
    task = make(space)
    state, _ = task.begin()
    for action in drawn(task, 40):
        made = task.step(state, action)
        again = task.observe(made.state)
        assert torch.equal(again.row, made.observation.row)
        assert torch.equal(again.allowed, made.observation.allowed)
        torch.testing.assert_close(again.private, made.observation.private, rtol=0, atol=1e-6)
        goes_on = ~(made.terminated | made.truncated)
        assert torch.equal(made.final_private[goes_on], made.observation.private[goes_on])
        state = made.state


def test_discrete_codes_are_executed_where_allowed_and_told() -> None:
    task = make("discrete")
    state, seen = task.begin()
    names = task.code_names
    assert names[0] == "HOLD"
    assert seen.allowed.shape == (N, B, 7)
    assert not seen.allowed[..., Action.SELL_ALL].any()
    trades, at_ends = 0, 0
    for action in drawn(task, 60):
        made = task.step(state, action)
        allowed = seen.allowed.gather(-1, action[..., None]).squeeze(-1)
        assert (made.executed[~allowed] == Action.HOLD).all()
        assert ((made.executed == action) | (made.executed == Action.HOLD)).all()
        # Nothing changes hands in a HOLD unless the loss limit of a position closes it.
        assert made.traded[made.executed != Action.HOLD].all()
        trades += int(made.traded.sum())
        at_ends += int(made.executed[made.truncated].ne(Action.HOLD).sum())
        state, seen = made.state, made.observation
    assert trades > 50
    assert at_ends > 0  # told of the step, not of the account that begins after it


def test_box_tasks_allow_no_codes_and_tell_the_code_of_an_order() -> None:
    task = PopulationTask(small_world(), sleeve_of(12), n_envs=B, seed=0)
    state, seen = task.begin()
    assert seen.allowed.shape == (N, B, 0)
    bought = task.step(state, torch.ones(N, B))
    assert (bought.executed == Action.BUY_LARGE).all()
    assert bought.traded.all()
    held = task.step(bought.state, torch.ones(N, B))
    sold = task.step(held.state, torch.zeros(N, B))
    assert (sold.executed == Action.SELL_ALL).all()


def sleeve_of(episode_bars: int) -> EnvConfig:
    """Return the rules of rollouts with short episodes."""
    config = sleeve_config()
    rules = config.rules
    return replace(
        config,
        reward=RewardConfig("log_growth", options={"log_growth": {"scale": 1.0}}),
        rules=replace(rules, episode=replace(rules.episode, episode_bars=episode_bars)),
    )


def test_wealth_follows_log_growth_and_terms_sum_to_the_reward() -> None:
    task = PopulationTask(small_world(), sleeve_of(12), n_envs=B, seed=0, dtype=torch.float64)
    state, _ = task.begin()
    assert torch.equal(task.wealth(state), torch.ones(N, B, dtype=torch.float64))
    growth = torch.zeros(N, B, dtype=torch.float64)
    for action in drawn(task, 11):
        made = task.step(state, action)
        growth += made.reward
        torch.testing.assert_close(made.terms.sum(0), made.reward)
        torch.testing.assert_close(task.wealth(made.state), growth.exp(), rtol=1e-9, atol=0)
        state = made.state
    assert made.terms.shape == (len(task.term_names), N, B)
    made = task.step(state, torch.ones(N, B))
    assert made.truncated.all()
    assert torch.equal(task.wealth(made.state), torch.ones(N, B, dtype=torch.float64))


def test_ruin_terminates_and_is_not_truncation() -> None:
    task = make(world=crashed(small_world(), 0, 300))
    state, _ = task.begin()
    terminated = torch.zeros(N, B, dtype=torch.bool)
    for _ in range(300):
        made = task.step(state, torch.ones(N, B))
        assert not (made.terminated & made.truncated).any()
        terminated |= made.terminated
        state = made.state
    assert terminated[0].any()
    assert not terminated[1:].any()


def test_task_shows_the_private_numbers_it_is_asked_for() -> None:
    whole = make()
    few = whole.showing("drawdown", "size")
    state, seen = whole.begin()
    state = whole.step(state, torch.full((N, B), 0.5)).state
    places = [PRIVATE_NAMES.index("drawdown"), PRIVATE_NAMES.index("size")]
    assert few.n_private == 2
    assert whole.n_private == len(PRIVATE_NAMES) == seen.private.shape[-1]
    assert torch.equal(few.observe(state).private, whole.observe(state).private[..., places])
    with pytest.raises(ConfigError, match=r"'sise'.*size"):
        whole.showing("sise")
    with pytest.raises(ConfigError, match="must see"):
        whole.showing()


@pytest.mark.parametrize("n_envs", [0, 2.0, True])
def test_number_of_environments_that_is_none_is_refused(n_envs: int) -> None:
    with pytest.raises(ConfigError, match="n_envs must be a whole number"):
        PopulationTask(small_world(), short_config("target"), n_envs=n_envs, seed=0)


def test_backtest_of_a_period_begins_and_ends_there() -> None:
    task = evaluation_task(small_world(), short_config("target"), first_bar=260, last_bar=300)
    state, seen = task.begin()
    assert task.episode_bars == 40
    assert torch.equal(seen.row[:, 0], torch.arange(N) * BARS + 260)
    for step in range(40):
        made = task.step(state, torch.full((N, 1), 0.5))
        assert bool(made.truncated.all()) == (step == 39)
        state = made.state
    assert torch.equal(task.observe(state).row[:, 0], torch.arange(N) * BARS + 300)
    with pytest.raises(DataError, match="in the world"):
        evaluation_task(small_world(), short_config("target"), first_bar=300, last_bar=300)
