"""One training of a dossier: assembled, and then trained, in memory alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from tradingbot.data.sources.source import Progress
from tradingbot.domain.errors import TrainingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Updated
from tradingbot.evaluation.analyses.retraining.shared_pretraining import share_pretraining
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData
from tradingbot.training.preparation import prepare
from tradingbot.training.results import (
    SelectedPolicy,
    select_by_validation,
    select_everything,
    select_nothing,
)
from tradingbot.training.setup import TrainingSetup


@dataclass(frozen=True, eq=False)
class AssembledTraining:
    """A training that nothing but itself can stop any more."""

    config: TrainConfig
    data: TrainingData
    setup: TrainingSetup

    def train(
        self, progress: Progress, shared: Path | None = None
    ) -> tuple[SelectedPolicy | None, str]:
        """Return what is kept of the policy, or None and why training was halted; used up by it.

        Args:
            progress: Told of steps.
            shared: Folder of pre-trained encoders, for trainings that begin with the same one.
        """
        prepare(share_pretraining(self.setup, shared))
        trainer = self._trainer(progress)
        try:
            trainer.run()
        except TrainingError as e:
            return None, str(e)
        trainer.use_best()
        if not trainer.has_best:
            return select_nothing(self.setup), ""
        if self.config.validation.shrink:
            return select_by_validation(self.setup, self.data), ""
        return select_everything(self.setup), ""

    def _trainer(self, progress: Progress) -> Trainer:
        config, data, setup = self.config, self.data, self.setup
        learner, healthy = setup.learner, dict[str, Tensor]()

        def save(snapshot: Snapshot) -> None:
            if "healthy" in snapshot.labels:
                healthy.clear()
                healthy.update({name: tensor.clone() for name, tensor in snapshot.tensors.items()})

        def tell(event: Event) -> None:
            if isinstance(event, Updated):
                total = config.budget.steps_per_agent
                progress(min(event.steps, total), total, "training, step")

        hooks = Hooks(
            evaluate=lambda: scores_on(choosing_bars(data), setup, data),
            save=save,
            load_healthy=lambda: dict(healthy),
            emit=tell,
            updated=setup.teach_sleeves(tell),
        )
        return Trainer(learner, config.plan, hooks, FlightRecorder(learner.task, config.guards))
