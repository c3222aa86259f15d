"""What a rule of the flight recorder is: a pure check of the history, with words and a remedy.

What it says of an agent: code, severity, numbers, words and what to do about it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.history import History, Names


class AlarmLevel(IntEnum):
    """How bad a sign is; 0 stands for no sign where severities are in a tensor."""

    INFO = 1
    """Worth knowing, nothing to mend."""
    WARNING = 2
    CRITICAL = 3


class Diagnosis(NamedTuple):
    """One rule's finding about one agent."""

    code: str
    severity: AlarmLevel
    agent: str
    observed: float
    limit: float
    words: str
    """One sentence with the agent's name and the numbers."""
    remedy: str
    update: int
    """Number of the update after which it was found."""

    def to_row(self) -> dict[str, Any]:
        """Return it as it stands in the run directory."""
        severity, observed = self.severity.name.lower(), plain_number(self.observed)
        return {**self._asdict(), "severity": severity, "observed": observed}

    def __str__(self) -> str:
        """Tell it in one line."""
        return f"{self.severity.name.lower()} {self.code}: {self.words} {self.remedy}"


def plain_number(number: float) -> float | None:
    """Return a number as JSON can hold it: None for NaN and infinity."""
    return number if math.isfinite(number) else None


def percent(share: float) -> str:
    """Write a share for people.

    Example:
        >>> percent(0.974), percent(0.0004)
        ('97 %', '0.04 %')
    """
    number = 100.0 * share
    return f"{number:.0f} %" if number >= 1.0 or number == 0.0 else f"{number:.2g} %"


Cure = Literal["entropy", "restart", "none"]
"""What may help: more exploration; going back with other settings; only a person."""


Judged = Literal["all", "choices", "weights"]
"""What a rule is about: any action; codes and numbers; weights that divide capital. Of many weights
nearly all are small and the same, by choice, so that no rule of choices says anything of them."""


class Detection(NamedTuple):
    """Result of a check of U updates of N agents."""

    level: Tensor
    """(U, N) int64, severity at each update, 0 for none."""
    observed: Tensor
    """(N,) newest number that was compared …"""
    limit: float
    """… with this one."""

    @classmethod
    def of(
        cls, observed: Tensor, limit: float, warning: Tensor, critical: Tensor | None = None
    ) -> Detection:
        """Grade signs (U, N) bool; critical ones need not be warnings. `observed` is (U, N)."""
        level = warning.long() * AlarmLevel.WARNING
        if critical is not None:
            level = torch.where(critical, int(AlarmLevel.CRITICAL), level)
        return cls(level, observed[-1], limit)

    def excused(self, where: Tensor) -> Detection:
        """Lower signs to information where there is an excuse (U, N) bool."""
        lowered = torch.where(where, self.level.clamp_max(AlarmLevel.INFO), self.level)
        return self._replace(level=lowered)


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


class Detector(ABC):
    """A warning sign; a subclass says its code and what may help against it."""

    code: str
    cure: Cure
    judges: Judged
    remedy: str
    warms_up = True
    """Whether it is silent during the warm-up."""

    def __init_subclass__(cls, *, code: str, cure: Cure, judges: Judged = "all") -> None:
        """Name the sign."""
        cls.code, cls.cure, cls.judges = code, cure, judges

    @abstractmethod
    def check(self, history: History, config: GuardConfig) -> Detection:
        """Look for the sign in the history of all agents."""

    @abstractmethod
    def words(self, scene: Scene) -> str:
        """Say what was seen, without the agent's name."""

    def patience(self, config: GuardConfig) -> int:
        """Return the updates in a row that the sign must last."""
        return config.patience


def run_detector(
    rule: Detector, history: History, config: GuardConfig, names: Names
) -> tuple[Diagnosis, ...]:
    """Say of which agents a rule's sign lasted for as long as its patience."""
    patience = rule.patience(config)
    is_asked = rule.judges == "all" or (rule.judges == "weights") == bool(names.sleeves)
    if len(history.steps) < patience or not is_asked:
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
