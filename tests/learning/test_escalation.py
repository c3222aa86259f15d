"""The plan's escalation, on a learner that must collapse: low entropy pauses, roll-backs halt."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.sabotage_runs import GUARDED, TINY_ENTROPY
from fixtures.sabotage_tasks import RiggedTask
from tradingbot.domain.errors import TrainingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Intervened, Updated
from tradingbot.learning.early_stopping import own_parameters
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.guards.config import InterventionConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.train_plan import TrainPlan
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.networks.view import TableView

UPDATE_STEPS, PAUSED_UPDATES = 256, 3
ESCALATION = InterventionConfig(
    by_rule=(("LOW_ENTROPY", "pause"),),
    pause_steps=PAUSED_UPDATES * UPDATE_STEPS,
    cooldown_steps=2 * UPDATE_STEPS,
    max_roll_backs=3,
)


class Watched:
    """A trainer on a reward that always pays one action, and what happened to one agent."""

    def __init__(self) -> None:
        task = RiggedTask("always_pays")
        guards = replace(GUARDED, low_entropy_critical=0.2, interventions=ESCALATION)
        self.recorder = FlightRecorder(task, replace(guards, probe_every=0))
        self.learner = PPO(task, TableView(task.table), TINY_ENTROPY, seed=0)
        self.snapshots: list[Snapshot] = []
        self.done: list[Intervened] = []
        self.moved: list[Tensor] = []
        """Per update, (N,) bool: whether what is an agent's own changed."""
        self.was_paused: list[Tensor] = []
        self._own = self._copy()
        hooks = Hooks(
            lambda: {"sharpe": torch.zeros(len(task.agent_names))},
            self.snapshots.append,
            lambda: [s for s in self.snapshots if "healthy" in s.labels][-1].tensors,
            self._hear,
        )
        plan = TrainPlan(steps_per_agent=200 * UPDATE_STEPS, evaluate_every=1_000, save_every=4)
        self.trainer = Trainer(self.learner, plan, hooks, self.recorder)

    def _copy(self) -> list[Tensor]:
        return [each.detach().clone() for each in own_parameters(self.learner.networks()).values()]

    def _hear(self, event: Event) -> None:
        if isinstance(event, Updated):  # before the recorder looks at the update
            own = self._copy()
            pairs = zip(own, self._own, strict=True)
            moved = torch.stack([(new != old).flatten(1).any(1) for new, old in pairs]).any(0)
            self.moved.append(moved)
            self.was_paused.append(self.recorder.paused)
            self._own = own
        if isinstance(event, Intervened):
            self.done.append(event)
            self._own = self._copy()


@pytest.fixture(scope="module")
def halted() -> Watched:
    watched = Watched()
    with pytest.raises(TrainingError, match="Halted after 3 roll-backs"):
        watched.trainer.run()
    return watched


def test_low_entropy_pauses_and_three_roll_backs_halt(halted: Watched) -> None:
    told = [each.action for each in halted.done]

    assert told[0] == "pause"
    assert "stands still for 768 steps" in halted.done[0].text
    assert told.count("roll_back") == 3
    assert "pause" not in told[told.index("roll_back") :]  # its bonus is at its largest already
    assert int(halted.recorder.memory.roll_backs) == 3


def test_paused_agents_stand_still_and_all_others_learn(halted: Watched) -> None:
    moved, paused = torch.stack(halted.moved), torch.stack(halted.was_paused)

    assert int(paused.sum()) >= PAUSED_UPDATES
    assert not bool((moved & paused).any())
    assert bool((moved | paused).all())
    first = paused.int().argmax(0)[paused.any(0)]
    ends = [int((~paused[at:, agent]).int().argmax()) for agent, at in enumerate(first.tolist())]
    assert set(ends) == {PAUSED_UPDATES}  # then it learns again


def test_pause_goes_on_after_a_restart(halted: Watched) -> None:
    again = Watched()
    begun = next(s for s in halted.snapshots if _is_paused(s))
    again.trainer.load(begun.tensors)

    assert again.learner._agent_weight.tolist() == (~again.recorder.paused).float().tolist()
    assert bool(again.recorder.paused.any())


def _is_paused(snapshot: Snapshot) -> bool:
    lived = snapshot.tensors["trainer/recorder/lived"]
    return bool((snapshot.tensors["trainer/recorder/memory/1"] > lived).any())
