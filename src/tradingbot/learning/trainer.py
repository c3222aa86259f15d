"""The trainer: update, watch, evaluate, save; roll back or stop where a guard says so.

Everything it decides depends on updates, never on time, and everything it remembers is in
`Trainer.state`: a run that is killed and resumed makes the same weights bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import torch
from torch import Tensor

import tradingbot.domain.events.training as events
from tradingbot.domain.errors import TrainingError
from tradingbot.learning.device import within_memory
from tradingbot.learning.early_stopping import EarlyStopping
from tradingbot.learning.guards import AlarmLevel, Diagnosis, FlightRecorder, Intervention
from tradingbot.learning.learner import Learner, mean_terms
from tradingbot.learning.learner_state import Resumable, name_parts, tensors_below
from tradingbot.learning.pausing import standing_still
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.learning.train_plan import TrainPlan
from tradingbot.learning.trainer_hooks import Figures, Hooks, Snapshot
from tradingbot.learning.trainer_tensors import all_finite, as_lists, copied_tensors, to_host

_LEARNER, _TRAINER = "learner/", "trainer/"
_BEST: tuple[events.Label, ...] = ("best",)


class Trainer(Resumable):
    """Trains one population by a plan."""

    _STATE = name_parts(
        *("_sequence", "_evaluated_at", "_is_healthy", "_is_final", "_score", "_best_score"),
        *("_best", "stopping", "_recorder"),
    )

    def __init__(
        self, learner: Learner, plan: TrainPlan, hooks: Hooks, recorder: FlightRecorder
    ) -> None:
        """Take a learner that has not learned yet, or `load` a snapshot before `run`."""
        self.learner, self.plan, self._hooks, self._recorder = learner, plan, hooks, recorder
        self._names = learner.task.agent_names
        self.stopping = EarlyStopping(learner.networks(), len(self._names), plan.stopping)
        self._sequence, self._evaluated_at = 0, 0
        self._is_healthy, self._is_final = True, False
        self._score, self._best_score = math.nan, -math.inf
        self._told: set[tuple[str, int, str]] = set()
        self._best = copied_tensors(learner.networks())
        self._paused = torch.zeros(len(self._names), dtype=torch.bool)

    def run(self) -> events.Ended:
        """Train until the budget is spent, every agent has stopped, or someone interrupts.

        Raises:
            TrainingError: If the flight recorder halts, or rolling back did not help.
            UserError: If the device's memory does not suffice.
        """
        self._hooks.emit(events.Began(self._names, self.learner.steps, self.plan.steps_per_agent))
        if not self._sequence:
            self._save("start")  # there must always be somewhere to return to
        while (ending := self._ending()) is None:
            self._advance()
        if ending == "interrupted":
            # Where a roll-back leads must not depend on interruptions.
            self._save(may_return=False)
        elif not self._is_final:
            self._finish()
        returns = int(self._recorder.memory.roll_backs)
        ended = events.Ended(self._sequence, self.learner.steps, ending, self._best_score, returns)
        self._hooks.emit(ended)
        return ended

    @property
    def best_score(self) -> float:
        """Best mean score of a healthy evaluation so far; −∞ before the first."""
        return self._best_score

    @property
    def has_best(self) -> bool:
        """Whether any evaluation was healthy; the best weights are those of the start if not."""
        return self._best_score > -math.inf

    def use_best(self) -> None:
        """Put the best weights into the learner's networks, for a report; training is over."""
        for name, network in self.learner.networks().items():
            network.load_state_dict(
                {key: self._best[f"{name}.{key}"] for key in network.state_dict()}
            )
        if isinstance(self.learner, TaskLearner):
            self.learner.view.refresh()  # an encoder that learns came with them

    def state(self) -> dict[str, Tensor]:
        """Return everything that resuming bit for bit needs."""
        parts = ((_LEARNER, self.learner.state()), (_TRAINER, super().state()))
        return {prefix + name: tensor for prefix, own in parts for name, tensor in own.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned.

        Raises:
            ConfigError: If it is the state of another learner, plan or recorder.
        """
        self.learner.load_state(tensors_below(tensors, _LEARNER))
        self.load_state(tensors_below(tensors, _TRAINER))
        self._weigh()

    def _advance(self) -> None:
        if not self._update():
            return
        self._hooks.updated(self.learner.updates)
        is_best = False
        if self.learner.updates - self._evaluated_at >= self.plan.evaluate_every:
            is_best = self._evaluate()
        if is_best or self._sequence % self.plan.save_every == 0:
            self._save(*_BEST[: int(is_best)])

    def _update(self) -> bool:
        """Make one update; false where it had to be taken back."""
        began, learner = time.perf_counter(), self.learner
        if not torch.equal(self._recorder.paused, self._paused):
            self._weigh()
        still = standing_still(learner.networks(), self._paused)
        with within_memory(learner.task.table.device), still:
            update = learner.update()
        self.stopping.hold()
        self._sequence += 1
        finite = all_finite(learner.networks())
        terms = mean_terms(learner.task.term_names, update.experience)
        if isinstance(learner, TaskLearner):
            terms |= learner.task_metrics()
        metrics = to_host({**update.metrics, **terms, "guard/finite": finite})
        place, took_s = (
            (self._sequence, learner.updates, learner.steps),
            time.perf_counter() - began,
        )
        self._hooks.emit(events.Updated(*place, as_lists(metrics), took_s))
        sound = bool(metrics["guard/finite"])  # on the host already
        report = self._recorder.watch(learner, update, sound=sound)
        self._tell(report.verdicts)
        self._is_healthy = report.healthy
        self._obey_guard(metrics)
        return self._obey(report.decision)

    def _tell(self, verdicts: tuple[Diagnosis, ...]) -> None:
        """Say what was not said after the update before, one line per warning sign."""
        found = [each for each in verdicts if each.severity is not AlarmLevel.INFO]
        signs: dict[tuple[str, AlarmLevel], list[Diagnosis]] = {}
        for verdict in found:
            if (verdict.code, verdict.severity, verdict.agent) not in self._told:
                signs.setdefault((verdict.code, verdict.severity), []).append(verdict)
        self._told = {(each.code, each.severity, each.agent) for each in found}
        for group in signs.values():
            agents = tuple(verdict.agent for verdict in group)
            self._hooks.emit(events.Warned(self._sequence, str(group[0]), agents))

    def _obey(self, decision: Intervention) -> bool:
        """Carry out what the recorder decided; return whether the update stands."""
        if decision.response == "halt":
            rule = "training must stay healthy"
            where = f"update {self.learner.updates}"
            remedy = "Lower the learning rate, or look at the reward: see recorder.jsonl"
            raise TrainingError(rule, was=decision.words.rstrip("."), where=where, remedy=remedy)
        if decision.response == "roll_back":
            self._roll_back(decision)
            return False
        if decision.response in ("boost_entropy", "pause"):
            self._set_scales()
            done = events.Intervened(self._sequence, decision.response, decision.words)
            self._hooks.emit(done)
        return True

    def _obey_guard(self, metrics: Figures) -> None:
        """Halt where a learner's own guard of entropy asks for it, for an agent that still learns.

        Raises:
            TrainingError: Naming the agents.
        """
        asks = metrics.get("policy/halt")
        if asks is None:
            return
        asking = (asks > 0.0).expand(len(self._names)) & ~self.stopping.stopped
        named = [name for name, halts in zip(self._names, asking, strict=True) if halts]
        if named:
            raise TrainingError(
                "the entropy of a policy must recover when its bonus is boosted to the full",
                was=f"below the guard's limit for {', '.join(named[:5])}"
                + (f" and {len(named) - 5} more" if named[5:] else ""),
                where=f"update {self.learner.updates}",
                remedy="Raise entropy.coefficient, lower the learning rate, or set "
                "entropy.guard_halts=false",
            )

    def _roll_back(self, decision: Intervention) -> None:
        tensors = self._hooks.load_healthy()
        own = tensors_below(tensors, _TRAINER)
        self.learner.load_state(tensors_below(tensors, _LEARNER))
        self.stopping.load_state(tensors_below(own, "stopping/"))
        self._evaluated_at = int(own["evaluated_at"].item())
        self._recorder.forget()
        self._is_healthy = True
        self._set_scales()
        self._weigh()
        # The same draws would lead to the same place.
        self.learner.explore_anew(decision.policy_seed)
        words = f"{decision.words} Back at update {self.learner.updates}."
        self._hooks.emit(events.Intervened(self._sequence, "roll_back", words))
        self._save()

    def _set_scales(self) -> None:
        memory, device = self._recorder.memory, self.learner.task.table.device
        self.learner.set_entropy_scale(memory.entropy_scale.float().to(device))
        self.learner.set_learning_rate_scale(float(memory.learning_rate_scale))

    def _weigh(self) -> None:
        """Let agents that stopped or are paused move nothing that the others share."""
        device, self._paused = self.learner.task.table.device, self._recorder.paused
        learns = ~(self.stopping.stopped | self._paused)
        self.learner.set_agent_weight(learns.float().to(device))

    def _evaluate(self) -> bool:
        """Play on the validation part; return whether the weights are the best so far."""
        scores = to_host(dict(self._hooks.evaluate()))
        self._evaluated_at = self.learner.updates
        score = scores[self.plan.score]
        self._score = float(score.double().mean())
        stopped = self.stopping.judge(score, updates=self.learner.updates)
        # A NaN is never better; unhealthy weights are never the best, whatever they score.
        is_best = self._is_healthy and self._score > self._best_score
        if is_best:
            self._best_score = self._score
            self._best = copied_tensors(self.learner.networks())
        place, figures = (self._sequence, self.learner.steps), as_lists(scores)
        self._hooks.emit(events.Evaluated(*place, figures, self._score, is_best))
        if stopped.any():
            self._weigh()
            names = tuple(name for name, gone in zip(self._names, stopped, strict=True) if gone)
            self._hooks.emit(events.AgentsStopped(self._sequence, names))
        return is_best

    def _finish(self) -> None:
        is_best = self._evaluated_at != self.learner.updates and self._evaluate()
        self._is_final = True
        self._save("final", *_BEST[: int(is_best)])

    def _ending(self) -> events.Ending | None:
        if self._is_final or self.learner.steps >= self.plan.steps_per_agent:
            return "budget" if not self.stopping.stopped.all() else "all_stopped"
        if self.stopping.stopped.all():
            return "all_stopped"
        return "interrupted" if self._hooks.interrupted() else None

    def _save(self, *labels: events.Label, may_return: bool = True) -> None:
        is_healthy = self._is_healthy and may_return
        marks: tuple[events.Label, ...] = ("last", *labels)
        marks = (*marks, "healthy") if is_healthy else marks
        place = (self._sequence, self.learner.updates, self.learner.steps)
        self._hooks.save(Snapshot(*place, self.state(), marks, self._score))
        self._hooks.emit(events.Saved(self._sequence, marks))
