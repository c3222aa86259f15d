"""What the option that each environment follows has come to so far."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.hierarchical_sac.kept_steps import goal_parts
from tradingbot.learning.replay import Transitions
from tradingbot.learning.task import Observation, TaskStep, TransitionExtras
from tradingbot.networks.options import OptionRun, Options, is_over

_NO_GOALS = TransitionExtras()


class OptionCourse:
    """Runs of N agents in B environments, where they began and what they earned, discounted.

    `parts` is its state, by name, (N, B) or (N, B, P) each.
    """

    def __init__(self, seen: Observation) -> None:
        """Begin with nothing chosen anywhere."""
        run, reward = OptionRun.none(seen.row), torch.zeros(seen.row.shape, device=seen.row.device)
        self.parts: dict[str, Tensor] = {
            "option": run.option,
            "elapsed": run.elapsed,
            "mark": run.mark,
            "is_new": torch.ones_like(seen.row, dtype=torch.bool),
            "row": seen.row.clone(),
            "private": seen.private.clone(),
            "reward": reward,
            "discount": reward + 1.0,
        }

    @property
    def run(self) -> OptionRun:
        """The options that are followed."""
        return OptionRun(*(self.parts[name] for name in OptionRun._fields))

    @property
    def is_new(self) -> Tensor:
        """(N, B) bool, where an option must be chosen next."""
        return self.parts["is_new"]

    def begin(self, seen: Observation, run: OptionRun) -> None:
        """Keep what is seen where options begin."""
        parts, new = self.parts, self.is_new
        self._set(run)
        parts["row"] = torch.where(new, seen.row, parts["row"])
        parts["private"] = torch.where(new[..., None], seen.private, parts["private"])
        parts["reward"] = torch.where(new, 0.0, parts["reward"])
        parts["discount"] = torch.where(new, 1.0, parts["discount"])

    def advance(self, options: Options, made: TaskStep, discount: float, done: Tensor) -> Tensor:
        """Add a step's reward; return where options end by it (N, B): of themselves or by time.

        With the episode every option ends. The reward of step i of an option counts γ^i.
        """
        parts = self.parts
        parts["reward"] = parts["reward"] + parts["discount"] * made.reward
        parts["discount"] = parts["discount"] * discount
        self._set(self.run.later())
        return is_over(options, made.final_row, made.final_private, self.run) | done

    def transitions(self, made: TaskStep, goals: TransitionExtras = _NO_GOALS) -> Transitions:
        """Return each option so far as one step that took a while, with what is kept of goals."""
        parts = self.parts
        return Transitions(
            parts["row"],
            parts["private"],
            parts["option"].to(made.reward.dtype),
            parts["reward"],
            (~made.terminated).to(made.reward.dtype),
            made.final_row,
            made.final_private,
            duration=parts["elapsed"].to(made.reward.dtype),
            discount=parts["discount"],
            **goal_parts(made, goals),
        )

    def finish(self, ended: Tensor) -> None:
        """Let new options be chosen where the old ones ended (N, B)."""
        self.parts["is_new"] = ended

    def _set(self, run: OptionRun) -> None:
        self.parts |= dict(zip(OptionRun._fields, run, strict=True))
