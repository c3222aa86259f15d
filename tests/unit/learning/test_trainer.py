"""The trainer: order of events, best and last, guards obeyed, resuming bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from fixtures.toy_learner import ToyLearner
from tradingbot.domain.errors import TrainingError, UserError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Evaluated, Intervened, Updated, Warned
from tradingbot.learning.guards import (
    AlarmLevel,
    Diagnosis,
    FlightRecorder,
    GuardConfig,
    Intervention,
)
from tradingbot.learning.guards.config import Response
from tradingbot.learning.guards.recorder import RecorderReport
from tradingbot.learning.learner import Experience, Learner, Update, mean_terms
from tradingbot.learning.task import Task
from tradingbot.learning.train_plan import StoppingConfig, TrainPlan
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.learning.trainer_tensors import to_host

Script = Mapping[int, tuple[Response | None, bool]]
"""Updates seen → (response, is healthy)."""
ROLLED_BACK: Script = {7: ("roll_back", False)}


class Scripted(FlightRecorder):
    """A recorder that finds nothing, and decides what it is told when it has seen so much."""

    def __init__(self, task: Task, script: Script) -> None:
        super().__init__(task, GuardConfig(probe_every=0))
        self.script, self.seen, self.forgotten = script, 0, 0

    def watch(self, learner: Learner, update: Update, *, sound: bool = True) -> RecorderReport:
        self.seen += 1
        if not sound:
            return super().watch(learner, update, sound=False)
        response, is_healthy = self.script.get(self.seen, (None, True))
        if response == "boost_entropy":
            scale = torch.tensor([1.0, 1.7, 1.0], dtype=torch.float64)
            self.memory = self.memory._replace(entropy_scale=scale)
        if response == "roll_back":
            self.memory = self.memory._replace(
                learning_rate_scale=self.memory.learning_rate_scale * 0.5,
                roll_backs=self.memory.roll_backs + 1,
            )
        words = "agent A1: does one thing only."
        verdict = Diagnosis(
            "ONE_ACTION", AlarmLevel.CRITICAL, "A1", 0.99, 0.9, words, "Look.", learner.updates
        )
        found = () if response is None else (verdict,)
        decision = Intervention(response, "A1 does one thing only.", ("A1",), self.memory)
        return RecorderReport(learner.updates, learner.steps, {}, found, decision, is_healthy)

    def forget(self) -> None:
        self.forgotten += 1
        super().forget()

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"seen": torch.tensor(self.seen)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        rest = dict(state)
        self.seen = int(rest.pop("seen"))
        super().load_state(rest)


class Surroundings:
    """Keeps checkpoints and events in memory; stops after so many updates where asked."""

    def __init__(self, learner: ToyLearner, scores: Callable[[ToyLearner], Tensor]) -> None:
        self.learner, self.scores = learner, scores
        self.snapshots: list[Snapshot] = []
        self.events: list[Event] = []
        self.stop_after: int | None = None
        self.recorder: Scripted | None = None

    def hooks(self) -> Hooks:
        return Hooks(
            lambda: {"sharpe": self.scores(self.learner)},
            lambda snapshot: self.snapshots.append(snapshot),
            lambda: [s for s in self.snapshots if "healthy" in s.labels][-1].tensors,
            self.events.append,
            lambda: self.stop_after is not None and self.learner.updates >= self.stop_after,
        )

    def of_kind(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


def by_weights(learner: ToyLearner) -> Tensor:
    return learner.head.deviations.detach().sum(-1).double()


def build(
    plan: TrainPlan | None = None,
    *,
    spoil: Callable[[ToyLearner], None] | None = None,
    script: Script | None = None,
    scores: Callable[[ToyLearner], Tensor] = by_weights,
    seed: int = 0,
) -> tuple[Trainer, Surroundings]:
    learner = ToyLearner(seed=seed, spoil=spoil)
    around = Surroundings(learner, scores)
    plan = plan or TrainPlan(steps_per_agent=200, evaluate_every=4, save_every=5)
    around.recorder = Scripted(learner.task, script or {})
    return Trainer(learner, plan, around.hooks(), around.recorder), around


def same(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> bool:
    return not differing(first, second)


def differing(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> list[str]:
    assert first.keys() == second.keys()
    return [
        name
        for name, tensor in first.items()
        if not torch.equal(tensor.nan_to_num(), second[name].nan_to_num())
    ]


def test_budget_is_spent_evaluated_and_saved() -> None:
    trainer, around = build()

    ended = trainer.run()

    assert (ended.ending, ended.steps, trainer.learner.updates) == ("budget", 200, 20)
    assert [event.sequence for event in around.of_kind(Updated)] == list(range(1, 21))
    assert [event.sequence for event in around.of_kind(Evaluated)] == [4, 8, 12, 16, 20]
    assert {5, 10, 15, 20} <= {snapshot.sequence for snapshot in around.snapshots}
    assert "final" in around.snapshots[-1].labels


def peaked_at(best: int) -> Callable[[ToyLearner], Tensor]:
    return lambda learner: torch.full((3,), -float(abs(learner.updates - best)))


def test_best_weights_are_those_of_the_best_evaluation() -> None:
    trainer, around = build(scores=peaked_at(8))
    ended = trainer.run()

    assert [event.is_best for event in around.of_kind(Evaluated)] == [True, True, *[False] * 3]
    assert ended.best_mean_score == 0.0
    saved = [snapshot for snapshot in around.snapshots if "best" in snapshot.labels][-1]
    assert saved.sequence == 8
    trainer.use_best()
    assert torch.equal(trainer.learner.head.deviations, saved.tensors["learner/head/deviations"])


@pytest.mark.parametrize("stop_after", [1, 4, 7, 10, 19])
def test_interrupted_and_resumed_run_ends_with_the_same_bits(stop_after: int) -> None:
    plan = TrainPlan(
        steps_per_agent=200, evaluate_every=4, save_every=5, stopping=StoppingConfig(patience=2)
    )
    whole, _ = build(plan)
    whole.run()
    first, before = build(plan)
    before.stop_after = stop_after
    assert first.run().ending == "interrupted"

    second, after = build(plan, seed=99)
    second.load(before.snapshots[-1].tensors)
    second.run()

    assert differing(second.state(), whole.state()) == []
    assert after.of_kind(Updated)[0].sequence == stop_after + 1


def test_same_seed_gives_same_bits_and_another_seed_others() -> None:
    states = []
    for seed in (0, 0, 1):
        trainer, _ = build(seed=seed)
        trainer.run()
        states.append(trainer.state())

    assert same(states[0], states[1])
    assert not same(states[0], states[2])


def test_population_stops_when_every_agent_has() -> None:
    plan = TrainPlan(steps_per_agent=10_000, evaluate_every=1, stopping=StoppingConfig(patience=3))
    trainer, _ = build(plan, scores=lambda _: torch.zeros(3))

    ended = trainer.run()

    assert (ended.ending, trainer.learner.updates) == ("all_stopped", 4)


def test_stopped_agent_is_held_while_others_learn_on() -> None:
    plan = TrainPlan(steps_per_agent=100, evaluate_every=1, stopping=StoppingConfig(patience=2))
    scores = torch.zeros(3).double()

    def rising_but_for_one(learner: ToyLearner) -> Tensor:
        scores[1:] += 1.0
        return scores.clone()

    trainer, around = build(plan, scores=rising_but_for_one)
    trainer.run()

    assert trainer.learner.agent_weight.tolist() == [0.0, 1.0, 1.0]
    first = around.snapshots[1].tensors["learner/head/deviations"]  # after the first update
    assert torch.equal(trainer.learner.head.deviations[0], first[0])
    assert not torch.equal(trainer.learner.head.deviations[1], first[1])


def spoil_at(*updates: int) -> Callable[[ToyLearner], None]:
    """Break a weight at the first visits to some updates."""
    left = list(updates)

    def spoil(learner: ToyLearner) -> None:
        if left and learner.updates == left[0]:
            left.pop(0)
            with torch.no_grad():
                learner.head.weights[0][0, 0] = math.nan

    return spoil


def test_nan_weight_is_rolled_back_and_never_saved() -> None:
    trainer, around = build(spoil=spoil_at(8))

    ended = trainer.run()

    assert (ended.ending, ended.rollbacks) == ("budget", 1)
    (intervened,) = around.of_kind(Intervened)
    assert intervened.action == "roll_back"
    assert intervened.text.startswith("Roll-back 1 of 2 to the last healthy checkpoint")
    assert "learning rate × 0.5" in intervened.text
    assert "NaN" in intervened.text
    for snapshot in around.snapshots:
        assert torch.isfinite(snapshot.tensors["learner/head/weights.0"]).all()
    assert trainer.learner.rate_scale == 0.5


def test_sequence_rises_through_a_rollback_while_updates_go_back() -> None:
    trainer, around = build(spoil=spoil_at(8))
    trainer.run()

    sequences = [event.sequence for event in around.of_kind(Updated)]
    updates = [event.updates for event in around.of_kind(Updated)]
    assert sequences == sorted(set(sequences))
    assert updates[7:9] == [8, 6]  # back at the checkpoint of update 5


def test_rollbacks_that_do_not_help_end_in_one_error() -> None:
    trainer, around = build(spoil=spoil_at(8, 8, 8, 8))

    with pytest.raises(TrainingError, match=r"Halted after 2 roll-backs.*NaN"):
        trainer.run()

    assert len(around.of_kind(Intervened)) == 2
    assert trainer.learner.rate_scale == 0.25


def snapshots_of(
    script: Script, spoil: Callable[[ToyLearner], None] | None = None
) -> dict[int, Mapping[str, Tensor]]:
    trainer, around = build(script=script, spoil=spoil)
    trainer.run()
    return {snapshot.sequence: snapshot.tensors for snapshot in around.snapshots}


def test_rollback_draws_another_stream_and_the_same_one_each_time() -> None:
    straight, first = snapshots_of({}), snapshots_of(ROLLED_BACK)
    noise, weights = "learner/noise", "learner/head/weights.0"

    assert differing(first[20], snapshots_of(ROLLED_BACK)[20]) == []
    assert torch.equal(first[7][weights], straight[5][weights])
    assert not torch.equal(first[7][noise], straight[5][noise])


def test_rollback_is_the_same_whoever_finds_that_it_is_needed() -> None:
    found, broken = snapshots_of(ROLLED_BACK)[7], snapshots_of({}, spoil_at(7))[7]

    unlike = [name for name in differing(found, broken) if name.startswith("learner/")]
    assert unlike == ["learner/entropy_scale"]  # of other agents


def test_rollback_of_the_recorder_changes_settings_and_is_told() -> None:
    trainer, around = build(script=ROLLED_BACK)
    trainer.run()

    (intervened,) = around.of_kind(Intervened)
    (warned,) = around.of_kind(Warned)
    assert (intervened.action, intervened.sequence) == ("roll_back", 7)
    assert "Back at update 5" in intervened.text
    assert warned.text == "critical ONE_ACTION: agent A1: does one thing only. Look."
    assert warned.agents == ("A1",)
    assert trainer.learner.rate_scale == 0.5
    assert trainer.learner.updates == 20


def test_rollback_evaluates_again_what_it_took_back() -> None:
    trainer, around = build(script={9: ("roll_back", False)}, scores=peaked_at(4))
    trainer.run()

    # Back from update 9 to 5: update 8 is reached, and evaluated, a second time.
    assert [event.steps for event in around.of_kind(Evaluated)] == [40, 80, 80, 120, 160, 200]
    assert around.recorder.forgotten == 1


def test_resumed_run_remembers_how_often_it_returned() -> None:
    trainer, around = build(spoil=spoil_at(8))
    trainer.run()
    again, _ = build(seed=99)
    again.load(around.snapshots[-1].tensors)

    assert again.run().rollbacks == 1


def test_killed_around_a_rollback_resumes_to_the_same_bits() -> None:
    plan = TrainPlan(steps_per_agent=150, evaluate_every=4, save_every=5)
    whole, complete = build(plan, script=ROLLED_BACK)
    whole.run()
    # As after a kill at any time: the newest that was written is loaded, the rest happens again.
    for count in range(1, len(complete.snapshots) + 1):
        second, after = build(plan, script=ROLLED_BACK, seed=99)
        after.snapshots = complete.snapshots[:count]
        second.load(after.snapshots[-1].tensors)
        second.run()

        assert differing(second.state(), whole.state()) == []


def test_interruption_does_not_change_where_a_rollback_leads() -> None:
    plan = TrainPlan(steps_per_agent=150, evaluate_every=4, save_every=5)
    whole, _ = build(plan, script=ROLLED_BACK)
    whole.run()
    first, before = build(plan, script=ROLLED_BACK)
    before.stop_after = 6
    first.run()

    second, after = build(plan, script=ROLLED_BACK)
    after.snapshots = before.snapshots
    second.load(before.snapshots[-1].tensors)
    second.run()

    assert differing(second.state(), whole.state()) == []


def test_resumed_run_knows_who_stopped() -> None:
    plan = TrainPlan(steps_per_agent=100, evaluate_every=1, stopping=StoppingConfig(patience=2))
    trainer, around = build(plan, scores=lambda it: torch.tensor([0.0, it.updates, it.updates]))
    trainer.run()
    again, _ = build(plan, seed=99)
    again.load(around.snapshots[-1].tensors)

    assert again.learner.agent_weight.tolist() == [0.0, 1.0, 1.0]


def test_boost_reaches_the_learner_for_the_agents_it_is_meant_for() -> None:
    trainer, around = build(script={3: ("boost_entropy", True)})
    trainer.run()

    assert trainer.learner.entropy_scale.tolist() == pytest.approx([1.0, 1.7, 1.0])
    assert around.of_kind(Intervened)[0].action == "boost_entropy"


def test_halt_ends_in_one_error_with_the_reason() -> None:
    trainer, _ = build(script={3: ("halt", False)})

    with pytest.raises(TrainingError, match="A1 does one thing only"):
        trainer.run()


def asking_at(update: int) -> Callable[[ToyLearner], None]:
    """Let the second agent's guard of entropy ask to halt from an update on."""

    def ask(learner: ToyLearner) -> None:
        if learner.updates == update:
            report = learner.update

            def and_ask() -> Update:
                made = report()
                return made._replace(metrics={**made.metrics, "policy/halt": halts})

            halts = torch.tensor([0.0, 1.0, 0.0])
            learner.update = and_ask  # type: ignore[method-assign]

    return ask


