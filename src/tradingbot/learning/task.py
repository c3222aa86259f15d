"""What a learner is told of the problem: N agents, each in B environments, as one tensor program.

Part of what an agent sees does not depend on what it does (the market): rows of an exogenous table,
named by their number alone. The rest is private. Learners know no more than this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from torch import Tensor

from tradingbot.domain.checks import require, require_kinds

TaskState = tuple[Tensor, ...]
"""All that changes in a task, last axis N · B; what resuming needs."""
ActionKind = Literal["discrete", "box"]


@dataclass(frozen=True)
class ActionSpec:
    """What an action is: a code below `n_actions`, or a number in [low, high]."""

    kind: ActionKind = "box"
    n_actions: int = 0
    """Codes; 0 for numbers."""
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a space without an action."""
        require_kinds(self)
        require(self.kind in ("discrete", "box"), "kind must be discrete or box", self)
        require(
            (self.n_actions >= 2) == (self.kind == "discrete"),
            "n_actions must be 2 or more for discrete actions, and 0 for a box",
            self,
        )
        require(self.low < self.high, "low must be below high", self)


class Observation(NamedTuple):
    """What N agents see in B environments each."""

    row: Tensor
    """(N, B) int64, row of the task's table: series · T + bar."""
    private: Tensor
    """(N, B, P) what they know of themselves."""
    allowed: Tensor
    """(N, B, A) bool, actions that may be chosen; (N, B, 0) for numbers. One at least is."""


class TaskStep(NamedTuple):
    """One step; environments that ended have begun anew."""

    state: TaskState
    observation: Observation
    """After the reset."""
    final_row: Tensor
    """(N, B) int64 before the reset: value targets bootstrap from this observation."""
    final_private: Tensor
    """(N, B, P) before the reset."""
    final_return: Tensor
    """(N, B) wealth − 1 before the reset; `Task.wealth` of the state is that of the next one."""
    reward: Tensor
    """(N, B)"""
    terms: Tensor
    """(K, N, B) weighted reward terms; their sum is the reward."""
    terminated: Tensor
    """(N, B) bool, the end of a failure: nothing follows."""
    truncated: Tensor
    """(N, B) bool, time is up: values bootstrap from the final observation; never with both."""
    executed: Tensor
    """(N, B) int64 code of what was really done, of `Task.code_names`."""
    traded: Tensor
    """(N, B) bool, whether anything changed hands."""


class Task(Protocol):
    """N agents × B environments. Pure: a step depends on its arguments alone."""

    agent_names: tuple[str, ...]
    """N names."""
    n_envs: int
    """B."""
    action: ActionSpec
    n_private: int
    """P."""
    term_names: tuple[str, ...]
    """K names of reward terms."""
    code_names: tuple[str, ...]
    """Names of the codes in `TaskStep.executed`; code 0 is doing nothing."""
    resets: bool
    """Whether an environment that ended begins anew; a backtest does not."""
    table: Tensor
    """(M, T, F) what the exogenous rows show, M series of T bars; on the task's device."""

    def begin(self) -> tuple[TaskState, Observation]:
        """Open every environment."""

    def step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Advance with actions (N, B), int64 codes or numbers, without gradients."""

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Advance so that gradients flow from rewards and state back to numeric actions."""

    def observe(self, state: TaskState) -> Observation:
        """See a state, e.g. one that was stored."""

    def wealth(self, state: TaskState) -> Tensor:
        """Return what each environment is worth now, (N, B), 1 at the start of an episode."""
