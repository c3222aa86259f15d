"""The flight recorder: measures every update, keeps the last ones, judges, says what to do.

Reading what a learner did is one transfer from its device per update; everything else happens on
the CPU. The recorder changes nothing: the trainer carries out what it decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.guards import measures
from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Diagnosis, plain_number, run_detector
from tradingbot.learning.guards.divided_capital import NotedBars, measure_division
from tradingbot.learning.guards.execution import measure_execution
from tradingbot.learning.guards.history import MEASURE_NAMES, PLAYED_NAMES, History, names_of
from tradingbot.learning.guards.interventions import Intervention, Memory, decide, is_healthy
from tradingbot.learning.learner import Learner, Update
from tradingbot.learning.learner_state import Resumable, name_parts
from tradingbot.learning.playing import PlayResult, count_actions, play
from tradingbot.learning.task import Observation, Task, idle_action
from tradingbot.learning.task_learner import TaskLearner

_PLACE = {name: place for place, name in enumerate(MEASURE_NAMES)}
_CURES = {rule.code: rule.cure for rule in RULES}


class RecorderReport(NamedTuple):
    """What the recorder has to say after an update."""

    update: int
    steps: int
    measures: dict[str, Tensor]
    """Name of `MEASURES` → (N,) float64 on the CPU."""
    verdicts: tuple[Diagnosis, ...]
    decision: Intervention
    healthy: bool
    """Whether a checkpoint of this moment is worth going back to."""

    def to_row(self) -> dict[str, Any]:
        """Return it as one line of the run directory: plain values, None for what is unknown."""
        return {
            "update": self.update,
            "steps": self.steps,
            "measures": {name: _plain(tensor) for name, tensor in self.measures.items()},
            "verdicts": [verdict.to_row() for verdict in self.verdicts],
            "healthy": self.healthy,
            "response": self.decision.response,
            "words": self.decision.words,
        }


class FlightRecorder(Resumable):
    """Follows all agents of one task."""

    _STATE = name_parts(
        *("_ring", "_counts", "_clock", "_played", "_idle_reward", "_recorded", "_lived", "_runs"),
        "memory",
    )

    def __init__(
        self,
        task: Task,
        config: GuardConfig | None = None,
        *,
        write: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Begin with nothing recorded.

        Args:
            task: What is learned; for names, sizes and deterministic plays.
            config: Limits; the defaults if None.
            write: Called with one row of plain values per update.
        """
        self.task, self.config, self.names = task, config or GuardConfig(), names_of(task)
        self._write = write
        n_agents, kept = len(task.agent_names), self.config.kept_updates
        self._ring = torch.full((kept, len(MEASURE_NAMES), n_agents), torch.nan).double()
        n_bins = measures.n_bins(task.action)
        self._counts = torch.zeros(kept, n_agents, n_bins, dtype=torch.float64)
        self._played = torch.full((len(PLAYED_NAMES), n_agents), torch.nan).double()
        self._idle_reward = torch.full((n_agents,), torch.nan, dtype=torch.float64)
        self._clock = torch.zeros(kept, 2, dtype=torch.int64)
        self._recorded = self._lived = 0
        self._runs = measures.no_runs(n_agents, task.n_envs, task.table.device)
        self.memory: Memory = Memory.begin(n_agents)

    def watch(self, learner: Learner, update: Update, *, sound: bool = True) -> RecorderReport:
        """Record what a learner just did; play deterministically when it is time for that.

        Args:
            learner: After its update.
            update: What it returned.
            sound: Whether every weight is a finite number.
        """
        every, played, divided = self.config.probe_every, None, dict[str, Tensor]()
        if every and (learner.updates % every == 0 or self._recorded == 0):
            noted = NotedBars(learner.act)
            played = play(self.task, noted, self.config.probe_steps)
            divided = measure_division(self.task, played, noted.rows)
        if isinstance(learner, TaskLearner):  # what the task tells, such as goals that were met
            update = update._replace(metrics=update.metrics | learner.task_metrics())
        return self.record(
            update,
            updates=learner.updates,
            steps=learner.steps,
            played=played,
            divided=divided,
            sound=sound,
        )

    def record(
        self,
        update: Update,
        *,
        updates: int,
        steps: int,
        played: PlayResult | None = None,
        divided: Mapping[str, Tensor] | None = None,
        sound: bool = True,
    ) -> RecorderReport:
        """Record one update, judge the last ones and decide.

        Args:
            update: Of the learner.
            updates: Number of the update.
            steps: Environment steps per agent so far.
            played: A deterministic play, where there was one; older ones count until the next.
            divided: How that play divided capital; see `measure_division`.
            sound: Whether every weight is a finite number.
        """
        if played is not None and bool(self._idle_reward.isnan().any()):
            idle = play(self.task, self._do_nothing, played.reward.shape[0])
            self._idle_reward = idle.reward.double().mean((0, 2)).cpu()
        row = self._measure(update, played, divided or {})
        place = self._recorded % self.config.kept_updates
        self._ring[place] = torch.stack([row[name] for name in MEASURE_NAMES])
        self._clock[place] = torch.tensor((updates, steps))
        self._recorded += 1
        self._lived += update.experience.reward[:, 0].numel()
        history = self.history()
        found = (run_detector(rule, history, self.config, self.names) for rule in RULES)
        verdicts = tuple(verdict for some in found for verdict in some)
        decision = decide(
            verdicts,
            self.memory,
            self.config,
            agents=self.names.agents,
            cures=_CURES,
            steps=self._lived,
            sound=sound,
        )
        self.memory = decision.memory
        healthy = sound and is_healthy(verdicts, len(self.names.agents), self.config)
        report = RecorderReport(updates, steps, row, verdicts, decision, healthy)
        if self._write is not None:
            self._write(report.to_row())
        return report

    @property
    def paused(self) -> Tensor:
        """(N,) bool on the CPU, agents that are to stand still in the next update."""
        return self.memory.boosted_at > self._lived

    def history(self) -> History:
        """Return what is kept, oldest first."""
        kept = self.config.kept_updates
        count = min(self._recorded, kept)
        order = [(self._recorded - count + i) % kept for i in range(count)]
        ring, clock = self._ring[order], self._clock[order]
        measures = {name: ring[:, place] for name, place in _PLACE.items()}
        return History(measures, clock[:, 1], clock[:, 0])

    def forget(self) -> None:
        """Clear what was measured, not what was decided: to be called after a roll-back."""
        self._ring.fill_(torch.nan)
        self._counts.zero_()
        self._played.fill_(torch.nan)
        self._recorded = 0
        device = self.task.table.device
        self._runs = measures.no_runs(len(self.names.agents), self.task.n_envs, device)

    def _measure(
        self, update: Update, played: PlayResult | None, divided: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Measure on the device, fetch all of it at once, and add what follows from counts."""
        action, experience = self.task.action, update.experience
        device = experience.reward.device
        lengths, self._runs = measures.run_lengths(experience, action, self._runs)
        measured = measures.measure_experience(
            experience, action, lengths, repeats=self.config.repeats
        ) | measures.measure_metrics(update.metrics, len(self.names.agents), device)
        measured |= measure_execution(experience, action)
        if played is not None:
            measured |= measures.measure_played(played)
        done = [measures.last_selections(experience.selected, self.config.window)]
        done += [played.action] if played is not None else []
        counts = [count_actions(actions, action, measures.BOX_BINS) for actions in done]
        fetched = torch.cat((torch.stack(list(measured.values())), *(c.T for c in counts))).cpu()
        row = dict(zip(measured, fetched, strict=False))
        sampled, *others = torch.split(fetched[len(measured) :], measures.n_bins(action))
        row |= divided
        return row | self._measure_counts(row, sampled.T, [other.T for other in others])

    def _measure_counts(
        self, row: Mapping[str, Tensor], sampled: Tensor, played: list[Tensor]
    ) -> dict[str, Tensor]:
        kept, per_update = self.config.kept_updates, float(sampled[0].sum())
        self._counts[self._recorded % kept] = sampled
        needed = min(-(-self.config.window // int(per_update)), kept, self._recorded + 1)
        window = self._counts[[(self._recorded - i) % kept for i in range(needed)]].sum(0)
        found = measures.measure_counts(window, "rollout") | {"rollout/selections": window.sum(1)}
        if played:
            fresh = {name: row[name] for name in PLAYED_NAMES if name in row}
            fresh |= measures.measure_counts(played[0], "eval")
            fresh |= measures.compare_counts(played[0], window, self.task.action)
            fresh["eval/idle_reward"] = self._idle_reward
            unknown = torch.full_like(self._idle_reward, torch.nan)
            self._played = torch.stack([fresh.get(name, unknown) for name in PLAYED_NAMES])
        return found | dict(zip(PLAYED_NAMES, self._played, strict=True))

    def _do_nothing(self, observation: Observation) -> Tensor:
        return idle_action(self.task.action, observation.row, self.task.table.dtype)


def _plain(tensor: Tensor) -> list[float | None]:
    return [plain_number(number) for number in tensor.tolist()]
