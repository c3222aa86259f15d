"""What rules read: every measure of the last updates, oldest first, on the CPU; names for words.

And what speaks for an agent that looks collapsed: it stays out for a reason, earns, is decided. A
market without edge is best left alone. An agent that does nothing there has learned, and must not
be punished for it. The excuse needs evidence, and holds only while the evidence does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.measures import BOX_BINS
from tradingbot.learning.task import Task

STANDARD_ERRORS = 2.0
"""Standard errors that count as a difference."""


class Measure(NamedTuple):
    """Name, unit and meaning of a measure, as the documentation lists them."""

    name: str
    unit: str
    meaning: str


_ROLLOUT = (
    Measure("rollout/selections", "count", "selections in the window"),
    Measure("rollout/largest_code", "bin", "bin selected most often in the window"),
    Measure("rollout/largest_share", "share", "its share of the window"),
    Measure("rollout/entropy", "0–1", "entropy of the window's histogram ÷ ln(bins)"),
    Measure("rollout/idle_share", "share", "steps in which nothing was executed (code 0)"),
    Measure("rollout/unexecuted_share", "share", "selections that were not carried out"),
    Measure("rollout/longest_run", "steps", "longest run of the same trade, over updates"),
    Measure("rollout/repeat_share", "share", "steps beyond the allowed number of repeats"),
    Measure("rollout/voluntary_share", "share", "steps with a trade that was asked for"),
    Measure("rollout/distinct_actions", "count", "different actions in the last 120 steps"),
    Measure("rollout/executed_gap", "share", "total variation of codes chosen and executed"),
    Measure("rollout/violations", "share", "chosen codes that were not executed"),
    Measure("rollout/reward_mean", "reward per step", "mean reward while exploring"),
    Measure("rollout/reward_error", "reward per step", "its standard error"),
    Measure("rollout/reward_scale", "reward", "root mean square of rewards"),
    Measure("rollout/reward_deviation", "reward", "standard deviation of rewards"),
    Measure("rollout/largest_term", "number", "reward term of the largest share"),
    Measure("rollout/largest_term_share", "share", "its size ÷ sum of the terms' sizes"),
    Measure("rollout/active_terms", "count", "reward terms that are not 0"),
    Measure("rollout/bad_rewards", "count", "rewards that are NaN or infinite"),
    Measure("rollout/bad_actions", "count", "selections that are NaN or infinite"),
)
_PLAYED = (
    Measure("eval/largest_code", "bin", "bin selected most often in deterministic play"),
    Measure("eval/largest_share", "share", "its share of that play"),
    Measure("eval/share_in_sampling", "share", "share of the same bin in sampling"),
    Measure("eval/entropy", "0–1", "entropy of that play's histogram ÷ ln(bins)"),
    Measure("eval/gap", "share", "total variation between both histograms, in thirds for a box"),
    Measure("eval/idle_share", "share", "steps of that play in which nothing was executed"),
    Measure("eval/trade_share", "share", "steps of that play with a trade"),
    Measure("eval/reward_mean", "reward per step", "mean reward of that play"),
    Measure("eval/reward_error", "reward per step", "its standard error"),
    Measure("eval/idle_reward", "reward per step", "what doing nothing earns in the same episodes"),
    Measure("eval/largest_sleeve", "number", "sleeve that had most capital in that play"),
    Measure("eval/largest_sleeve_share", "share", "its mean share of all capital, cash included"),
    Measure("eval/effective_sleeves", "count", "1 ÷ sum of squares of the sleeves' mean shares"),
    Measure("eval/over_equal", "reward per step", "what that play earned over equal weight"),
    Measure("eval/over_equal_error", "reward per step", "its standard error over different bars"),
)
_REPORTED = (
    Measure("policy/normalised_entropy", "0–1", "entropy of the policy on the common scale"),
    Measure("value/explained_variance", "share", "variance of value targets the critic explains"),
    Measure("loss/gradient_norm", "norm", "largest gradient norm before clipping"),
    Measure("loss/policy", "loss", "loss of the policy"),
    Measure("loss/value", "loss", "loss of the critic"),
    Measure("loss/bad_losses", "count", "losses and norms that are NaN or infinite"),
    Measure("goal/success", "share", "environments whose last finished episode met its goal"),
    Measure("options/largest", "number", "option under which most steps were made"),
    Measure("options/largest_share", "share", "its share of the update's steps"),
    Measure("actors/largest_lag", "updates", "how far the slowest actor is behind"),
    Measure("population/distinct_share", "share", "different results among members"),
    Measure("curriculum/unpassed_episodes", "count", "episodes in a stage that is not passed"),
    Measure("curiosity/share", "share", "the bonus's part of what was paid"),
    Measure("objectives/largest_weight", "share", "mean weight of the objective that has most"),
    Measure("update/skipped", "count", "steps of the optimiser that the learner refused"),
    Measure(
        "market/turnover", "of equity per bar", "traded value, mean over steps within episodes"
    ),
)
MEASURES: tuple[Measure, ...] = (*_ROLLOUT, *_PLAYED, *_REPORTED)
MEASURE_NAMES: tuple[str, ...] = tuple(measure.name for measure in MEASURES)
PLAYED_NAMES: tuple[str, ...] = tuple(measure.name for measure in _PLAYED)


class Names(NamedTuple):
    """How agents, bins and terms are called."""

    agents: tuple[str, ...]
    bins: tuple[str, ...]
    terms: tuple[str, ...]
    options: tuple[str, ...] = ()
    sleeves: tuple[str, ...] = ()
    """What weights are of; none where actions are no weights."""


def names_of(task: Task) -> Names:
    """Read the names of a task; bins of numbers are called by their middle."""
    action = task.action
    if action.kind != "discrete":
        width = (action.high - action.low) / BOX_BINS
        middles = (action.low + (place + 0.5) * width for place in range(BOX_BINS))
        what = "weights" if action.kind == "simplex" else "actions"
        bins = tuple(f"{what} near {middle:+.2f}" for middle in middles)
    elif len(task.code_names) == action.n_actions:
        bins = task.code_names
    else:
        bins = tuple(f"action {code}" for code in range(action.n_actions))
    options: tuple[str, ...] = getattr(getattr(task, "options", None), "names", ())
    return Names(task.agent_names, bins, task.term_names, options, _sleeves_of(task))


def _sleeves_of(task: Task) -> tuple[str, ...]:
    """Return what a task's weights are of, without what is left over."""
    if task.action.kind != "simplex":
        return ()
    numbered = tuple(str(place) for place in range(task.action.n_components - 1))
    symbols: tuple[str, ...] = getattr(getattr(task, "book", None), "symbols", numbered)
    return symbols


