"""The trainer obeys the recorder: NaN is rolled back, then ends training, and is never best."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from fixtures.sabotage_runs import GUARDED, SOUND
from fixtures.sabotage_tasks import SpoiltTask
from tradingbot.domain.errors import TrainingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Intervened
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.train_plan import TrainPlan
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.networks.view import TableView

ONSET = 4
"""Sound updates before one agent's rewards are not numbers now and then."""


def test_rewards_that_stay_nan_are_rolled_back_and_then_end_training() -> None:
    task = SpoiltTask("nan", n_agents=4, n_envs=8, sound_steps=32 * ONSET)
    learner = PPO(task, TableView(task.table), SOUND, seed=0)
    selected: list[Snapshot] = []
    told: list[Event] = []

    def load_healthy() -> Mapping[str, Tensor]:
        return next(s.tensors for s in reversed(selected) if "healthy" in s.labels)

    hooks = Hooks(
        evaluate=lambda: {"sharpe": torch.full((4,), float(learner.updates))},
        save=selected.append,
        load_healthy=load_healthy,
        emit=told.append,
    )
    plan = TrainPlan(steps_per_agent=100_000, evaluate_every=1, save_every=1)
    trainer = Trainer(learner, plan, hooks, FlightRecorder(task, GUARDED))

    with pytest.raises(TrainingError):
        trainer.run()
    returns = [event for event in told if isinstance(event, Intervened)]
    assert len(returns) >= 2
    assert {event.action for event in returns} == {"roll_back"}
    trainer.use_best()
    for network in learner.networks().values():
        assert all(tensor.isfinite().all() for tensor in network.state_dict().values())
    labelled = [s for s in selected if "best" in s.labels or "healthy" in s.labels]
    assert max(snapshot.updates for snapshot in labelled) <= ONSET
    for snapshot in labelled:
        weights = [t for name, t in snapshot.tensors.items() if name.startswith("learner/heads")]
        assert weights
        assert all(tensor.isfinite().all() for tensor in weights)
