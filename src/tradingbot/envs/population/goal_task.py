"""A population whose agents are asked for a return and a drawdown: `GoalEnv`, as tensors.

The goal of an episode follows from seed, lane and number of the episode. Agents see it beside
their account; the reward is what was achieved against it, and nothing else.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.envs.population.task import PRIVATE_NAMES, PopulationTask
from tradingbot.learning.hindsight import relabel_goals
from tradingbot.learning.replay import Transitions
from tradingbot.learning.task import Observation, TaskState, TaskStep
from tradingbot.market.compiled import PackedStep
from tradingbot.market.episodes import mix
from tradingbot.market.goals import (
    GOAL_INPUTS,
    GOAL_READS,
    AskedGoal,
    GoalSettings,
    goal_inputs,
    goal_reward,
    meets_goal,
)
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import PackedAccount, unpack

_RETURN, _DRAWDOWN = map(PRIVATE_NAMES.index, GOAL_READS)
_SALTS = (0x52455455, 0x44524157)
"""Of the draws of returns and of drawdowns, apart from those of starts."""
_DRAWS = 2.0**32
_NO_EPISODE = -1.0


class GoalTask(PopulationTask):
    """N agents in B environments each, with a goal for every episode; a `learning.task.Task`.

    The state is the packed account and (4, N · B): return desired, drawdown desired, deepest
    drawdown so far, and whether the last finished episode met its goal (1, 0; −1 before one).
    """

    carries = replace(PopulationTask.carries, n_goal=2, achieved=True)

    def __init__(
        self, task: PopulationTask, settings: GoalSettings, asked: AskedGoal | None = None
    ) -> None:
        """Take a task as it is, and add goals.

        Args:
            task: Accounts, costs, starts and what is seen of them; its reward is not paid.
            settings: Which goals, which reward.
            asked: The goal of every episode, as in a backtest; drawn by default.
        """
        vars(self).update(vars(task))
        self.resets, self.settings, self._asked = task.resets, settings, asked
        self._account_names = task.private_names
        self.n_own = task.n_private
        self.private_names = (*task.private_names, *GOAL_INPUTS)
        self.n_private = len(self.private_names)
        self.term_names = ("goal",)
        self._units = settings.return_range_frac[1], settings.drawdown_range_frac[1]

    def dress(self, task: PopulationTask) -> PopulationTask:
        """Show in another task what this one shows, with the goal that agents are asked for."""
        shown = task.showing(*self._account_names)
        return GoalTask(shown, self.settings, self.settings.asked)

    def show_private(self, numbers: Tensor) -> Tensor:
        """Lay (18, N · B) out as (N, B, P), with the goal that agents are asked for."""
        inputs = self.settings.asked.inputs(numbers[_RETURN], numbers[_DRAWDOWN])
        return self._beside(super().show_private(numbers), inputs)

    def observe(self, state: TaskState) -> Observation:
        """See a state, and its goals."""
        account = unpack(PackedAccount(*state[:2]))
        numbers = observe_accounts(self.config.rules, account)
        seen = super().observe(state)
        return seen._replace(private=self._beside(seen.private, self._inputs(state[2], numbers)))

    def metrics(self, state: TaskState) -> dict[str, Tensor]:
        """Tell how often goals were met, (N,): see docs/environments/goal.md."""
        met = self._by_agent(state[2][3])
        known = (met != _NO_EPISODE).sum(1).clamp_min(1)
        return {"goal/success": (met == 1.0).sum(1) / known}

    def _open(self) -> TaskState:
        account = super()._open()
        episode = PackedAccount(*account).episode
        goal = self._draw(episode)
        return (*account, torch.stack([*goal, 0.0 * goal[0], 0.0 * goal[0] + _NO_EPISODE]))

    def _named(self, before: TaskState, action: Tensor, made: PackedStep) -> TaskStep:
        named = super()._named(before, action, made)
        ended, goal = made.terminated | made.truncated, before[2]
        final = made.final_private
        worst = torch.maximum(goal[2], final[_DRAWDOWN].detach().to(goal.dtype))
        achieved = torch.stack([final[_RETURN], torch.maximum(goal[2], final[_DRAWDOWN])], -1)
        desired = goal[:2].T
        reward = self._by_agent(goal_reward(self.settings, achieved, desired).float())
        is_met = meets_goal(achieved, desired, self.settings.tolerance_frac)
        met = torch.where(ended, is_met.to(goal.dtype), goal[3])
        drawn = self._draw(made.account.episode) if self.resets else goal[:2]
        again = ended & self.resets
        after = torch.stack(
            [
                *(torch.where(again, new, old) for new, old in zip(drawn, goal[:2], strict=True)),
                torch.where(again, 0.0, worst),
                met,
            ]
        ).detach()
        seen = named.observation
        private = self._beside(seen.private, self._inputs(after, made.private))
        return named._replace(
            state=(*named.state, after),
            observation=seen._replace(private=private),
            final_private=self._beside(named.final_private, self._inputs(goal, final)),
            reward=reward,
            terms=reward[None],
            goal=self._by_agent(goal[:2]).movedim(0, -1),
            achieved=self._by_agent(achieved.T.detach().float()).movedim(0, -1),
        )

    def require_relabelling(self) -> None:
        """Refuse hindsight where agents do not see what they have: goals are shown beside it.

        Raises:
            ConfigError: Naming the private number that is missing.
        """
        for name in GOAL_READS:
            if name not in self._account_names:
                raise ConfigError(
                    "agents must see their return and drawdown for goals to be relabelled",
                    was=f"no {name} among {', '.join(self._account_names)}",
                    where="task.private",
                    remedy=f"Add {name} to task.private, or leave task.private out",
                )

    def relabel(self, transitions: Transitions, goal: Tensor) -> Transitions:
        """Return transitions (N, M, …) as if `goal` (N, M, 2) had been aimed for.

        What agents see of the goal and what they are paid become those of the other goal.
        """

        def shown(private: Tensor) -> Tensor:
            now = [private[..., self._account_names.index(name)] for name in GOAL_READS]
            inputs = goal_inputs((goal[..., 0], goal[..., 1]), (now[0], now[1]), self._units)
            seen = private.new_empty((*private.shape[:-1], self.n_private))
            seen[..., : self.n_own] = private[..., : self.n_own]
            for column, each in enumerate(inputs, start=self.n_own):
                seen[..., column] = each
            return seen

        seen = transitions._replace(
            private=shown(transitions.private), final_private=shown(transitions.final_private)
        )
        return relabel_goals(seen, goal, self._reward_of)

    def _reward_of(self, transitions: Transitions) -> Tensor:
        assert transitions.achieved is not None
        assert transitions.goal is not None
        return self.goal_reward(transitions.achieved, transitions.goal)

    def goal_reward(self, achieved: Tensor, goal: Tensor) -> Tensor:
        """Return what goals (…, 2) pay where so much (…, 2) was reached, (…)."""
        reward: Tensor = goal_reward(self.settings, achieved, goal)
        return reward.float()

    def _inputs(self, goal: Tensor, numbers: Tensor) -> list[Tensor]:
        """Return what is seen of goals (4, N · B) by accounts with private numbers (18, N · B)."""
        now = numbers[_RETURN], numbers[_DRAWDOWN]
        return goal_inputs((goal[0], goal[1]), now, self._units)

    def _beside(self, private: Tensor, inputs: list[Tensor]) -> Tensor:
        """Put inputs (N · B,) beside private numbers (N, B, P)."""
        columns = [each.reshape(private.shape[:2]).to(private.dtype) for each in inputs]
        return torch.cat([private, torch.stack(columns, -1)], -1)

    def _draw(self, episode: Tensor) -> tuple[Tensor, Tensor]:
        """Return the goals (N · B,) of episodes: desired returns and drawdowns, float32."""
        if self._asked is not None:
            zero = torch.zeros(episode.shape, device=episode.device)
            return zero + self._asked.return_frac, zero + self._asked.drawdown_frac
        ranges = (self.settings.return_range_frac, self.settings.drawdown_range_frac)
        draws = []
        for salt, (low, high) in zip(_SALTS, ranges, strict=True):
            share = mix(mix(self.starts.key ^ salt) + mix(episode.long() + 1)).double() / _DRAWS
            draws.append((low + (high - low) * share).float())
        return draws[0], draws[1]
