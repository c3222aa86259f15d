"""Set-ups that must fail: the recorder says so in time, for the right reason, of the right agent.

Learners are the real ones, markets synthetic. The numbers of updates are what documentation states.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.sabotage_runs import GUARDED, SOUND, TINY_ENTROPY, alarms, found, watched_run
from fixtures.sabotage_tasks import RiggedPopulation, RiggedTask, SpoiltTask
from fixtures.toy_tasks import SignalTask
from fixtures.trading_worlds import short_config, small_world
from tradingbot.learning.guards import AlarmLevel, FlightRecorder
from tradingbot.learning.guards.recorder import RecorderReport
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.schedules import constant
from tradingbot.networks.view import TableView

AGENTS = ("A0", "A1", "A2", "A3")
ONSET = 5
"""Sound updates before rewards are spoilt."""


@pytest.fixture(scope="module")
def rigged() -> list[RecorderReport]:
    """The first version's set-up: a gain is booked for every BUY_SMALL."""
    return watched_run(RiggedTask("always_pays"), TINY_ENTROPY, 25)


def test_reward_that_always_pays_one_action_is_found_within_25_updates(
    rigged: list[RecorderReport],
) -> None:
    collapsed = found(rigged, "ONE_ACTION")

    assert set(collapsed) == set(AGENTS)
    assert "BUY_SMALL" in collapsed["A2"].words
    assert collapsed["A2"].words.startswith("agent A2: 9")
    assert collapsed["A2"].observed > 0.9
    assert set(found(rigged, "LOW_ENTROPY")) == set(AGENTS)
    assert set(found(rigged, "REPEATS", AlarmLevel.WARNING)) == set(AGENTS)
    assert not found(rigged, "ALL_HOLD", AlarmLevel.INFO)
    assert "boost_entropy" in {report.decision.response for report in rigged}
    assert not rigged[-1].healthy


def test_telemetry_of_the_plan_tells_few_actions_of_a_collapsed_policy() -> None:
    plan = replace(GUARDED, distinct_actions=4.0)
    # The plan counts actions of 120 steps; a policy that is to keep to one for so long learns fast.
    config = replace(TINY_ENTROPY, rollout_steps=128, learning_rate=constant(0.02))

    reports = watched_run(RiggedTask("always_pays"), config, 14, guard=plan)

    told = found(reports, "FEW_ACTIONS", AlarmLevel.WARNING)
    assert set(told) == set(AGENTS)
    assert not found(reports[:7], "FEW_ACTIONS", AlarmLevel.INFO)
    assert "different actions in 120 steps (limit 4)" in told["A1"].words


def test_telemetry_of_the_plan_tells_that_ruined_accounts_do_not_do_what_is_chosen() -> None:
    plan = replace(GUARDED, executed_gap=0.15, violations=0.05)

    ruined, sound = (
        found(watched_run(task, SOUND, 12, guard=plan), "EXECUTION_GAP", AlarmLevel.WARNING)
        for task in (RiggedTask("hidden_costs"), RiggedTask("costs"))
    )

    assert set(ruined) == set(AGENTS)
    assert "apart from the chosen ones (limit 15 %)" in ruined["A0"].words
    assert not sound


def test_falling_entropy_is_told_before_the_collapse(
    rigged: list[RecorderReport],
) -> None:
    falls, collapsed = (
        found(rigged, "ENTROPY_FALLS", AlarmLevel.WARNING),
        found(rigged, "ONE_ACTION"),
    )

    assert all(falls[agent].update < collapsed[agent].update for agent in AGENTS)


def test_costs_hidden_from_the_reward_end_in_all_hold_within_10_updates() -> None:
    reports = watched_run(RiggedTask("hidden_costs"), TINY_ENTROPY, 10)

    idle = found(reports, "ALL_HOLD")
    assert set(idle) == set(AGENTS)
    assert "not by choice" in idle["A1"].words
    assert "of its selections are not executed" in idle["A1"].words
    assert set(found(reports, "NOT_EXECUTED", AlarmLevel.WARNING)) == set(AGENTS)


def test_staying_out_of_a_costly_market_is_told_and_a_collapse_only_where_forbidden() -> None:
    task = RiggedTask("costs")
    learner = PPO(task, TableView(task.table), SOUND, seed=0)
    allowing = FlightRecorder(task, GUARDED)
    forbidding = FlightRecorder(task, replace(GUARDED, flat_is_allowed=False))
    allowed, forbidden = [], []
    for _ in range(30):
        update = learner.update()
        allowed.append(allowing.watch(learner, update))
        forbidden.append(forbidding.watch(learner, update))

    assert set(found(allowed, "ALL_HOLD", AlarmLevel.INFO)) == set(AGENTS)
    assert "stays out" in found(allowed, "ALL_HOLD", AlarmLevel.INFO)["A0"].words
    assert alarms(allowed) == []
    assert set(found(forbidden, "ALL_HOLD")) == set(AGENTS)


def test_rewards_that_are_not_numbers_are_found_in_the_update_they_come_in() -> None:
    task = SpoiltTask("nan", n_agents=4, n_envs=8, sound_steps=32 * ONSET)
    reports = watched_run(task, SOUND, ONSET + 2)

    assert not found(reports[:ONSET], "NOT_FINITE", AlarmLevel.INFO)
    verdict = found(reports, "NOT_FINITE", AlarmLevel.WARNING)["A1"]
    assert verdict.update == ONSET + 1
    assert "rewards" in verdict.words
    assert verdict.observed >= 1
    assert reports[ONSET - 1].healthy
    assert not reports[ONSET].healthy


def test_exploding_rewards_are_found_within_6_updates() -> None:
    task = SpoiltTask("explodes", n_agents=4, n_envs=8, sound_steps=32 * ONSET)
    reports = watched_run(task, SOUND, ONSET + 6)

    exploded = found(reports, "REWARD_EXPLODES")
    assert set(exploded) == {"A1"}
    assert "rewards are of size" in exploded["A1"].words
    assert exploded["A1"].observed > GUARDED.reward_growth


def test_critic_that_never_learns_is_found_within_16_updates() -> None:
    config = replace(SOUND, value_weight=0.0, normalise_values=False)
    reports = watched_run(SignalTask(4, 8), config, 16, spoil=_shout)

    dead = found(reports, "DEAD_CRITIC")
    assert set(dead) == set(AGENTS)
    assert "a constant would do better" in dead["A3"].words
    assert dead["A3"].observed < 0.0
    assert "roll_back" in {report.decision.response for report in reports}


def test_rigged_reward_of_the_real_task_is_found_within_16_updates() -> None:
    """Its mask allows no second entry, so that the policy alternates; it is undone all the same."""
    config = short_config("discrete", episode_bars=32)
    rules = replace(config.rules, action=replace(config.rules.action, max_repeats=1_000_000))
    task = RiggedPopulation(small_world(), replace(config, rules=rules), n_envs=8, seed=3)
    reports = watched_run(task, TINY_ENTROPY, 16, guard=replace(GUARDED, probe_every=0))

    low = found(reports, "LOW_ENTROPY")
    assert set(low) == set(task.agent_names)
    assert "the normalised entropy of the policy is 0.0" in low[task.agent_names[0]].words
    assert not found(reports, "REPEATS", AlarmLevel.WARNING)
    assert not found(reports, "NOT_EXECUTED", AlarmLevel.WARNING)


def _shout(learner: PPO) -> None:
    """Make a critic that is never trained say large numbers."""
    with torch.no_grad():
        for parameter in learner.network.critic.parameters():
            parameter.mul_(4.0)
