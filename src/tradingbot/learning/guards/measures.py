"""What is measured of every agent at every update: pure functions of experience, on its device.

A measure that cannot be known is NaN, and no rule takes NaN for a sign. What follows from several
updates together (shares of the last selections) is worked out by the recorder.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.learner import Experience, Metrics
from tradingbot.learning.playing import PlayResult, bins_of, histogram_entropy
from tradingbot.learning.task import ActionSpec

BOX_BINS = 11
"""Bins of equal width over [low, high]; an odd number, so that one of them is the middle."""
MIN_STAY_STEPS = 3
"""Steps in a row on one side that count as meant: an environment may smooth single ones away."""
_GRADIENT = ("gradient_norm", "grad/norm")
"""Parts of the names under which learners report gradient norms before clipping."""


_TAKEN = (
    *("goal/success", "options/largest", "options/largest_share"),
    *("actors/largest_lag", "population/distinct_share", "curriculum/unpassed_episodes"),
    *("curiosity/share", "objectives/largest_weight"),
)
"""What some tasks, learners and transforms tell, taken as it is; unknown of all others."""


class Runs(NamedTuple):
    """Trades in a row that each environment is in the middle of."""

    code: Tensor
    """(N, B) int64, of the last step; −1 where it did not trade."""
    length: Tensor
    """(N, B) int64, identical trades up to the last step, with it."""


def no_runs(n_agents: int, n_envs: int, device: torch.device) -> Runs:
    """Return what holds before the first step."""
    shape = (n_agents, n_envs)
    return Runs(
        torch.full(shape, -1, dtype=torch.int64, device=device),
        torch.zeros(shape, dtype=torch.int64, device=device),
    )


def n_bins(action: ActionSpec) -> int:
    """Return the number of bins of a histogram: codes have one each."""
    return action.n_actions if action.kind == "discrete" else BOX_BINS


def last_selections(selected: Tensor, window: int) -> Tensor:
    """Return the last steps of selections (S, N, B) that make up a window, S' ≤ S whole steps."""
    n_steps = -(-window // selected.shape[2])
    return selected[-n_steps:]


def run_lengths(experience: Experience, action: ActionSpec, runs: Runs) -> tuple[Tensor, Runs]:
    """Return at every step how many identical trades in a row it ends, (S, N, B); 0 without one.

    Trades are identical if their code is, and where numbers are selected also their bin. A step
    without a trade ends a run.

    Args:
        experience: Of one update.
        action: What actions are.
        runs: Where the steps before these left off.
    """
    code, traded = experience.executed.long(), experience.traded
    if action.kind != "discrete":
        bins = bins_of(experience.selected, action, BOX_BINS)
        for component in bins.unbind(-1) if action.n_components else (bins,):
            code = code * BOX_BINS + component
    code = torch.where(traded, code, -1)
    before = torch.cat((runs.code[None], code[:-1]))
    step = torch.arange(len(code), device=code.device)[:, None, None]
    # Number of the step that began the run; the run carried over began before step 0.
    began = torch.where((code == before) & traded, -runs.length[None], step)
    length = torch.where(traded, step - began.cummax(0).values + 1, 0)
    return length, Runs(code[-1], length[-1])


def measure_experience(
    experience: Experience, action: ActionSpec, lengths: Tensor, *, repeats: int
) -> dict[str, Tensor]:
    """Measure what agents did and earned, (N,) float64 each.

    Args:
        experience: Of one update.
        action: What actions are.
        lengths: (S, N, B) of `run_lengths`.
        repeats: Identical trades in a row that are in order.
    """
    reward = experience.reward.double()
    finite = reward.isfinite()
    clean = torch.where(finite, reward, 0.0)
    count = finite.sum((0, 2)).clamp_min(1)
    mean = clean.sum((0, 2)) / count
    square = clean.square().sum((0, 2)) / count
    largest_term, term_share, n_terms = measure_terms(experience.terms)
    return {
        "rollout/idle_share": (experience.executed == 0).double().mean((0, 2)),
        "rollout/unexecuted_share": unexecuted_share(experience, action),
        "rollout/longest_run": lengths.amax((0, 2)).double(),
        "rollout/repeat_share": (lengths > repeats).double().mean((0, 2)),
        "rollout/voluntary_share": voluntary_share(experience),
        "market/turnover": _mean_turnover(experience),
        "rollout/reward_mean": mean,
        "rollout/reward_error": ((square - mean.square()).clamp_min(0.0) / count).sqrt(),
        "rollout/reward_scale": square.sqrt(),
        "rollout/reward_deviation": (square - mean.square()).clamp_min(0.0).sqrt(),
        "rollout/largest_term": largest_term,
        "rollout/largest_term_share": term_share,
        "rollout/active_terms": n_terms,
        "rollout/bad_rewards": (~finite).double().sum((0, 2)),
        "rollout/bad_actions": (~experience.selected.flatten(2).isfinite()).double().sum((0, 2)),
    }


def voluntary_share(experience: Experience) -> Tensor:
    """Return the share of steps with a trade that was asked for, (N,).

    What a stop or a limit of the account closes where nothing is asked for is no merit of an agent.
    """
    return (experience.traded & (experience.executed != 0)).double().mean((0, 2))


def _mean_turnover(experience: Experience) -> Tensor:
    """Return the mean turnover of steps within an episode, (N,); NaN where the task tells none."""
    if not experience.turnover.numel():
        return torch.full_like(experience.reward[0, :, 0], torch.nan, dtype=torch.float64)
    turnover = experience.turnover.double()
    within = turnover >= 0.0
    return torch.where(within, turnover, 0.0).sum((0, 2)) / within.sum((0, 2))


def measure_played(played: PlayResult) -> dict[str, Tensor]:
    """Measure a deterministic play, (N,) float64 each."""
    reward = played.reward.double()
    count = reward.shape[0] * reward.shape[2]
    return {
        "eval/idle_share": (played.executed == 0).double().mean((0, 2)),
        "eval/trade_share": played.traded.double().mean((0, 2)),
        "eval/reward_mean": reward.mean((0, 2)),
        "eval/reward_error": reward.var((0, 2), correction=0).div(count).sqrt(),
    }


def measure_metrics(metrics: Metrics, n_agents: int, device: torch.device) -> dict[str, Tensor]:
    """Take over what a learner reports, (N,) float64 each; NaN where it does not."""
    named_norms = [name for name in metrics if any(part in name for part in _GRADIENT)]
    watched = {*named_norms, *(name for name in metrics if name.startswith("loss/"))}
    unknown = torch.full((n_agents,), torch.nan, dtype=torch.float64, device=device)

    def taken(name: str) -> Tensor:
        found = metrics.get(name)
        return unknown if found is None else found.detach().to(unknown).expand(n_agents)

    norms = [taken(name) for name in named_norms]
    largest = torch.stack(norms).amax(0) if norms else unknown
    bad = torch.zeros(n_agents, dtype=torch.float64, device=device)
    for name in sorted(watched):
        bad = bad + (~taken(name).isfinite()).double()
    return {
        "policy/normalised_entropy": taken("policy/normalised_entropy"),
        "value/explained_variance": taken("value/explained_variance"),
        "loss/gradient_norm": largest,
        "loss/policy": taken("loss/policy"),
        "loss/value": taken("loss/value"),
        "loss/bad_losses": bad,
        **{name: taken(name) for name in _TAKEN},
        "update/skipped": taken("update/skipped").nan_to_num(0.0),
    }


def measure_terms(terms: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return number and share of the largest of terms (K, N, B), and how many are not 0, (N,) each.

    Shares are of the sizes summed over environments, so that gain and loss do not cancel.
    """
    sizes = terms.double().nan_to_num(0.0, 0.0, 0.0).abs().sum(-1)
    total = sizes.sum(0)
    largest, which = sizes.max(0)
    share = torch.where(total > 0.0, largest / total.clamp_min(1e-300), torch.nan)
    return which.double(), share, (sizes > 0.0).double().sum(0)


def unexecuted_share(experience: Experience, action: ActionSpec) -> Tensor:
    """Return the share of selections that were not carried out, (N,).

    Codes: what was executed is another code. Numbers: see `ignored_reversals`; that nothing is done
    about a single number tells nothing, since there may be nothing to do: an empty account cannot
    sell, a full one cannot buy, and small numbers mean "stay".
    """
    selected, executed = experience.selected, experience.executed
    if action.kind == "discrete":
        return (selected != executed).double().mean((0, 2))
    if action.n_components:  # each is a number of its own about which something can be done
        selected = selected.flatten(2)
        executed = executed.repeat_interleave(action.n_components, dim=2)
    up, down = (ignored_reversals(selected, executed, action, to=side) for side in (1, -1))
    # Ends of episodes undo what was done, so that one direction alone may have nothing to do.
    return torch.fmin(up, down)


def ignored_reversals(selected: Tensor, executed: Tensor, action: ActionSpec, *, to: int) -> Tensor:
    """Return the share of reversals to one side about which nothing was done, (N,).

    A reversal is a stay of `MIN_STAY_STEPS` in one outer third of the range (`to` = 1 upper, −1
    lower) after such a stay in the other. Whatever an account held before, one of both was
    something to do. NaN where there was no reversal.

    Args:
        selected: (S, N, B) numbers.
        executed: (S, N, B) codes, 0 where nothing was done.
        action: Its range.
        to: The side that is gone to.
    """
    place = (selected - action.low) / (action.high - action.low)
    ends = place >= 2.0 / 3.0, place <= 1.0 / 3.0
    here, there = (_ends_of_stays(end) for end in (ends if to > 0 else ends[::-1]))
    step = torch.arange(len(selected), device=selected.device)[:, None, None]
    latest_there, latest_deed = there.cummax(0).values, _steps(executed != 0).cummax(0).values
    before = here.cummax(0).values.roll(1, 0)
    before[0] = -1
    reversed_ = (here == step) & (latest_there > before)
    count = reversed_.double().sum((0, 2))
    ignored = (reversed_ & (latest_deed <= latest_there)).double().sum((0, 2))
    return torch.where(count > 0.0, ignored / count.clamp_min(1.0), torch.nan)


def _ends_of_stays(inside: Tensor) -> Tensor:
    """Return the step's own number where it ends a stay (S, N, B), else −1."""
    stays = inside.clone()
    for lag in range(1, MIN_STAY_STEPS):
        stays[lag:] &= inside[:-lag]
        stays[:lag] = False
    return _steps(stays)


def _steps(marked: Tensor) -> Tensor:
    step = torch.arange(len(marked), device=marked.device)[:, None, None]
    return torch.where(marked, step, -1)


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
