"""Decisions: how far to go, for whom, and when not yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tradingbot.learning.guards import AlarmLevel, Diagnosis, GuardConfig, Intervention
from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.config import InterventionConfig
from tradingbot.learning.guards.interventions import Memory, decide, is_healthy

AGENTS = tuple(f"S{i}" for i in range(10))
CURES = {rule.code: rule.cure for rule in RULES}
CONFIG = GuardConfig()


def verdict(
    code: str, agent: str = "S3", severity: AlarmLevel = AlarmLevel.CRITICAL, observed: float = 1.0
) -> Diagnosis:
    return Diagnosis(code, severity, agent, observed, 0.5, f"agent {agent}: bad.", "Mend it.", 7)


def choose(
    *verdicts: Diagnosis, memory: Memory | None = None, config: GuardConfig = CONFIG, steps: int = 0
) -> Intervention:
    memory = memory or Memory.begin(len(AGENTS))
    return decide(verdicts, memory, config, agents=AGENTS, cures=CURES, steps=steps)


def limited(**rules: object) -> GuardConfig:
    return replace(CONFIG, interventions=replace(InterventionConfig(), **rules))


def test_nothing_found_asks_for_nothing() -> None:
    decision = choose()

    assert (decision.response, decision.words, decision.agents) == (None, "", ())


def test_information_asks_for_nothing() -> None:
    assert choose(verdict("ALL_HOLD", severity=AlarmLevel.INFO)).response is None


def test_warning_is_only_told() -> None:
    decision = choose(verdict("ONE_ACTION", severity=AlarmLevel.WARNING))

    assert decision.response == "warn"
    assert decision.agents == ("S3",)
    assert decision.memory.entropy_scale.tolist() == [1.0] * 10


def test_critical_sign_boosts_the_agent_concerned_alone() -> None:
    decision = choose(verdict("ONE_ACTION"), steps=100)

    assert decision.response == "boost_entropy"
    assert decision.memory.entropy_scale.tolist() == pytest.approx([1, 1, 1, 1.7, *[1] * 6])
    assert decision.memory.boosted_at[3].item() == 100
    assert "S3" in decision.words


def test_boosts_wait_for_the_cooldown_and_end_at_the_most() -> None:
    first = choose(verdict("ONE_ACTION"), steps=0)
    too_soon = choose(verdict("ONE_ACTION"), memory=first.memory, steps=5_999)
    second = choose(verdict("ONE_ACTION"), memory=first.memory, steps=6_000)

    assert too_soon.response == "warn"
    assert too_soon.memory.entropy_scale[3].item() == pytest.approx(1.7)
    assert second.response == "boost_entropy"
    assert second.memory.entropy_scale[3].item() == pytest.approx(1.7 * 1.7)
    third = choose(verdict("ONE_ACTION"), memory=second.memory, steps=12_000)
    assert third.memory.entropy_scale[3].item() == pytest.approx(3.0)


def test_boosts_that_do_not_help_are_followed_by_a_roll_back_after_the_cooldown() -> None:
    memory = Memory.begin(10)
    memory.entropy_scale[3] = 3.0
    memory.boosted_at[3] = 12_000

    assert choose(verdict("ONE_ACTION"), memory=memory, steps=17_999).response == "warn"
    decision = choose(verdict("ONE_ACTION"), memory=memory, steps=18_000)
    assert decision.response == "roll_back"
    assert decision.memory.entropy_scale[3].item() == pytest.approx(6.0)
    assert decision.memory.entropy_scale[0].item() == 1.0
    assert decision.memory.learning_rate_scale.item() == 0.5
    assert decision.policy_seed == 1
    assert "agent S3: bad." in decision.words


@pytest.mark.parametrize("code", ["NOT_FINITE", "REWARD_EXPLODES", "DEAD_CRITIC"])
def test_what_entropy_cannot_cure_is_rolled_back_at_once(code: str) -> None:
    assert choose(verdict(code)).response == "roll_back"


def test_what_nobody_but_a_person_can_cure_is_told() -> None:
    assert choose(verdict("NOT_EXECUTED")).response == "warn"


def test_too_many_roll_backs_halt() -> None:
    memory = Memory.begin(10)
    for attempt in (1, 2):
        decision = choose(verdict("DEAD_CRITIC"), memory=memory, steps=attempt)
        assert decision.response == "roll_back"
        memory = decision.memory
    assert memory.learning_rate_scale.item() == 0.25
    halted = choose(verdict("DEAD_CRITIC"), memory=memory, steps=3)

    assert halted.response == "halt"
    assert "2 roll-backs" in halted.words
    forbidden = choose(verdict("DEAD_CRITIC"), memory=memory, config=limited(strongest="roll_back"))
    assert forbidden.response == "warn"


def test_one_agent_of_many_does_not_take_the_others_back() -> None:
    config = limited(roll_back_share=0.2)

    alone = choose(verdict("DEAD_CRITIC"), config=config)
    assert alone.response == "warn"
    both = choose(verdict("DEAD_CRITIC"), verdict("REWARD_EXPLODES", "S7"), config=config)
    assert both.response == "roll_back"
    assert both.agents == ("S3", "S7")


def test_one_agent_that_is_beyond_help_does_not_keep_others_from_a_boost() -> None:
    config = limited(roll_back_share=0.2)

    decision = choose(verdict("DEAD_CRITIC"), verdict("LOW_ENTROPY", "S5"), config=config)
    assert (decision.response, decision.agents) == ("boost_entropy", ("S5",))


def test_nan_of_a_single_agent_takes_all_back() -> None:
    assert (
        choose(verdict("NOT_FINITE"), config=limited(roll_back_share=1.0)).response == "roll_back"
    )


def test_pause_lasts_then_lets_a_boosted_agent_learn_before_it_is_asked_for_again() -> None:
    config = limited(by_rule=(("LOW_ENTROPY", "pause"),), pause_steps=500)
    low, memory = verdict("LOW_ENTROPY"), Memory.begin(len(AGENTS))
    found = []
    for steps in range(0, 26_500, 500):
        decision = choose(low, memory=memory, config=config, steps=steps)
        memory = decision.memory
        if decision.response != "warn":
            found.append((steps, decision.response, float(memory.entropy_scale[3])))

    assert found == [
        (0, "pause", 1.7),
        (6_500, "pause", pytest.approx(1.7 * 1.7)),  # 500 paused, then a cooldown of learning
        (13_000, "pause", 3.0),
        (19_500, "roll_back", 6.0),
        (25_500, "roll_back", 12.0),
    ]
    first = choose(low, verdict("ONE_ACTION", "S5"), config=config, steps=7)
    assert (first.response, first.agents) == ("pause", ("S3",))
    assert first.memory.boosted_at.tolist()[3:6] == [507, -(2**40), -(2**40)]
    assert "Learning of S3 stands still for 500 steps" in first.words
    second = choose(verdict("ONE_ACTION", "S5"), low, memory=first.memory, config=config, steps=8)
    assert (second.response, second.agents) == ("boost_entropy", ("S5",))


def test_pause_as_the_first_response_does_not_keep_what_must_go_back() -> None:
    config = limited(on_critical="pause")

    assert choose(verdict("NOT_FINITE"), config=config).response == "roll_back"
    assert choose(verdict("ONE_ACTION"), config=config).response == "pause"
    assert choose(verdict("NOT_EXECUTED"), config=config).response == "warn"


@pytest.mark.parametrize("strongest", ["warn", "boost_entropy", "pause", "roll_back", "halt"])
def test_no_response_is_stronger_than_the_strongest(strongest: str) -> None:
    config = limited(strongest=strongest, by_rule=(("ONE_ACTION", "halt"),))

    assert choose(verdict("ONE_ACTION"), config=config).response == strongest


def test_rule_may_have_a_response_of_its_own() -> None:
    config = limited(by_rule=(("ALL_HOLD", "warn"),), on_critical="roll_back")

    assert choose(verdict("ALL_HOLD"), config=config).response == "warn"
    assert choose(verdict("LOW_ENTROPY"), config=config).response == "roll_back"


def test_health_is_judged_by_the_share_that_a_roll_back_takes() -> None:
    config = limited(roll_back_share=0.2)

    assert is_healthy([verdict("ONE_ACTION")], 10, config)
    assert not is_healthy([verdict("ONE_ACTION"), verdict("ALL_HOLD", "S4")], 10, config)
    assert is_healthy([verdict("ONE_ACTION"), verdict("ALL_HOLD")], 10, config)
    warning = verdict("NOT_FINITE", severity=AlarmLevel.WARNING)
    assert not is_healthy([warning], 10, config)


def test_weight_that_is_no_number_goes_back_whatever_is_allowed() -> None:
    onlooker, memory = limited(strongest="warn"), Memory.begin(len(AGENTS))
    responses = []
    for _ in range(3):
        decision = decide((), memory, onlooker, agents=AGENTS, cures=CURES, steps=0, sound=False)
        memory = decision.memory
        responses.append(decision.response)

    assert responses == ["roll_back", "roll_back", "halt"]
    assert "not a finite number" in decision.words
    assert decision.policy_seed == 2
    assert float(memory.learning_rate_scale) == 0.25
    assert memory.entropy_scale.tolist() == [1.0] * 10


def test_weight_and_reward_that_are_no_numbers_count_once() -> None:
    found, memory = [verdict("NOT_FINITE", agent) for agent in AGENTS[:2]], Memory.begin(10)

    decision = decide(found, memory, CONFIG, agents=AGENTS, cures=CURES, steps=0, sound=False)

    assert decision.response == "roll_back"
    assert int(decision.memory.roll_backs) == 1
    assert float(decision.memory.learning_rate_scale) == 0.5
    assert decision.agents == ("S0", "S1")
