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
from tradingbot.learning.playing import histogram_entropy
from tradingbot.learning.task import ActionSpec, Task


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
    Measure("rollout/trade_share", "share", "steps with a trade"),
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
)
_REPORTED = (
    Measure("policy/normalised_entropy", "0–1", "entropy of the policy on the common scale"),
    Measure("value/explained_variance", "share", "variance of value targets the critic explains"),
    Measure("loss/gradient_norm", "norm", "largest gradient norm before clipping"),
    Measure("loss/policy", "loss", "loss of the policy"),
    Measure("loss/value", "loss", "loss of the critic"),
    Measure("loss/bad_losses", "count", "losses and norms that are NaN or infinite"),
    Measure("update/skipped", "count", "steps of the optimiser that the learner refused"),
    Measure("market/turnover", "of equity per bar", "traded value, where the task tells it"),
)
MEASURES: tuple[Measure, ...] = (*_ROLLOUT, *_PLAYED, *_REPORTED)
MEASURE_NAMES: tuple[str, ...] = tuple(measure.name for measure in MEASURES)
PLAYED_NAMES: tuple[str, ...] = tuple(measure.name for measure in _PLAYED)


class Names(NamedTuple):
    """How agents, bins and terms are called."""

    agents: tuple[str, ...]
    bins: tuple[str, ...]
    terms: tuple[str, ...]


def names_of(task: Task) -> Names:
    """Read the names of a task; bins of numbers are called by their middle."""
    action = task.action
    if action.kind == "box":
        width = (action.high - action.low) / BOX_BINS
        middles = (action.low + (place + 0.5) * width for place in range(BOX_BINS))
        bins = tuple(f"actions near {middle:+.2f}" for middle in middles)
    elif len(task.code_names) == action.n_actions:
        bins = task.code_names
    else:
        bins = tuple(f"action {code}" for code in range(action.n_actions))
    return Names(task.agent_names, bins, task.term_names)


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


def measure_counts(counts: Tensor, prefix: str) -> dict[str, Tensor]:
    """Say of counts (N, bins) which bin is largest, its share and the entropy, (N,) each."""
    total = counts.sum(1)
    shares = counts / total.clamp_min(1.0)[:, None]
    largest, which = shares.max(1)
    unknown = total == 0.0
    return {
        f"{prefix}/largest_code": which.double().masked_fill(unknown, torch.nan),
        f"{prefix}/largest_share": largest.masked_fill(unknown, torch.nan),
        f"{prefix}/entropy": histogram_entropy(shares).masked_fill(unknown, torch.nan),
    }


def compare_counts(played: Tensor, sampled: Tensor, action: ActionSpec) -> dict[str, Tensor]:
    """Compare the counts (N, bins) of deterministic and sampled actions, (N,) each.

    A Gaussian always fills more bins than its mean does. Numbers are therefore compared by thirds:
    low, middle, high.
    """
    shares, others = (counts / counts.sum(1, keepdim=True) for counts in (played, sampled))
    which = shares.argmax(1, keepdim=True)
    if action.kind == "box":
        shares, others = _thirds(shares), _thirds(others)
        which = (which * 3) // BOX_BINS
    return {
        "eval/share_in_sampling": others.gather(1, which).squeeze(1),
        "eval/gap": 0.5 * (shares - others).abs().sum(1),
    }


def _thirds(shares: Tensor) -> Tensor:
    place = torch.arange(shares.shape[1]) * 3 // shares.shape[1]
    return torch.zeros(len(shares), 3, dtype=shares.dtype).index_add_(1, place, shares)


_ERRORS = 2.0
"""Standard errors that count as a difference."""


def is_stopped(history: History, config: GuardConfig) -> Tensor:
    """Return where what agents select is mostly not carried out, (U, N) bool."""
    return history["rollout/unexecuted_share"] > config.unexecuted


def policy_pays(history: History) -> Tensor:
    """Return where the deterministic policy earns more than doing nothing would, (U, N) bool."""
    gain = history["eval/reward_mean"] - history["eval/idle_reward"]
    return gain > _ERRORS * history["eval/reward_error"]


def noise_pays(history: History) -> Tensor:
    """Return where exploring earns more than the policy without noise, and than doing nothing."""
    earned = torch.maximum(history["eval/reward_mean"], history["eval/idle_reward"])
    error = torch.hypot(history["rollout/reward_error"], history["eval/reward_error"])
    return history["rollout/reward_mean"] - earned > _ERRORS * error


def is_resting(history: History, config: GuardConfig, share: float) -> Tensor:
    """Return where an agent does nothing, by choice and at no cost to itself, (U, N) bool.

    Its deterministic policy does nothing in at least `share` of the steps; what it selects is
    carried out, so nothing keeps it from trading; and its own exploration finds nothing that earns
    more. Without a deterministic play there is no excuse.
    """
    if not config.flat_is_allowed:
        return torch.zeros_like(history["rollout/idle_share"], dtype=torch.bool)
    idle = history["eval/idle_share"] >= share
    return idle & ~is_stopped(history, config) & ~noise_pays(history)


def is_decided(history: History, config: GuardConfig) -> Tensor:
    """Return where deterministic actions differ from state to state, (U, N) bool."""
    return history["eval/entropy"] >= config.varied
