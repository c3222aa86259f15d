"""Each rule at its limit, its patience, its excuses and its words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.sabotage_histories import CONFIG, NAMES, history_of
from tradingbot.learning.guards import AlarmLevel, Diagnosis, GuardConfig
from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.detector import run_detector
from tradingbot.learning.guards.history import History

BY_CODE = {rule.code: rule for rule in RULES}
IDLE = {"eval/idle_share": 0.99, "rollout/idle_share": 0.5, "eval/reward_mean": 0.0}
INFO, WARNING, CRITICAL = AlarmLevel.INFO, AlarmLevel.WARNING, AlarmLevel.CRITICAL


def judge(code: str, history: History, config: GuardConfig = CONFIG) -> tuple[Diagnosis, ...]:
    return run_detector(BY_CODE[code], history, config, NAMES)


def severity(code: str, changes: dict[str, float], **place: int) -> AlarmLevel | None:
    """Judge the second agent; nobody else may be accused."""
    verdicts = judge(code, history_of(changes, **place))
    assert {verdict.agent for verdict in verdicts} <= {"TSLA"}
    return verdicts[0].severity if verdicts else None


def test_sound_history_breaks_no_rule() -> None:
    for rule in RULES:
        assert run_detector(rule, history_of(), CONFIG, NAMES) == ()


@pytest.mark.parametrize(
    ("code", "changes", "expected"),
    [
        ("ONE_ACTION", {"rollout/largest_share": 0.60}, None),
        ("ONE_ACTION", {"rollout/largest_share": 0.61}, WARNING),
        ("ONE_ACTION", {"rollout/largest_share": 0.90}, WARNING),
        ("ONE_ACTION", {"rollout/largest_share": 0.91}, CRITICAL),
        ("ONE_ACTION", {"rollout/largest_share": 0.99, "rollout/selections": 999.0}, None),
        ("ONE_ACTION", {"rollout/largest_share": 0.8, "rollout/idle_share": 0.8}, INFO),
        ("ONE_ACTION", {"rollout/largest_share": 0.95, "rollout/idle_share": 0.95}, CRITICAL),
        ("ONE_ACTION", {"rollout/largest_share": 0.95, **IDLE}, INFO),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.30}, None),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.29}, WARNING),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.10}, WARNING),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.09}, CRITICAL),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.09, "eval/entropy": 0.6}, WARNING),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.29, "eval/entropy": 0.6}, INFO),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.09, "eval/entropy": 0.59}, CRITICAL),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.09, **IDLE}, INFO),
        ("LOW_ENTROPY", {"policy/normalised_entropy": float("nan")}, None),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.5, "eval/entropy": 0.9}, None),
        ("REPEATS", {"rollout/repeat_share": 0.50}, None),
        ("REPEATS", {"rollout/repeat_share": 0.51}, WARNING),
        ("FEW_TRADES", {"rollout/voluntary_share": 0.05, "eval/reward_mean": 0.0}, None),
        ("FEW_TRADES", {"rollout/voluntary_share": 0.04, "eval/reward_mean": 0.0}, WARNING),
        ("FEW_TRADES", {"rollout/voluntary_share": 0.04, "eval/reward_mean": 0.03}, INFO),
        ("FEW_TRADES", {"rollout/voluntary_share": 0.04, **IDLE}, INFO),
        (
            "FEW_TRADES",
            {"rollout/voluntary_share": 0.04, "rollout/unexecuted_share": 0.6, **IDLE},
            WARNING,
        ),
        ("ALL_HOLD", {**IDLE, "eval/idle_share": 0.94}, None),
        ("ALL_HOLD", IDLE, INFO),
        ("ALL_HOLD", {**IDLE, "eval/idle_share": 0.95}, INFO),
        ("ALL_HOLD", {**IDLE, "rollout/reward_mean": 0.04}, CRITICAL),
        ("ALL_HOLD", {**IDLE, "rollout/reward_mean": 0.028}, INFO),
        ("ALL_HOLD", {**IDLE, "rollout/unexecuted_share": 0.51}, CRITICAL),
        ("ALL_HOLD", {"rollout/idle_share": 0.96, "eval/reward_mean": 0.0}, WARNING),
        ("ALL_HOLD", {"rollout/idle_share": 0.96, "eval/reward_mean": 0.021}, INFO),
        ("NOT_EXECUTED", {"rollout/unexecuted_share": 0.50}, None),
        ("NOT_EXECUTED", {"rollout/unexecuted_share": 0.51}, WARNING),
        ("NOT_EXECUTED", {"rollout/unexecuted_share": 0.90}, WARNING),
        ("NOT_EXECUTED", {"rollout/unexecuted_share": 0.91}, CRITICAL),
        ("REWARD_EXPLODES", {"rollout/reward_scale": 1.1e4}, CRITICAL),
        ("REWARD_EXPLODES", {"rollout/reward_scale": 0.9e4}, None),
        ("ONE_TERM", {"rollout/largest_term_share": 0.90}, None),
        ("ONE_TERM", {"rollout/largest_term_share": 0.91}, WARNING),
        ("ONE_TERM", {"rollout/largest_term_share": 0.91, "rollout/active_terms": 2.0}, INFO),
        ("ONE_TERM", {"rollout/largest_term_share": 1.0, "rollout/active_terms": 1.0}, None),
        ("GOALS_MISSED", {"goal/success": 0.02}, WARNING),
        ("GOALS_MISSED", {"goal/success": 0.03}, None),
        ("GOALS_MISSED", {}, None),  # without goals nothing is known of them
        ("ONE_OPTION", {"options/largest_share": 0.60, "options/largest": 0.0}, None),
        ("ONE_OPTION", {"options/largest_share": 0.61, "options/largest": 0.0}, WARNING),
        ("ONE_OPTION", {"options/largest_share": 0.91, "options/largest": 0.0}, CRITICAL),
        ("ONE_OPTION", {}, None),
        ("ACTORS_LAG", {"actors/largest_lag": 8.0}, None),
        ("ACTORS_LAG", {"actors/largest_lag": 9.0}, WARNING),
        ("POPULATION_COLLAPSED", {"population/distinct_share": 0.10}, None),
        ("POPULATION_COLLAPSED", {"population/distinct_share": 0.09}, WARNING),
        ("POPULATION_COLLAPSED", {"population/distinct_share": 1 / 255}, WARNING),
        ("POPULATION_COLLAPSED", {"population/distinct_share": 0.0}, CRITICAL),
        ("CURRICULUM_STUCK", {"curriculum/unpassed_episodes": 1_000.0}, None),
        ("CURRICULUM_STUCK", {"curriculum/unpassed_episodes": 1_001.0}, WARNING),
        ("INTRINSIC_DOMINATES", {"curiosity/share": 0.15}, None),
        ("INTRINSIC_DOMINATES", {"curiosity/share": 0.16}, WARNING),
        ("INTRINSIC_DOMINATES", {"curiosity/share": 0.51}, CRITICAL),
        ("INTRINSIC_DOMINATES", {}, None),
        ("ONE_OBJECTIVE", {"objectives/largest_weight": 0.59}, None),
        ("ONE_OBJECTIVE", {"objectives/largest_weight": 0.60}, WARNING),
        ("ONE_OBJECTIVE", {}, None),
        ("FEW_ACTIONS", {"rollout/distinct_actions": 1.0}, None),  # not asked for
        ("EXECUTION_GAP", {"rollout/executed_gap": 0.9, "rollout/violations": 0.9}, None),
        ("DEAD_CRITIC", {"value/explained_variance": 0.0}, None),
        ("DEAD_CRITIC", {"value/explained_variance": -0.01}, WARNING),
        ("DEAD_CRITIC", {"value/explained_variance": -0.5}, WARNING),
        ("DEAD_CRITIC", {"value/explained_variance": -0.51}, CRITICAL),
        ("NOT_FINITE", {"rollout/bad_rewards": 1.0}, CRITICAL),
        ("NOT_FINITE", {"rollout/bad_actions": 1.0}, CRITICAL),
        ("NOT_FINITE", {"loss/bad_losses": 1.0}, CRITICAL),
    ],
)
def test_rule_at_its_limits(
    code: str, changes: dict[str, float], expected: AlarmLevel | None
) -> None:
    assert severity(code, changes) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"eval/largest_share": 0.97, "eval/share_in_sampling": 0.41}, WARNING),
        ({"eval/largest_share": 0.90, "eval/share_in_sampling": 0.41}, WARNING),
        ({"eval/largest_share": 0.89, "eval/share_in_sampling": 0.41}, None),
        ({"eval/largest_share": 0.97, "eval/share_in_sampling": 0.58}, None),
        (
            {
                "eval/largest_share": 0.97,
                "eval/share_in_sampling": 0.41,
                "rollout/reward_mean": 0.07,
            },
            CRITICAL,
        ),
        ({"eval/largest_share": 0.97, "eval/share_in_sampling": 0.41, **IDLE}, INFO),
        (
            {
                "eval/largest_share": 0.97,
                "eval/share_in_sampling": 0.41,
                "policy/normalised_entropy": 0.9,
            },
            INFO,
        ),
        (
            {
                "eval/largest_share": 0.97,
                "eval/share_in_sampling": 0.41,
                "policy/normalised_entropy": 0.89,
            },
            WARNING,
        ),
    ],
)
def test_policy_that_lives_on_its_noise_is_told_by_degrees(
    changes: dict[str, float], expected: AlarmLevel | None
) -> None:
    assert severity("LIVES_ON_NOISE", changes) is expected


def test_noise_is_told_in_the_words_people_know() -> None:
    changes = {
        "eval/largest_share": 0.97,
        "eval/share_in_sampling": 0.41,
        "eval/largest_code": 0.0,
    }
    (verdict,) = judge("LIVES_ON_NOISE", history_of(changes))

    assert verdict.words == (
        "agent TSLA: 97 % HOLD in deterministic evaluation although 41 % in sampling: the policy "
        "lives on its noise."
    )
    assert verdict.observed == pytest.approx(0.56)


@pytest.mark.parametrize(
    ("code", "changes", "patience"),
    [
        ("ONE_ACTION", {"rollout/largest_share": 0.99}, 3),
        ("LOW_ENTROPY", {"policy/normalised_entropy": 0.05}, 3),
        ("LIVES_ON_NOISE", {"eval/largest_share": 0.99, "eval/share_in_sampling": 0.1}, 11),
        ("DEAD_CRITIC", {"value/explained_variance": -1.0}, 10),
        ("ONE_TERM", {"rollout/largest_term_share": 0.95}, 10),
        ("GOALS_MISSED", {"goal/success": 0.0}, 10),
        ("ONE_OBJECTIVE", {"objectives/largest_weight": 0.6}, 10),
        ("NOT_FINITE", {"rollout/bad_rewards": 1.0}, 1),
        ("REWARD_EXPLODES", {"rollout/reward_scale": 6.0}, 2),
        ("GRADIENT_EXPLODES", {"loss/gradient_norm": 11.0}, 3),
        ("ENTROPY_FALLS", {"policy/normalised_entropy": 0.2}, 1),
    ],
)
def test_sign_is_told_when_it_has_lasted_as_long_as_patience(
    code: str, changes: dict[str, float], patience: int
) -> None:
    assert severity(code, changes, last=patience) is not None
    if patience > 1:
        assert severity(code, changes, last=patience - 1) is None


def test_sign_that_ends_is_told_no_longer() -> None:
    history = history_of({"rollout/largest_share": 0.99})
    history["rollout/largest_share"][-1, 1] = 0.4

    assert judge("ONE_ACTION", history) == ()


def test_severity_is_the_least_of_the_updates_in_patience() -> None:
    history = history_of({"policy/normalised_entropy": 0.05})
    history["policy/normalised_entropy"][-2, 1] = 0.2

    (verdict,) = judge("LOW_ENTROPY", history)
    assert verdict.severity is WARNING


@pytest.mark.parametrize(
    ("steps_per_update", "updates", "is_told"),
    [(100, 39, False), (100, 43, True), (1_000, 12, False)],
)
def test_policies_are_judged_after_the_warm_up(
    steps_per_update: int, updates: int, is_told: bool
) -> None:
    """4,000 steps and 10 updates, then three updates of patience."""
    history = history_of(
        {"policy/normalised_entropy": 0.05},
        updates=updates,
        last=updates,
        steps_per_update=steps_per_update,
    )

    assert bool(judge("LOW_ENTROPY", history)) is is_told


def test_what_is_not_a_number_is_told_during_the_warm_up() -> None:
    history = history_of({"rollout/bad_rewards": 2.0}, updates=1, last=1)

    (verdict,) = judge("NOT_FINITE", history)
    assert verdict.words == "agent TSLA: NaN or infinite: 2 rewards."


def test_harm_kept_from_the_weights_is_a_warning_until_it_goes_on_and_on() -> None:
    changes = {"rollout/bad_rewards": 2.0, "update/skipped": 8.0}

    assert severity("NOT_FINITE", changes, last=1) is WARNING
    assert severity("NOT_FINITE", changes, last=2) is WARNING
    assert severity("NOT_FINITE", changes, last=3) is CRITICAL
    assert severity("NOT_FINITE", changes, last=3, updates=3) is CRITICAL
    assert severity("NOT_FINITE", {"rollout/bad_rewards": 2.0}, last=1) is CRITICAL
    assert severity("NOT_FINITE", {**changes, "loss/bad_losses": 1.0}, last=1) is CRITICAL


def test_agent_poisoned_by_another_names_the_culprit() -> None:
    history = history_of({"rollout/bad_rewards": 2.0})
    history["loss/bad_losses"][-1] = 3.0

    by_agent = {verdict.agent: verdict for verdict in judge("NOT_FINITE", history)}
    assert "by way of what it shares with TSLA" in by_agent["SPY"].words
    assert "by way of" not in by_agent["TSLA"].words


@pytest.mark.parametrize(
    ("scale", "expected"), [(5.0, None), (5.1, CRITICAL), (0.99, None), (50.0, CRITICAL)]
)
def test_rewards_may_grow_to_ten_times_the_usual(scale: float, expected: AlarmLevel | None) -> None:
    assert severity("REWARD_EXPLODES", {"rollout/reward_scale": scale}, last=4) is expected


def test_small_rewards_may_grow_as_they_like() -> None:
    history = history_of({"rollout/reward_scale": 0.01})
    history["rollout/reward_scale"][-4:, 1] = 1.0

    assert judge("REWARD_EXPLODES", history) == ()


@pytest.mark.parametrize(
    ("norm", "expected"), [(10.0, None), (10.1, WARNING), (200.0, WARNING), (201.0, CRITICAL)]
)
def test_gradients_may_grow_to_twenty_times_the_usual(
    norm: float, expected: AlarmLevel | None
) -> None:
    assert severity("GRADIENT_EXPLODES", {"loss/gradient_norm": norm}, last=4) is expected


def test_small_gradients_may_grow_as_they_like() -> None:
    history = history_of({"loss/gradient_norm": 0.001})
    history["loss/gradient_norm"][-4:, 1] = 1.0

    assert judge("GRADIENT_EXPLODES", history) == ()


@pytest.mark.parametrize(
    ("spread", "entropy", "expected"),
    [(0.29, 0.5, WARNING), (0.31, 0.5, None), (0.29, 0.7, INFO)],
)
def test_spread_may_lose_half_within_five_updates(
    spread: float, entropy: float, expected: AlarmLevel | None
) -> None:
    changes = {"policy/normalised_entropy": spread, "eval/entropy": entropy}

    assert severity("ENTROPY_FALLS", changes, last=5) is expected
    assert severity("ENTROPY_FALLS", changes, last=6) is None  # it stays where it fell to


def test_high_spread_may_fall() -> None:
    history = history_of({"policy/normalised_entropy": 1.0})
    history["policy/normalised_entropy"][-1, 1] = 0.6

    assert judge("ENTROPY_FALLS", history) == ()
    history["policy/normalised_entropy"][-1, 1] = 0.49
    assert judge("ENTROPY_FALLS", history) != ()


def test_critic_with_nothing_to_explain_is_not_dead() -> None:
    history = history_of({"value/explained_variance": -9.0})
    history["rollout/reward_deviation"][-12:, 1] = 0.04

    assert judge("DEAD_CRITIC", history) == ()


def test_idle_agent_without_deterministic_play_has_no_excuse() -> None:
    unknown = float("nan")
    changes = {"rollout/idle_share": 0.99, "eval/idle_share": unknown, "eval/reward_mean": unknown}

    assert severity("ALL_HOLD", changes) is CRITICAL


def test_idle_agent_has_no_excuse_where_flat_is_not_allowed() -> None:
    strict = replace(CONFIG, flat_is_allowed=False)

    (verdict,) = judge("ALL_HOLD", history_of(IDLE), strict)
    assert verdict.severity is CRITICAL


def test_agent_that_is_stopped_from_trading_is_told_apart_from_one_that_rests() -> None:
    (verdict,) = judge("ALL_HOLD", history_of({**IDLE, "rollout/unexecuted_share": 0.8}))

    assert "not by choice: 80 % of its selections are not executed" in verdict.words


def test_window_that_the_buffer_cannot_fill_is_judged_when_the_buffer_is_full() -> None:
    config = replace(CONFIG, kept_updates=40)
    few = {"rollout/selections": 640.0, "rollout/largest_share": 0.99}

    assert judge("ONE_ACTION", history_of(few, updates=39, last=39), config) == ()
    assert judge("ONE_ACTION", history_of(few, updates=40, last=40), config) != ()


@pytest.mark.parametrize(
    ("code", "changes", "said"),
    [
        (
            "ONE_ACTION",
            {"rollout/largest_share": 0.97},
            "97 % of the last 1,024 selections",
        ),
        (
            "LOW_ENTROPY",
            {"policy/normalised_entropy": 0.05},
            "the normalised entropy of the policy is 0.050",
        ),
        ("REPEATS", {"rollout/repeat_share": 0.9}, "90 % of its steps repeat a trade more than 5"),
        ("ONE_TERM", {"rollout/largest_term_share": 0.95}, "95 % of its reward is the term pnl"),
        ("DEAD_CRITIC", {"value/explained_variance": -1.0}, "the critic explains -1.00 of"),
        ("GOALS_MISSED", {"goal/success": 0.01}, "1 % of its episodes end at their goal (limit 2"),
        (
            "ACTORS_LAG",
            {"actors/largest_lag": 12.0},
            "an actor collects with weights of 12",
        ),
        (
            "POPULATION_COLLAPSED",
            {"population/distinct_share": 0.05},
            "members of its population come to 5 %",
        ),
        (
            "POPULATION_COLLAPSED",
            {"population/distinct_share": 0.0},
            "all members of its population come to one result (limit 10 %)",
        ),
        (
            "CURRICULUM_STUCK",
            {"curriculum/unpassed_episodes": 1_240.0},
            "it has not passed its stage after 1,240",
        ),
        (
            "ONE_OPTION",
            {"options/largest_share": 0.97, "options/largest": 1.0},
            "97 % of its steps are made under the option wait (limit 60 %)",
        ),
        (
            "NOT_EXECUTED",
            {
                "rollout/unexecuted_share": 0.7,
                "rollout/largest_code": 2.0,
                "rollout/idle_share": 0.85,
                "rollout/voluntary_share": 0.03,
            },
            "70 % of its selections are not executed (limit 50 %): it asks for SELL most often, "
            "yet 85 % of its steps do nothing and 3 % trade; its rewards are not those of",
        ),
    ],
)
def test_words_tell_agent_and_numbers(code: str, changes: dict[str, float], said: str) -> None:
    (verdict,) = judge(code, history_of(changes))

    assert verdict.words.startswith(f"agent TSLA: {said}")
    assert verdict.words.endswith(".")
    assert verdict.update == 40
    assert str(verdict).endswith(verdict.remedy)


@pytest.mark.parametrize(
    ("code", "measure", "said"),
    [
        ("GRADIENT_EXPLODES", "loss/gradient_norm", "the gradient norm is 30, usually 0.5"),
        ("REWARD_EXPLODES", "rollout/reward_scale", "rewards are of size 30, usually 0.5"),
    ],
)
def test_words_of_growth_tell_what_is_usual(code: str, measure: str, said: str) -> None:
    (verdict,) = judge(code, history_of({measure: 30.0}, last=6))

    assert verdict.words.startswith(f"agent TSLA: {said} ")
    assert verdict.observed == pytest.approx(60.0)


@pytest.mark.parametrize(("entropy", "is_said"), [(0.7, True), (0.5, False)])
def test_decided_policy_is_told_apart_from_a_collapsed_one(entropy: float, is_said: bool) -> None:
    (verdict,) = judge(
        "LOW_ENTROPY", history_of({"policy/normalised_entropy": 0.05, "eval/entropy": entropy})
    )

    assert ("actions still differ from state to state" in verdict.words) is is_said


@pytest.mark.parametrize(
    ("code", "changes", "words"),
    [
        ("FEW_ACTIONS", {"rollout/distinct_actions": 3.9}, "3.9 different actions in 120 steps"),
        ("FEW_ACTIONS", {"rollout/distinct_actions": 4.0}, None),
        ("FEW_ACTIONS", {"rollout/distinct_actions": float("nan")}, None),
        ("EXECUTION_GAP", {"rollout/executed_gap": 0.16}, "16 % apart from the chosen ones"),
        ("EXECUTION_GAP", {"rollout/executed_gap": 0.15}, None),
        ("EXECUTION_GAP", {"rollout/violations": 0.06}, "6 % of them were corrected (limit 5 %)"),
        ("EXECUTION_GAP", {"rollout/violations": 0.05}, None),
        ("FEW_TRADES", {"rollout/voluntary_share": 0.09, "eval/reward_mean": 0.0}, "limit 10 %"),
    ],
)
def test_telemetry_of_the_plan_is_asked_for_by_its_limits(
    code: str, changes: dict[str, float], words: str | None
) -> None:
    plan = replace(CONFIG, distinct_actions=4.0, executed_gap=0.15, violations=0.05, trades=0.10)
    found = judge(code, history_of(changes), plan)

    assert bool(found) is (words is not None)
    if words is not None:
        assert words in found[0].words
        assert found[0].severity is WARNING