def test_learner_whose_guard_asks_to_halt_is_halted() -> None:
    trainer, around = build(spoil=asking_at(4))

    with pytest.raises(TrainingError, match=r"below the guard's limit for A1 \(update 5\)"):
        trainer.run()

    assert [event.updates for event in around.of_kind(Updated)] == [1, 2, 3, 4, 5]


def test_agent_that_stopped_early_does_not_halt_the_others() -> None:
    plan = TrainPlan(steps_per_agent=100, evaluate_every=1, stopping=StoppingConfig(patience=2))
    scores = torch.zeros(3).double()

    def rising_but_for_one(_: ToyLearner) -> Tensor:
        scores[[0, 2]] += 1.0
        return scores.clone()

    trainer, _ = build(plan, scores=rising_but_for_one, spoil=asking_at(4))

    assert trainer.run().ending == "budget"


def test_reward_terms_are_told_per_step_and_add_up_to_the_reward() -> None:
    reward = torch.tensor([[[1.0, 2.0]], [[3.0, 6.0]]])
    terms = torch.stack([0.75 * reward.sum(0), 0.25 * reward.sum(0)])
    nothing = torch.zeros_like(reward)
    made = Experience(nothing, nothing.long(), nothing.bool(), reward, terms)

    told = mean_terms(("pnl", "cost"), made)

    assert {name: mean.tolist() for name, mean in told.items()} == {
        "reward/pnl": [2.25],
        "reward/cost": [0.75],
    }
    trainer, around = build()
    trainer.run()
    assert around.of_kind(Updated)[0].metrics["reward/earned"] == [0.0, 0.0, 0.0]


def test_lasting_sign_is_told_once() -> None:
    trainer, around = build(script=dict.fromkeys((5, 6, 7, 8, 12), ("warn", True)))
    trainer.run()

    assert [event.sequence for event in around.of_kind(Warned)] == [5, 12]


def test_unhealthy_weights_are_never_the_best() -> None:
    script = dict.fromkeys(range(5, 100), (None, False))
    trainer, around = build(script=script, scores=lambda it: torch.full((3,), float(it.updates)))
    trainer.run()

    assert [event.is_best for event in around.of_kind(Evaluated)] == [True, *[False] * 4]


def test_device_without_memory_is_one_line_with_a_remedy() -> None:
    def fill(_: ToyLearner) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    trainer, _ = build(spoil=fill)

    with pytest.raises(UserError, match=r"must fit into the device's memory.*budget\.n_envs"):
        trainer.run()


def test_to_host_keeps_names_shapes_and_numbers() -> None:
    figures = {"a": torch.tensor(1.5), "b": torch.arange(6).view(2, 3), "c": torch.tensor([True])}

    found = to_host(figures)

    assert {name: figure.tolist() for name, figure in found.items()} == {
        "a": 1.5,
        "b": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        "c": [1.0],
    }