@dataclass(frozen=True)
class History:
    """U updates of N agents."""

    measures: Mapping[str, Tensor]
    """Name of `MEASURES` → (U, N) float64."""
    steps: Tensor
    """(U,) int64, environment steps per agent."""
    updates: Tensor
    """(U,) int64, numbers of the updates."""

    def __getitem__(self, name: str) -> Tensor:
        """Return a measure, (U, N)."""
        return self.measures[name]

    def now(self, name: str, agent: int) -> float:
        """Return the newest number of one agent."""
        return float(self.measures[name][-1, agent])

    def is_stopped(self, config: GuardConfig) -> Tensor:
        """Return where what agents select is mostly not carried out, (U, N) bool."""
        return self["rollout/unexecuted_share"] > config.unexecuted

    def policy_pays(self) -> Tensor:
        """Return where the deterministic policy earns more than doing nothing, (U, N) bool."""
        gain = self["eval/reward_mean"] - self["eval/idle_reward"]
        return gain > STANDARD_ERRORS * self["eval/reward_error"]

    def noise_pays(self) -> Tensor:
        """Return where exploring earns more than the policy without noise and doing nothing."""
        earned = torch.maximum(self["eval/reward_mean"], self["eval/idle_reward"])
        error = torch.hypot(self["rollout/reward_error"], self["eval/reward_error"])
        return self["rollout/reward_mean"] - earned > STANDARD_ERRORS * error

    def is_resting(self, config: GuardConfig, share: float) -> Tensor:
        """Return where an agent does nothing, by choice and at no cost to itself, (U, N) bool.

        Its deterministic policy does nothing in at least `share` of the steps; what it selects is
        carried out, so nothing keeps it from trading; and its own exploration finds nothing that
        earns more. Without a deterministic play there is no excuse.
        """
        if not config.flat_is_allowed:
            return torch.zeros_like(self["rollout/idle_share"], dtype=torch.bool)
        idle = self["eval/idle_share"] >= share
        return idle & ~self.is_stopped(config) & ~self.noise_pays()

    def is_decided(self, config: GuardConfig) -> Tensor:
        """Return where deterministic actions differ from state to state, (U, N) bool."""
        return self["eval/entropy"] >= config.varied
