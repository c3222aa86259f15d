"""Progress of N agents through a curriculum, as tensors: each agent by its own episodes.

With one environment per agent this is `progress_after` of every agent. Where episodes of several
environments end in the same step, all of them count before a stage is passed or a level moves; an
episode that was begun in an earlier stage counts for none.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.market.curriculum.difficulty import DifficultyState
from tradingbot.market.curriculum.settings import CurriculumSettings

_UNKNOWN = -1.0
_FIELDS = 9
"""Of `AgentProgress`, before the recent episodes."""
_ROUNDING = 1e-9  # a share of successes that is met but for rounding is met


class AgentProgress(NamedTuple):
    """Where N agents stand, (N,) float64 each; packed (9 + R, N · B), the same in all environments.

    R is `PassRule.recent_episodes`.
    """

    stage: Tensor
    """Stages passed: index of the one that is learned; their number on the run's own bars."""
    episodes: Tensor
    """Finished in this stage."""
    completed: Tensor
    """1 where every stage was passed."""
    level: Tensor
    """Difficulty, 0 easiest, 1 hardest."""
    step: Tensor
    last_move: Tensor
    outcomes: Tensor
    """Episodes since the last decision about the level."""
    return_sum: Tensor
    """Of their returns."""
    win_rate_sum: Tensor
    """Of their win rates."""
    recent: Tensor
    """(R, N) 1 success, 0 failure, the newest last; −1 before there was one."""

    @property
    def success_frac(self) -> Tensor:
        """(N,) share of successes among the recent episodes; 0 without one."""
        known = (self.recent != _UNKNOWN).sum(0).clamp_min(1)
        return (self.recent == 1.0).double().sum(0) / known


def begin_progress(settings: CurriculumSettings, n_agents: int, n_envs: int) -> Tensor:
    """Return the packed progress of agents that have played nothing yet."""
    zero = torch.zeros(n_agents, dtype=torch.float64)
    recent = zero.new_full((settings.rule.recent_episodes, n_agents), _UNKNOWN)
    begun = AgentProgress._make([zero] * _FIELDS + [recent])._replace(
        step=zero + DifficultyState().step
    )
    return pack_progress(begun, n_envs)


def pack_progress(progress: AgentProgress, n_envs: int) -> Tensor:
    """Lay progress out as (9 + R, N · B)."""
    rows = torch.cat((torch.stack(progress[:-1]), progress.recent))
    return rows[..., None].expand(*rows.shape, n_envs).flatten(1)


def unpack_progress(packed: Tensor, n_envs: int) -> AgentProgress:
    """See packed progress as fields."""
    rows = packed.view(len(packed), -1, n_envs)[..., 0]
    return AgentProgress._make([*rows[:_FIELDS], rows[_FIELDS:]])


def advance_progress(
    settings: CurriculumSettings,
    now: AgentProgress,
    counts: Tensor,
    success: Tensor,
    return_frac: Tensor,
    win_rate_frac: Tensor,
) -> AgentProgress:
    """Take the episodes of one step into account.

    Args:
        settings: Of the curriculum.
        now: Where agents stand.
        counts: (N, B) bool, an episode of the agent's stage ended.
        success: (N, B) bool, it met the stage's limits; not read elsewhere.
        return_frac: (N, B) what it returned; not read elsewhere.
        win_rate_frac: (N, B) its win rate; not read elsewhere.
    """
    rule, n_stages = settings.rule, len(settings.stages)
    ended = counts.sum(1)
    known = torch.cat((now.recent.T != _UNKNOWN, counts), 1)
    values = torch.cat((now.recent.T, success.double()), 1).masked_fill(~known, _UNKNOWN)
    order = torch.argsort(known.byte(), dim=1, stable=True)  # what is not known first
    recent = values.gather(1, order)[:, -rule.recent_episodes :].T
    episodes = now.episodes + ended
    won = (recent == 1.0).sum(0) >= rule.min_success_frac * rule.recent_episodes - _ROUNDING
    passed = won & (episodes >= rule.min_episodes) & (ended > 0) & (now.stage < n_stages)
    after = now._replace(episodes=episodes, recent=recent)
    if settings.adaptive:
        sums = [torch.where(counts, part, 0.0).sum(1) for part in (return_frac, win_rate_frac)]
        after = _adapt_level(settings, after, ended, *sums)
    is_last = passed & (now.stage == n_stages - 1)
    after = after._replace(completed=torch.where(is_last, 1.0, after.completed))
    moves = passed if settings.then_own_bars else passed & ~is_last
    fresh = unpack_progress(begin_progress(settings, len(ended), 1).to(recent.device), 1)
    fresh = fresh._replace(stage=now.stage + 1.0, completed=after.completed)
    return AgentProgress(*(torch.where(moves, a, b) for a, b in zip(fresh, after, strict=True)))


def _adapt_level(
    settings: CurriculumSettings, now: AgentProgress, ended: Tensor, earned: Tensor, won: Tensor
) -> AgentProgress:
    """Move the level of every agent that has enough episodes: `difficulty.adapt`, as tensors."""
    rules = settings.difficulty
    outcomes = now.outcomes + ended
    return_sum, win_rate_sum = now.return_sum + earned, now.win_rate_sum + won
    mean, rate = (part / outcomes.clamp_min(1.0) for part in (return_sum, win_rate_sum))
    rises = (mean >= rules.raise_return_frac) & (rate >= rules.raise_win_rate_frac)
    falls = (mean <= rules.lower_return_frac) | (rate <= rules.lower_win_rate_frac)
    move = rises.double() - falls.double()
    decides = outcomes >= rules.episodes_per_decision
    turned = torch.where(move == now.last_move, 2.0, 0.5)
    step = now.step * torch.where(now.last_move == 0.0, 1.0, turned)
    step = step.clamp(rules.smallest_step, rules.largest_step)
    moves = decides & (move != 0.0)
    return now._replace(
        level=torch.where(moves, (now.level + move * step).clamp(0.0, 1.0), now.level),
        step=torch.where(moves, step, now.step),
        last_move=torch.where(moves, move, now.last_move),
        outcomes=torch.where(decides, 0.0, outcomes),
        return_sum=torch.where(decides, 0.0, return_sum),
        win_rate_sum=torch.where(decides, 0.0, win_rate_sum),
    )
