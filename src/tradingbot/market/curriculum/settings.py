"""The curriculum of a training: stages, when they are passed, and what follows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.errors import ConfigError
from tradingbot.market.curriculum.difficulty import DifficultyRules
from tradingbot.market.curriculum.stages import STAGES, CurriculumStage, PassRule

MOST_MARKETS = 200
"""Markets that one training may generate."""


@dataclass(frozen=True)
class CurriculumSettings(CheckedFields):
    """How the agents of a training go from easy generated markets to the run's own bars."""

    stages: tuple[CurriculumStage, ...] = STAGES
    """Stages in order; each needs `name`, `trend_strength`, `vol_frac`, `cost_bps`, `min_sharpe`
    and `min_trades`, and may have `min_win_rate_frac` and `trend_persistence`."""
    rule: PassRule = field(default_factory=PassRule)
    markets_per_stage: int = bounded(2, "[1, 100]")
    """Markets that are generated for every stage (and level); they are played in turn."""
    episodes_per_market: int = bounded(25, ">= 1")
    """Episodes of an environment before it goes on to the next market of its stage."""
    adaptive: bool = False
    """Let difficulty move both ways within a stage, for each agent by its own successes."""
    levels: int = bounded(5, "[2, 41]")
    """Levels of difficulty, 0 to 1, that markets are generated for; the nearest is played."""
    difficulty: DifficultyRules = field(default_factory=DifficultyRules)
    then_own_bars: bool = True
    """Go on to the run's own training bars and costs when the last stage is passed; else the last
    stage goes on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(self.stages) >= 1, "stages must be one or more", self)
        markets = len(self.stages) * self.markets_per_stage * (self.levels if self.adaptive else 1)
        if markets > MOST_MARKETS:
            raise ConfigError(
                "stages × markets_per_stage (× levels, if adaptive) must be at most "
                f"{MOST_MARKETS}: each market takes as much memory as the run's own bars",
                was=markets,
                where="environment.curriculum.markets_per_stage",
                remedy="Lower markets_per_stage or levels",
            )
