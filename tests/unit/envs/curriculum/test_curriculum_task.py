"""The curriculum of a population: market, costs and starts follow each agent's progress."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import short_config, small_world
from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.envs.curriculum.agent_progress import unpack_progress
from tradingbot.envs.curriculum.env import (
    CurriculumConfig,
    Progress,
    episode_result,
    stage_world,
)
from tradingbot.envs.curriculum.task import CurriculumTask
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.single import TradingEnv
from tradingbot.learning.task import task_metrics
from tradingbot.market.costs import CostProfile
from tradingbot.market.curriculum.difficulty import DifficultyRules
from tradingbot.market.curriculum.settings import CurriculumSettings
from tradingbot.market.curriculum.stages import STAGES, CurriculumState, PassRule, advance_stage
from tradingbot.market.packing import PackedAccount

N, B, BARS, LENGTH = 3, 2, 420, 8
EASY = tuple(
    replace(stage, min_sharpe=-1e9, min_trades=0, min_win_rate_frac=0.0) for stage in STAGES[:2]
)
SETTINGS = CurriculumSettings(
    stages=EASY, rule=PassRule(min_episodes=2, recent_episodes=2), markets_per_stage=1
)
REAL = (
    replace(STAGES[0], min_sharpe=3.0, min_trades=2, min_win_rate_frac=0.6),
    replace(STAGES[1], min_sharpe=1.0, min_trades=1, cost_bps=100.0, min_win_rate_frac=0.5),
)
ONE_OF_TWO = PassRule(min_episodes=2, recent_episodes=2, min_success_frac=0.5)


def population(space="target"):
    config = short_config(space, episode_bars=LENGTH, smoothing_bars=1)
    return PopulationTask(small_world(), config, n_envs=B, seed=4)


@pytest.fixture(scope="module")
def task():
    return CurriculumTask(population(), SETTINGS)


def play(task, steps, state=None, code=None):
    state = task.begin()[0] if state is None else state
    made, shape = [], (N, B)
    action = torch.ones(shape) if code is None else torch.full(shape, code)
    for _ in range(steps):
        made.append(task.step(state, action))
        state = made[-1].state
    return made


def blocks(row):
    return sorted(set((row // (N * BARS)).flatten().tolist()))


def test_stages_are_played_in_turn_and_then_the_runs_own_bars(task):
    made = play(task, 4 * LENGTH)

    seen = [blocks(step.observation.row) for step in made[LENGTH - 2 :: LENGTH]]
    assert seen == [[1], [2], [0], [0]]  # two episodes each: both environments end together
    stages = [task_metrics(task, step.state)["curriculum/stage"].tolist() for step in made]
    assert [stages[end] for end in (0, LENGTH - 1, 2 * LENGTH - 1)] == [[0] * N, [1] * N, [2] * N]
    assert all(step.truncated.all() == (i % LENGTH == LENGTH - 1) for i, step in enumerate(made))


def test_step_in_a_stage_is_the_step_in_its_market_at_its_costs(task):
    config = CurriculumConfig(
        env=task.config, stages=EASY, rule=SETTINGS.rule, n_symbols=N, n_bars=BARS, seed=4
    )
    world = stage_world(config, Progress(CurriculumState(stage=1)))
    there = replace(population().config, costs=EASY[1].costs)
    alone = PopulationTask(world, there, n_envs=B, seed=4)
    state = play(task, LENGTH)[-1].state

    made, counts = task.step(state, torch.ones(N, B)), state[1].clone()
    counts[0] -= 2 * N * BARS  # row of the account
    own = alone.step(PackedAccount(state[0], counts), torch.ones(N, B))
    assert torch.equal(made.reward, own.reward)
    assert torch.equal(made.observation.private, own.observation.private)
    cheap = PopulationTask(world, replace(there, costs=EASY[0].costs), n_envs=B, seed=4)
    assert not torch.equal(
        made.reward, cheap.step(PackedAccount(state[0], counts), torch.ones(N, B)).reward
    )


@pytest.mark.parametrize("space", ["target", "discrete"])
def test_what_is_seen_after_a_reset_is_what_the_state_shows(space):
    task = CurriculumTask(population(space), SETTINGS)

    for step in play(task, 2 * LENGTH + 1, code=1 if space == "discrete" else None):
        shown = task.observe(step.state)
        for seen, again in zip(step.observation, shown, strict=True):
            assert torch.equal(seen, again)


def test_agent_that_fails_stays_where_it_is():
    hard = CurriculumTask(population(), replace(SETTINGS, stages=STAGES[:2]))  # needs four trades

    step = play(hard, 3 * LENGTH)[-1]
    told = task_metrics(hard, step.state)
    assert blocks(step.observation.row) == [1]
    assert told["curriculum/stage"].tolist() == [0] * N
    assert told["curriculum/episodes"].tolist() == [3 * B] * N
    assert told["curriculum/success"].tolist() == [0] * N


def test_difficulty_moves_by_agent_and_widens_the_spread():
    rules = DifficultyRules(
        episodes_per_decision=2,
        raise_return_frac=-0.9,
        raise_win_rate_frac=0.0,
        lower_return_frac=-0.95,
        lower_win_rate_frac=-1.0,
        largest_step=0.5,
        smallest_step=0.5,
    )
    settings = replace(SETTINGS, rule=PassRule(50, 2), adaptive=True, levels=3, difficulty=rules)
    task = CurriculumTask(population(), settings)

    made = play(task, 2 * LENGTH + 1)
    levels = [task_metrics(task, step.state)["curriculum/level"][0].item() for step in made]
    assert [levels[end] for end in (0, LENGTH - 1, 2 * LENGTH - 1)] == [0.0, 0.5, 1.0]
    assert blocks(made[0].observation.row) == [1]
    assert blocks(made[-1].observation.row) == [3]
    spreads = [task._rates_of(made[at].state)[2].max().item() for at in (0, LENGTH, 2 * LENGTH)]
    assert spreads == pytest.approx([0.0, 15e-4, 30e-4])


def test_markets_of_a_stage_are_played_in_turn():
    settings = replace(
        SETTINGS, rule=PassRule(50, 2), markets_per_stage=2, episodes_per_market=1, stages=EASY[:1]
    )
    made = play(CurriculumTask(population(), settings), 3 * LENGTH)

    assert [blocks(made[i * LENGTH].observation.row) for i in range(3)] == [[1], [2], [1]]


class Replay:
    """Environments of one agent, each in a `TradingEnv` at the market and costs of its stage."""

    def __init__(self, agent, markets):
        self.agent, self.state, self.late = agent, CurriculumState(), 0
        self.trading = [[TradingEnv(*market) for market in markets] for _ in range(B)]
        self.played, self.results = [0] * B, []

    def begin(self, env, row):
        self.played[env] = row // (N * BARS) - 1
        trading = self.trading[env][self.played[env]]
        symbol = trading.world.symbols[self.agent]
        trading.reset(seed=0, options={"symbol": symbol, "bar": row % BARS})

    def step(self, env, action):
        """Trade a bar; an episode that ends counts if it was begun in the agent's stage."""
        trading = self.trading[env][self.played[env]]
        *_, terminated, truncated, info = trading.step(np.array([action], np.float32))
        if not (terminated or truncated):
            return False
        result = episode_result(info["summary"])
        if self.played[env] != self.state.stage:
            self.late += 1
            return True
        self.results.append((REAL[self.state.stage], result))
        self.state = advance_stage(self.state, result, REAL, ONE_OF_TWO)
        return True


