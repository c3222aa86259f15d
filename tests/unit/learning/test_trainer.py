"""The trainer: order of events, best and last, guards obeyed, resuming bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from fixtures.toy_learner import ToyLearner
from tradingbot.domain.errors import TrainingError, UserError
from tradingbot.learning.early_stopping import StoppingConfig
from tradingbot.learning.learner import Update
from tradingbot.learning.trainer import Trainer, to_host
from tradingbot.learning.trainer_events import (
    Decision,
    Evaluated,
    Event,
    Hooks,
    Intervened,
    Snapshot,
    Updated,
)
from tradingbot.learning.trainer_plan import TrainPlan


class Quiet:
    """A guard that says at which updates to do what; it counts, so that it has a state."""

    def __init__(self, decisions: Mapping[int, Decision] | None = None) -> None:
        self.decisions, self.seen = decisions or {}, 0

    def watch(self, update: Update, *, updates: int, steps: int) -> Decision:
        self.seen += 1
        return self.decisions.get(self.seen, Decision("go_on"))

    def state(self) -> dict[str, Tensor]:
        return {"seen": torch.tensor(self.seen)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.seen = int(state["seen"])


class Surroundings:
    """Keeps checkpoints and events in memory; stops after so many updates where asked."""

    def __init__(self, learner: ToyLearner, scores: Callable[[ToyLearner], Tensor]) -> None:
        self.learner, self.scores = learner, scores
        self.snapshots: list[Snapshot] = []
        self.events: list[Event] = []
        self.stop_after: int | None = None

    def hooks(self) -> Hooks:
        return Hooks(
            lambda: {"sharpe": self.scores(self.learner)},
            self.snapshots.append,
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
    guard: Quiet | None = None,
    scores: Callable[[ToyLearner], Tensor] = by_weights,
    seed: int = 0,
) -> tuple[Trainer, Surroundings]:
    learner = ToyLearner(seed=seed, spoil=spoil)
    around = Surroundings(learner, scores)
    plan = plan or TrainPlan(steps_per_agent=200, evaluate_every=4, save_every=5)
    return Trainer(learner, plan, around.hooks(), guard or Quiet()), around


def same(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(tensor.nan_to_num(), second[name].nan_to_num())
        for name, tensor in first.items()
    )


def test_budget_is_spent_evaluated_and_saved() -> None:
    trainer, around = build()

    ended = trainer.run()

    assert (ended.ending, ended.steps, trainer.learner.updates) == ("budget", 200, 20)
    assert [event.sequence for event in around.of_kind(Updated)] == list(range(1, 21))
    assert [event.sequence for event in around.of_kind(Evaluated)] == [4, 8, 12, 16, 20]
    assert {5, 10, 15, 20} <= {snapshot.sequence for snapshot in around.snapshots}
    assert "final" in around.snapshots[-1].labels


def test_best_weights_are_those_of_the_best_evaluation() -> None:
    trainer, around = build()
    trainer.run()

    means = {event.sequence: event.mean_score for event in around.of_kind(Evaluated)}
    best = max(means, key=lambda sequence: means[sequence])
    saved = [snapshot for snapshot in around.snapshots if "best" in snapshot.labels][-1]
    assert saved.sequence == best
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

    assert same(second.state(), whole.state())
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
    assert "not a finite number" in intervened.text
    for snapshot in around.snapshots:
        assert torch.isfinite(snapshot.tensors["learner/head/weights.0"]).all()
    assert trainer.learner.rate_scale == 0.5
    assert trainer.learner.entropy_scale.tolist() == pytest.approx([1.7] * 3)


def test_sequence_rises_through_a_rollback_while_updates_go_back() -> None:
    trainer, around = build(spoil=spoil_at(8))
    trainer.run()

    sequences = [event.sequence for event in around.of_kind(Updated)]
    updates = [event.updates for event in around.of_kind(Updated)]
    assert sequences == sorted(set(sequences))
    assert updates[7:9] == [8, 6]  # back at the checkpoint of update 5


def test_rollbacks_that_do_not_help_end_in_one_error() -> None:
    trainer, around = build(spoil=spoil_at(8, 8, 8, 8))

    with pytest.raises(TrainingError, match="recover within 3 returns"):
        trainer.run()

    assert len(around.of_kind(Intervened)) == 3


def test_killed_after_a_rollback_resumes_to_the_same_bits() -> None:
    rolled_back = Decision("roll_back", reason="collapsed", is_healthy=False)
    plan = TrainPlan(steps_per_agent=150, evaluate_every=4, save_every=5)
    whole, _ = build(plan, guard=ToldOnce(7, rolled_back))
    whole.run()
    first, before = build(plan, guard=ToldOnce(7, rolled_back))
    before.stop_after = 9
    first.run()
    # As after a kill: of what was written, the newest that was whole.
    for snapshot in before.snapshots[-3:]:
        second, after = build(plan, guard=ToldOnce(7, rolled_back))
        after.snapshots = [s for s in before.snapshots if s.sequence <= snapshot.sequence]
        second.load(snapshot.tensors)
        second.run()

        assert same(second.state(), whole.state())


class ToldOnce(Quiet):
    """Decides once, at a sequence; what it did is not undone by rolling back."""

    def __init__(self, at: int, decision: Decision) -> None:
        super().__init__()
        self.at, self.decision = at, decision

    def watch(self, update: Update, *, updates: int, steps: int) -> Decision:
        self.seen += 1
        return self.decision if self.seen == self.at else Decision("go_on")

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        # A guard that forgets what it did would do it for ever; this one has seen enough.
        self.seen = max(self.seen, int(state["seen"]))


def test_boost_reaches_the_learner_for_the_agents_it_is_meant_for() -> None:
    scale = torch.tensor([1.0, 1.7, 1.0])
    guard = Quiet({3: Decision("boost", reason="agent A1 fades", entropy_scale=scale)})
    trainer, around = build(guard=guard)
    trainer.run()

    assert trainer.learner.entropy_scale.tolist() == pytest.approx([1.0, 1.7, 1.0])
    assert around.of_kind(Intervened)[0].text == "agent A1 fades"


def test_halt_ends_in_one_error_with_the_reason() -> None:
    trainer, _ = build(guard=Quiet({3: Decision("halt", reason="agent A1: 99 % HOLD")}))

    with pytest.raises(TrainingError, match="agent A1: 99 % HOLD"):
        trainer.run()


def test_unhealthy_weights_are_never_the_best() -> None:
    guard = Quiet({n: Decision("go_on", is_healthy=False) for n in range(5, 100)})
    trainer, around = build(guard=guard, scores=lambda it: torch.full((3,), float(it.updates)))
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
