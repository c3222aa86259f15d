"""What a learner is told of the problem: N agents, each in B environments, as one tensor program.

Part of what an agent sees does not depend on what it does (the market): rows of an exogenous table,
named by their number alone. The rest is private. Learners know no more than this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from tradingbot.domain.checks import CheckedFields, bounded, require, require_kinds
from tradingbot.domain.errors import ConfigError
from tradingbot.networks.member_inputs import MemberInputs

TaskState = tuple[Tensor, ...]
"""All that changes in a task, last axis N · B; what resuming needs."""
ActionKind = Literal["discrete", "box", "simplex"]


@dataclass(frozen=True)
class ActionSpec:
    """What an action is: a code, a number or K numbers in [low, high], or K weights that sum to 1.

    Example:
        >>> ActionSpec().shape, ActionSpec(n_components=3).shape, ActionSpec.simplex(4).shape
        ((), (3,), (4,))
    """

    kind: ActionKind = "box"
    n_actions: int = 0
    """Codes; 0 for numbers."""
    low: float = -1.0
    high: float = 1.0
    n_components: int = bounded(0, ">= 0")
    """K, numbers of a vector; 0: one number or code, without an axis of its own."""

    @classmethod
    def simplex(cls, n_components: int) -> ActionSpec:
        """Return K weights in [0, 1] that sum to 1; the last is what is left over, e.g. cash."""
        return cls("simplex", 0, 0.0, 1.0, n_components)

    @property
    def shape(self) -> tuple[int, ...]:
        """Axes of one action: none, or (K,)."""
        return (self.n_components,) if self.n_components else ()

    def __post_init__(self) -> None:
        """Refuse a space without an action."""
        require_kinds(self)
        fits = (self.n_actions >= 2) == (self.kind == "discrete")
        require(fits, "n_actions must be 2 or more for discrete actions, and 0 for a box", self)
        require(self.low < self.high, "low must be below high", self)
        fits = self.kind != "discrete" or not self.n_components
        require(fits, "n_components must be 0 for discrete actions", self)
        fits = self.n_components >= 2 and (self.low, self.high) == (0.0, 1.0)
        rule = "a simplex must have 2 components or more, in [0, 1]"
        require(self.kind != "simplex" or fits, rule, self)


def idle_action(action: ActionSpec, row: Tensor, dtype: torch.dtype) -> Tensor:
    """Return doing nothing, (N, B) or (N, B, K): code 0, numbers next to 0, all in the last weight.

    Args:
        action: What actions are.
        row: (N, B), of an observation.
        dtype: Of numbers; codes are int64.
    """
    if action.kind == "discrete":
        return torch.zeros(row.shape, dtype=torch.int64, device=row.device)
    still = min(max(0.0, action.low), action.high)
    idle = torch.full((*row.shape, *action.shape), still, dtype=dtype, device=row.device)
    if action.kind == "simplex":
        idle[..., -1] = 1.0
    return idle


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
    duration: Tensor | None = None
    """(N, B) steps of the task's clock that the action took, 1 or more; None: one each."""
    discount: Tensor | None = None
    """(N, B) what the value of the final observation counts for, in [0, 1], instead of the
    learner's own discount per step; None: the learner's."""
    episode: Tensor | None = None
    """(N, B) int64, number of the environment's episode that the step belongs to; each is one
    higher than the one before."""
    goal: Tensor | None = None
    """(N, B, G) what was aimed for."""
    achieved: Tensor | None = None
    """(N, B, G) what was reached by the end of the step, before any reset: as a goal, it would be
    met there."""
    turnover: Tensor | None = None
    """(N, B) value that changed hands, of what the environment was worth before; −1 in the step
    that ends an episode."""