def test_episodes_are_judged_as_the_environment_judges_them():
    config = population().config
    account = replace(config.rules.account, portfolio_loss_frac=0.008)  # ends come at any bar
    config = replace(config, rules=replace(config.rules, account=account))
    dear = replace(config, costs=CostProfile(0.02, 0.02))
    own = PopulationTask(small_world(), dear, n_envs=B, seed=4)
    settings = replace(SETTINGS, stages=REAL, rule=ONE_OF_TWO, then_own_bars=False)
    task = CurriculumTask(own, settings)
    state, seen = task.begin()
    draws = torch.Generator().manual_seed(3)
    stages = CurriculumConfig(
        env=config, stages=REAL, rule=ONE_OF_TWO, n_symbols=N, n_bars=BARS, seed=4
    )
    worlds = [stage_world(stages, Progress(CurriculumState(stage=i))) for i in range(2)]
    markets = [(w, replace(config, costs=s.costs)) for w, s in zip(worlds, REAL, strict=True)]
    agents = [Replay(agent, markets) for agent in range(N)]
    for agent in agents:
        for env in range(B):
            agent.begin(env, int(seen.row[agent.agent, env]))

    for _ in range(8 * LENGTH):
        action = torch.randint(0, 2, (N, B), generator=draws).float()
        made = task.step(state, action)
        state, ended = made.state, made.terminated | made.truncated
        for agent in agents:
            over = [agent.step(env, action[agent.agent, env].item()) for env in range(B)]
            assert over == ended[agent.agent].tolist()
            for env in np.flatnonzero(over):
                agent.begin(env, int(made.observation.row[agent.agent, env]))
        now = unpack_progress(state[2], B)
        expected = [agent.state for agent in agents]
        assert now.stage.tolist() == [each.stage for each in expected]
        assert now.episodes.tolist() == [each.episodes for each in expected]
        assert now.completed.tolist() == [each.completed for each in expected]
        recent = [[bool(x) for x in now.recent[:, i] if x >= 0.0] for i in range(N)]
        assert recent == [[*each.recent] for each in expected]
    judged = [pair for agent in agents for pair in agent.results]
    misses = [
        (
            result.sharpe_annual < stage.min_sharpe,
            result.win_rate_frac < stage.min_win_rate_frac,
            result.n_trades < stage.min_trades,
        )
        for stage, result in judged
    ]
    # Success, and failure by the win rate alone, by trades alone and by the Sharpe ratio.
    assert {(False, False, False), (False, True, False), (False, False, True)} <= {*misses}
    assert any(too_low for too_low, *_ in misses)
    assert sum(agent.late for agent in agents) > 0
    assert {agent.state.stage for agent in agents} == {0, 1}


def test_columns_of_other_data_are_shown_by_name_and_missing_ones_as_the_mean(task):
    names = task.world.feature_names
    assert "signal" in names  # of the planted market, which stages do not have
    stage = task.table[N:]

    assert stage[..., names.index("signal")].abs().max() == 0.0
    assert stage[..., names.index("return_1")].abs().max() > 0.0
    assert torch.equal(task.table[:N], task.own_bars.table)


def test_generating_markets_ends_when_it_is_interrupted(task):
    made = []
    with pytest.raises(InterruptionError):
        CurriculumTask(task.own_bars, task.settings, lambda: made.append(1) or True)
    assert len(made) == 1  # after the first market of two


def test_markets_beyond_memory_are_refused():
    CurriculumSettings(markets_per_stage=8, adaptive=True, levels=5)  # 5 stages: 200 markets

    with pytest.raises(ConfigError, match=r"at most 200.*was 205.*Lower markets_per_stage"):
        CurriculumSettings(markets_per_stage=1, adaptive=True, levels=41)
