"""What a run was trained in, in words: a goal and whether it was met, what a portfolio does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tradingbot.domain.plain_values import read_record
from tradingbot.evaluation.performance.record import PartPerformance
from tradingbot.market.goals import GoalSettings, meets_goal
from tradingbot.training.environment import PortfolioSettings


def describe_environment(
    environment: Mapping[str, Any], parts: Sequence[PartPerformance] = ()
) -> str:
    """Say what agents were trained in.

    Args:
        environment: As `EnvironmentSection.as_mapping` writes it; empty for a population.
        parts: Validation and test, where the run has ended.
    """
    kind: str = environment.get("kind", "population")
    settings = environment.get(kind, {})
    if kind == "goal":
        asked = read_record(GoalSettings, settings, name="environment.goal")
        return f"goal: {describe_goal(asked, parts)}"
    if kind == "portfolio":
        rule = read_record(PortfolioSettings, settings, name="environment.portfolio").sleeves
        return (
            f"portfolio: one agent sets the weights of all symbols' sleeves, each traded by {rule},"
            " and of cash"
        )
    return kind


def describe_goal(asked: GoalSettings, parts: Sequence[PartPerformance] = ()) -> str:
    """Say which goal agents are asked for outside of training, and in which share they met it.

    The account of an agent over all bars of a part is one episode.
    """
    text = (
        f"asked for a return of at least {asked.asked_return_frac:.1%} and a drawdown of at most "
        f"{asked.asked_drawdown_frac:.1%}"
    )
    met = [f"{_share(asked, part)} on {part.part}" for part in parts if part.agents]
    return f"{text}; met in {', '.join(met)} (one episode per agent and part)" if met else text


def _share(asked: GoalSettings, part: PartPerformance) -> str:
    achieved = np.array([(row.total_return_frac, row.max_drawdown_frac) for row in part.agents])
    desired = np.array([asked.asked_return_frac, asked.asked_drawdown_frac])
    met = int(meets_goal(achieved, desired, asked.tolerance_frac).sum())
    return f"{met} of {len(achieved)} episodes ({met / len(achieved):.0%})"
