"""The section `environment` of a training configuration: what agents are trained in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import InstanceOf

from tradingbot.configuration.pipeline import ConfigSection
from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.market.curriculum.settings import CurriculumSettings
from tradingbot.market.goals import GoalSettings
from tradingbot.training.library_section import library_section

EnvironmentKind = Literal["population", "curriculum", "goal", "portfolio"]


@dataclass(frozen=True)
class JointSettings(CheckedFields):
    """How the agents of the sleeves learn with the master, by turns."""

    rate: float = bounded(0.0, "[0, 1]")
    """Learning rate of their own layers, of Adam; 0: they are frozen. Each is compared with its
    frozen self on the first half of validation after every turn, and rolled back where it lost."""
    every_updates: int = bounded(50, ">= 1")
    """Updates of the master between two turns of the agents."""
    updates: int = bounded(10, ">= 1")
    """Updates of the agents in a turn."""
    chunk_bars: int = bounded(32, ">= 1")
    """Bars of each, through which gradients flow back."""
    n_envs: int = bounded(8, ">= 1")
    """Accounts of each agent."""


@dataclass(frozen=True)
class PortfolioSettings(CheckedFields):
    """What trades the accounts that the portfolio's agent gives capital to, and what it sees."""

    sleeves: str = "buy_and_hold"
    """Rule of the package that trades every symbol's account, with its parameters: buy_and_hold,
    expert, flat, macd, momentum, momentum_quarter, random, sma_cross (sma_cross:fast=20,slow=100)
    or trend_follower; or `run:NAME`, the agents of a run on the same data, by the rules they were
    trained with, frozen unless `joint.rate` is above 0. Oracles, strategies of plugins and models
    are refused."""
    risk_aversion: float = bounded(0.0, "[0, inf)")
    """Weight of half the squared return of a bar, taken off the reward; log growth itself dislikes
    risk as if this were 1."""
    embedding_numbers: int = bounded(0, ">= 0")
    """Principal components, of the training part, through which the master sees how each sleeve's
    agent sees the market; 0: every number of it."""
    joint: JointSettings = field(default_factory=JointSettings)
    """Whether agents of a run learn with the master; they are frozen by default."""


class EnvironmentSection(ConfigSection):
    """What agents are trained in; they are validated, tested and backtested on the run's bars."""

    kind: EnvironmentKind = "population"
    """`population`: one account per symbol on the run's own bars. `curriculum`: easy generated
    markets first. `goal`: for a return and a drawdown that differ from episode to episode.
    `portfolio`: one agent that gives capital to accounts of all symbols. Only the section of the
    kind counts."""
    curriculum: Annotated[
        InstanceOf[CurriculumSettings],
        *library_section(CurriculumSettings, "environment.curriculum"),
    ] = CurriculumSettings()
    """Fields of `market.curriculum.settings.CurriculumSettings`."""
    goal: Annotated[
        InstanceOf[GoalSettings], *library_section(GoalSettings, "environment.goal")
    ] = GoalSettings()
    """Fields of `market.goals.GoalSettings`."""
    portfolio: Annotated[
        InstanceOf[PortfolioSettings], *library_section(PortfolioSettings, "environment.portfolio")
    ] = PortfolioSettings()
    """Fields of `PortfolioSettings`."""

    def as_mapping(self) -> dict[str, Any]:
        """Return kind and settings as plain values; nothing for the population, which has none."""
        if self.kind == "population":
            return {}
        return {"kind": self.kind, self.kind: self.model_dump(mode="json")[self.kind]}
