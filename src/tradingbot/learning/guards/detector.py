"""What a rule of the flight recorder is: a pure check of the history, with words and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.diagnosis import AlarmLevel, Diagnosis
from tradingbot.learning.guards.history import History, Names

Cure = Literal["entropy", "restart", "none"]
"""What may help: more exploration; going back with other settings; only a person."""


class Detection(NamedTuple):
    """Result of a check of U updates of N agents."""

    level: Tensor
    """(U, N) int64, severity at each update, 0 for none."""
    observed: Tensor
    """(N,) newest number that was compared …"""
    limit: float
    """… with this one."""


class Scene(NamedTuple):
    """What words are made of."""

    history: History
    config: GuardConfig
    names: Names
    agent: int
    severity: AlarmLevel

    def now(self, name: str) -> float:
        """Return the agent's newest number."""
        return self.history.now(name, self.agent)

    def bin_name(self, name: str) -> str:
        """Return the name of the bin that a measure tells."""
        return self.names.bins[int(self.now(name))]


class Detector(NamedTuple):
    """A warning sign."""

    code: str
    check: Callable[[History, GuardConfig], Detection]
    words: Callable[[Scene], str]
    """Says what was seen, without the agent's name."""
    remedy: str
    cure: Cure
    patience: Callable[[GuardConfig], int] = lambda config: config.patience
    """Updates in a row that the sign must last."""
    warms_up: bool = True
    """Whether it is silent during the warm-up."""


def run_detector(
    rule: Detector, history: History, config: GuardConfig, names: Names
) -> tuple[Diagnosis, ...]:
    """Say of which agents a rule's sign lasted for as long as its patience."""
    patience = rule.patience(config)
    if len(history.steps) < patience:
        return ()
    finding = rule.check(history, config)
    level = finding.level
    if rule.warms_up:
        warm = history.steps >= config.warm_up_steps
        level = level * (warm & (history.updates > config.warm_up_updates))[:, None]
    lasting = level[-patience:].amin(0)
    return tuple(
        _verdict(rule, Scene(history, config, names, agent, AlarmLevel(severity)), finding)
        for agent, severity in enumerate(lasting.tolist())
        if severity
    )


def _verdict(rule: Detector, scene: Scene, finding: Detection) -> Diagnosis:
    agent = scene.names.agents[scene.agent]
    return Diagnosis(
        code=rule.code,
        severity=scene.severity,
        agent=agent,
        observed=float(finding.observed[scene.agent]),
        limit=finding.limit,
        words=f"agent {agent}: {rule.words(scene)}.",
        remedy=rule.remedy,
        update=int(scene.history.updates[-1]),
    )


def grade_levels(warning: Tensor, critical: Tensor | None = None) -> Tensor:
    """Return severities (U, N) of signs (U, N) bool; critical ones need not be warnings."""
    level = warning.long() * AlarmLevel.WARNING
    return level if critical is None else torch.where(critical, int(AlarmLevel.CRITICAL), level)


def soften_levels(level: Tensor, excused: Tensor) -> Tensor:
    """Lower signs (U, N) to information where there is an excuse (U, N) bool."""
    return torch.where(excused, level.clamp_max(AlarmLevel.INFO), level)
