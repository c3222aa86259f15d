"""The recorder: what it keeps, when it plays, what it writes, and that it resumes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.sabotage_tasks import CODES, RiggedTask
from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.guards import AlarmLevel, FlightRecorder, GuardConfig
from tradingbot.learning.guards.config import InterventionConfig
from tradingbot.learning.guards.history import MEASURES
from tradingbot.learning.guards.recorder import RecorderReport
from tradingbot.learning.learner import Experience, Update
from tradingbot.learning.playing import play
from tradingbot.learning.task import ActionSpec, Observation, Task

CONFIG = GuardConfig(
    kept_updates=6,
    patience=2,
    critic_patience=2,
    term_patience=2,
    entropy_fall_updates=2,
    warm_up_steps=0,
    warm_up_updates=0,
    probe_every=4,
    probe_steps=8,
    window=20,
)


def made_update(
    task: Task, code: int = 1, *, n_steps: int = 4, spread: float = 0.6, reward: float = 0.0
) -> Update:
    """An update in which every agent does the same all the time."""
    shape = (n_steps, len(task.agent_names), task.n_envs)
    codes = torch.full(shape, code)
    selected = codes if task.action.n_actions else codes.float()
    experience = Experience(
        selected,
        codes,
        codes != 0,
        torch.full(shape, reward),
        torch.zeros(len(task.term_names), *shape[1:]),
    )
    return Update({"policy/normalised_entropy": torch.full(shape[1:2], spread)}, experience)


class Scripted:
    """Stands for a learner where only its counters and its deterministic policy are asked for."""

    def __init__(self, code: int) -> None:
        self.code, self.updates, self.steps, self.played = code, 0, 0, 0

    def act(self, observation: Observation) -> Tensor:
        self.played += 1
        return torch.full(observation.row.shape, self.code)

    def after(self, updates: int) -> Scripted:
        self.updates, self.steps = updates, 8 * updates
        return self


def record(recorder: FlightRecorder, count: int, **made: Any) -> list[RecorderReport]:
    first = 1 + len(recorder.history().steps)
    return [
        recorder.record(made_update(recorder.task, **made), updates=number, steps=8 * number)
        for number in range(first, first + count)
    ]


def test_buffer_keeps_the_last_updates_oldest_first() -> None:
    recorder = FlightRecorder(SignalTask(2, 2), CONFIG)
    for number in range(1, 10):
        update = made_update(recorder.task, spread=number / 10)
        recorder.record(update, updates=number, steps=8 * number)
    history = recorder.history()

    assert history.updates.tolist() == [4, 5, 6, 7, 8, 9]
    assert history.steps.tolist() == [32, 40, 48, 56, 64, 72]
    assert history["policy/normalised_entropy"][:, 1].tolist() == pytest.approx(
        [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    )


def test_report_has_every_measure_of_every_agent() -> None:
    (report,) = record(FlightRecorder(SignalTask(3, 2), CONFIG), 1)

    assert set(report.measures) == {measure.name for measure in MEASURES}
    assert all(number.shape == (3,) for number in report.measures.values())


def test_window_reaches_back_over_updates_until_it_is_full() -> None:
    task = RiggedTask("always_pays", 2, 2)
    recorder = FlightRecorder(task, CONFIG)  # 8 selections an update, a window of 20
    record(recorder, 1, code=3)
    reports = record(recorder, 3, code=1)

    assert reports[0].measures["rollout/selections"].tolist() == [16, 16]
    assert reports[0].measures["rollout/largest_share"].tolist() == [0.5, 0.5]
    assert reports[1].measures["rollout/largest_share"].tolist() == pytest.approx([2 / 3] * 2)
    assert reports[2].measures["rollout/selections"].tolist() == [24, 24]
    assert reports[2].measures["rollout/largest_share"].tolist() == [1.0, 1.0]


def test_verdict_names_the_code_of_the_task() -> None:
    reports = record(FlightRecorder(RiggedTask("always_pays", 2, 2), CONFIG), 5, code=6)
    verdict = next(v for v in reports[-1].verdicts if v.code == "ONE_ACTION")

    assert CODES[6] in verdict.words
    assert verdict.severity is AlarmLevel.CRITICAL
    assert reports[-1].decision.response == "warn"  # boosted already, and the cooldown is on
    assert "boost_entropy" in {report.decision.response for report in reports}
    assert not reports[-1].healthy


def test_capital_that_is_divided_equally_is_no_collapse() -> None:
    """Of eleven weights all are near 0.05: the fewer are large the more sleeves there are."""
    task = SignalTask(1, 4)
    task.action = ActionSpec.simplex(11)
    recorder = FlightRecorder(task, CONFIG)
    shape = (4, 1, 4)
    codes, terms = torch.ones(shape).long(), torch.zeros(len(task.term_names), *shape[1:])
    divided = torch.full((*shape, 11), 1 / 11)
    made = Experience(divided, codes, codes > 0, torch.zeros(shape), terms)
    reports = [
        recorder.record(Update({}, made), updates=number, steps=16 * number)
        for number in range(1, 6)
    ]

    assert reports[-1].measures["rollout/largest_share"].tolist() == [1.0]
    assert {v.code for v in reports[-1].verdicts} & {"ONE_ACTION", "REPEATS"} == set()
    assert reports[-1].healthy


def test_deterministic_play_happens_at_first_and_then_as_often_as_it_is_told() -> None:
    task = RiggedTask("always_pays", 2, 2)
    recorder, learner = FlightRecorder(task, CONFIG), Scripted(2)
    played = []
    for number in range(1, 10):
        recorder.watch(learner.after(number), made_update(task))
        played.append(learner.played // CONFIG.probe_steps)

    assert played == [1, 1, 1, 2, 2, 2, 2, 3, 3]


def test_play_is_made_at_once_after_a_roll_back() -> None:
    task = RiggedTask("always_pays", 2, 2)
    recorder, learner = FlightRecorder(task, CONFIG), Scripted(2)
    recorder.watch(learner.after(1), made_update(task))
    recorder.forget()

    report = recorder.watch(learner.after(2), made_update(task))
    assert learner.played == 2 * CONFIG.probe_steps
    assert report.measures["eval/idle_reward"].isfinite().all()


def test_play_counts_until_the_next_one() -> None:
    task = RiggedTask("always_pays", 2, 2)
    recorder, learner = FlightRecorder(task, CONFIG), Scripted(2)
    reports = [recorder.watch(learner.after(n), made_update(task, code=1)) for n in (1, 2)]

    for report in reports:
        assert report.measures["eval/largest_code"].tolist() == [2, 2]
        assert report.measures["eval/largest_share"].tolist() == [1, 1]
        assert report.measures["eval/share_in_sampling"].tolist() == [0, 0]
        assert report.measures["eval/gap"].tolist() == [1, 1]


def test_doing_nothing_is_measured_in_the_same_episodes() -> None:
    """Seven codes: what is held at first is nothing, so doing nothing earns nothing."""
    task = RiggedTask("costs", 2, 4)
    recorder = FlightRecorder(task, CONFIG)
    report = recorder.watch(Scripted(3).after(1), made_update(task))
    expected = play(task, Scripted(3).act, CONFIG.probe_steps).reward.double().mean((0, 2))

    assert report.measures["eval/idle_reward"].tolist() == [0.0, 0.0]
    assert report.measures["eval/reward_mean"].tolist() == pytest.approx(expected.tolist())
    assert (report.measures["eval/reward_mean"] < 0.0).all()


def test_nothing_is_played_where_it_is_not_wanted() -> None:
    task = RiggedTask("always_pays", 2, 2)
    learner = Scripted(2)
    report = FlightRecorder(task, replace(CONFIG, probe_every=0)).watch(
        learner.after(1), made_update(task)
    )

    assert learner.played == 0
    assert report.measures["eval/largest_share"].isnan().all()


def test_rows_are_plain_and_unknown_is_none() -> None:
    rows: list[dict[str, Any]] = []
    task = RiggedTask("always_pays", 2, 2)
    record(FlightRecorder(task, CONFIG, write=rows.append), 4, code=1, spread=0.05)
    row = json.loads(json.dumps(rows[-1], allow_nan=False))

    assert row["update"] == 4
    assert row["steps"] == 32
    assert row["measures"]["policy/normalised_entropy"] == pytest.approx([0.05, 0.05])
    assert row["measures"]["value/explained_variance"] == [None, None]
    by_code = {verdict["code"]: verdict for verdict in row["verdicts"]}
    assert by_code["LOW_ENTROPY"]["severity"] == "critical"
    assert by_code["LOW_ENTROPY"]["agent"] == "A1"
    assert row["response"] in ("warn", "boost_entropy")
    assert row["healthy"] is False


def test_infinite_measures_are_written_as_none() -> None:
    rows: list[dict[str, Any]] = []
    task = SignalTask(2, 2)
    update = made_update(task)
    update.metrics["loss/value"] = torch.tensor([float("inf"), 1.0])
    FlightRecorder(task, CONFIG, write=rows.append).record(update, updates=1, steps=8)

    assert rows[0]["measures"]["loss/value"] == [None, 1.0]


def test_resumed_recorder_says_the_same_as_one_that_was_never_stopped() -> None:
    task = RiggedTask("always_pays", 2, 2)
    whole, learner = FlightRecorder(task, CONFIG), Scripted(2)
    for number in range(1, 4):
        whole.watch(learner.after(number), made_update(task, spread=0.05))
    kept = whole.state()
    resumed = FlightRecorder(task, CONFIG)
    resumed.load_state(kept)
    for number in range(4, 9):
        update = made_update(task, spread=0.05)
        one, other = (r.watch(learner.after(number), update) for r in (whole, resumed))
        assert one.to_row() == other.to_row()
    assert one.verdicts
    for name, tensor in whole.state().items():
        torch.testing.assert_close(resumed.state()[name], tensor, rtol=0, atol=0, equal_nan=True)


def test_state_is_a_copy() -> None:
    recorder = FlightRecorder(SignalTask(2, 2), CONFIG)
    kept = recorder.state()
    before = kept["ring"].clone()
    record(recorder, 1)

    torch.testing.assert_close(kept["ring"], before, equal_nan=True)


def test_state_of_another_recorder_is_refused() -> None:
    state = FlightRecorder(SignalTask(3, 2), CONFIG).state()

    with pytest.raises(ConfigError, match="must be"):
        FlightRecorder(SignalTask(2, 2), CONFIG).load_state(state)


def test_roll_back_clears_measures_and_keeps_decisions() -> None:
    recorder = FlightRecorder(RiggedTask("always_pays", 2, 2), CONFIG)
    record(recorder, 4, spread=0.05)
    scale = recorder.memory.entropy_scale.clone()
    recorder.forget()

    assert (scale > 1.0).all()
    assert len(recorder.history().steps) == 0
    assert recorder.memory.entropy_scale.tolist() == scale.tolist()
    (report,) = record(recorder, 1, spread=0.05)
    assert report.verdicts == ()
    assert report.measures["rollout/longest_run"].tolist() == [4, 4]


def test_cooldown_counts_steps_that_were_undone() -> None:
    config = replace(CONFIG, interventions=InterventionConfig(cooldown_steps=60, boost_factor=1.1))
    recorder = FlightRecorder(RiggedTask("always_pays", 1, 2), config)
    task, responses = recorder.task, []
    for number in (1, 2, 3, 4, 5, 6, 3, 4, 5, 6):  # rolled back to update 3
        update = made_update(task, spread=0.05)
        report = recorder.record(update, updates=number, steps=8 * number)
        responses.append(report.decision.response)

    assert responses[1] == "boost_entropy"
    assert responses[2:9] == ["warn"] * 7
    assert responses[9] == "boost_entropy"