class Task(Protocol):
    """N agents × B environments. Pure: a step depends on its arguments alone.

    A task whose steps carry durations, discounts, episode numbers or goals says so in an attribute
    `carries`, a `learning.task.TransitionExtras`; without it they carry none. A task that has more
    to tell of its state has a method `metrics(state)`; see `task_metrics`. One whose environments
    can be played several times over has a method `repeated(times)`, see `repeat_task`; one of which
    some environments can be played elsewhere has a method `keeping(first, count)`. One whose agent
    weighs members of a set says in an attribute `members`, a `networks.member_inputs.MemberInputs`,
    which columns of view and private numbers are theirs; see `members_of`.
    """

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
        """Advance with actions (N, B), int64 codes or numbers, or (N, B, K), without gradients."""

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Advance so that gradients flow from rewards and state back to numeric actions."""

    def observe(self, state: TaskState) -> Observation:
        """See a state, e.g. one that was stored."""

    def wealth(self, state: TaskState) -> Tensor:
        """Return what each environment is worth now, (N, B), 1 at the start of an episode."""


@dataclass(frozen=True)
class TransitionExtras(CheckedFields):
    """Which further parts of a `TaskStep` are delivered by a task, or kept by a learner.

    Besides what every learner needs; nothing unless it is asked for.
    """

    duration: bool = False
    """Steps of the task's clock that an action took: options are semi-Markov."""
    discount: bool = False
    """What the value of what followed counts for."""
    episode: bool = False
    """Number of the environment's episode."""
    turnover: bool = False
    """Value that changed hands."""
    n_goal: int = bounded(0, ">= 0")
    """G, numbers of a goal; 0: there is none."""
    achieved: bool = False
    """What was reached, as a goal of G numbers: what hindsight aims for afterwards."""
    terms: bool = False
    """Reward terms of every step; every task delivers them, rollouts keep only their sum else."""
    reward: bool = True
    """Rewards; every task delivers them, replays need none where goals to come decide them."""


def extras_of(task: Task) -> TransitionExtras:
    """Return what the steps of a task carry, from its attribute `carries`; nothing without one."""
    carries: TransitionExtras = getattr(task, "carries", TransitionExtras())
    return carries


def members_of(task: Task) -> MemberInputs | None:
    """Return which inputs describe members of a set, from `members`; None without one."""
    members: MemberInputs | None = getattr(task, "members", None)
    return members


def task_metrics(task: Task, state: TaskState) -> dict[str, Tensor]:
    """Return what a task tells of a state, (N,) each: its `metrics`; nothing without them."""
    told: dict[str, Tensor] = getattr(task, "metrics", lambda _: {})(state)
    return told


def delivered(step: TaskStep, name: str) -> Tensor:
    """Return a part of a step that was asked for.

    Raises:
        ConfigError: If the task does not deliver it.
    """
    part: Tensor | None = getattr(step, name)
    if part is None:
        rule = f"a task must deliver what is kept of its steps: {name}"
        remedy = f"Return {name} in TaskStep, or do not ask for it in TransitionExtras"
        raise ConfigError(rule, was="None", remedy=remedy)
    return part


def transition_discount(
    discount: float, duration: Tensor | None, own: Tensor | None
) -> float | Tensor:
    """Return what the value of what followed counts for in each transition.

    Args:
        discount: γ per step of the task's clock, in [0, 1].
        duration: (…) steps that transitions took; None: one each.
        own: (…) discounts that transitions bring; None: γ to the power of the duration.
    """
    if own is not None:
        return own
    return discount if duration is None else discount**duration


def repeat_task(task: Task, times: int) -> Task:
    """Return a task with the same environments so many times over: number m · B + b is b's twin.

    Twins that are in the same state and do the same see the same for good.

    Raises:
        ConfigError: If the task cannot.
    """
    made: Task = _able(task, "repeated", "repeat its environments to be played by a population")(
        times
    )
    return made


def keep_envs(task: Task, first: int, count: int) -> Task:
    """Return a task with so many environments of each agent, from number `first` on.

    They begin, and go on, as they do in the whole task.

    Raises:
        ConfigError: If the task cannot.
    """
    return _able(task, "keeping", "be divided to be played by several actors")(first, count)


def _able(task: Task, method: str, words: str) -> Callable[..., Task]:
    found: Callable[..., Task] | None = getattr(task, method, None)
    if found is None:
        remedy = f"Give it a method {method}, see docs/concepts/learning.md, or use another learner"
        raise ConfigError(f"a task must {words}", was=type(task).__name__, remedy=remedy)
    return found


def repeat_lanes(part: Tensor, n_agents: int, times: int) -> Tensor:
    """Lay what environments have, (…, N · B), out for that many twins, (…, N · times · B)."""
    by_agent = part.view(*part.shape[:-1], n_agents, 1, -1)
    return by_agent.expand(*by_agent.shape[:-2], times, by_agent.shape[-1]).flatten(-3)


def keep_lanes(part: Tensor, n_agents: int, first: int, count: int) -> Tensor:
    """Take what environments have, (…, N · B), of some of them, (…, N · count)."""
    by_agent = part.view(*part.shape[:-1], n_agents, -1)
    return by_agent[..., first : first + count].flatten(-2)


def join_lanes(parts: Sequence[Tensor], n_agents: int) -> Tensor:
    """Put together what `keep_lanes` took apart, (…, N · B)."""
    by_agent = [part.view(*part.shape[:-1], n_agents, -1) for part in parts]
    return torch.cat(by_agent, dim=-1).flatten(-2)
