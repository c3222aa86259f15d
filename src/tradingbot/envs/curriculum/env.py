"""The environment that walks the curriculum: each stage's own synthetic markets and costs.

What the stages are, when one is passed and how difficulty moves within one is in
`market.curriculum`. Here both are applied, between episodes only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, SupportsFloat

import gymnasium as gym

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.curriculum.harder_market import harder_world
from tradingbot.envs.single import RenderMode, TradingEnv
from tradingbot.envs.single.info import EpisodeSummary
from tradingbot.envs.spaces import Info, ResetOptions, observation_space
from tradingbot.envs.world import World
from tradingbot.market.costs import CostProfile
from tradingbot.market.curriculum.difficulty import (
    DifficultyRules,
    DifficultyState,
    Knobs,
    adapt,
    knobs_at,
)
from tradingbot.market.curriculum.stages import (
    BARS_PER_YEAR,
    STAGES,
    CurriculumStage,
    CurriculumState,
    EpisodeResult,
    PassRule,
    advance_stage,
    is_success,
)
from tradingbot.market.curriculum.stored_state import StoredState


@dataclass(frozen=True)
class CurriculumConfig(CheckedFields):
    """What the stages are applied to."""

    env: EnvConfig = field(default_factory=EnvConfig)
    """Rules, reward, observation; its costs are replaced by the stage's."""
    stages: tuple[CurriculumStage, ...] = STAGES
    rule: PassRule = field(default_factory=PassRule)
    difficulty: DifficultyRules | None = None
    """Let difficulty move within a stage; None leaves stages as they are."""
    n_symbols: int = bounded(2, ">= 1")
    """Symbols of a stage's market; each episode draws one."""
    n_bars: int = 1_500
    episodes_per_world: int = bounded(25, ">= 1")
    """Episodes after which a stage's market is generated anew: a remembered path passes nothing."""
    seed: int = 0
    """Root of the markets."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(isinstance(self.env, EnvConfig), "env must be an EnvConfig", self)
        require(len(self.stages) >= 1, "stages must be one or more", self)
        require(0 <= self.seed < 2**63, "seed must lie in [0, 2^63)", self)


@dataclass(frozen=True)
class Progress(StoredState):
    """Where a learner stands, all that is needed to go on."""

    curriculum: CurriculumState = field(default_factory=CurriculumState)
    difficulty: DifficultyState = field(default_factory=DifficultyState)
    title = "progress"


def episode_result(summary: EpisodeSummary) -> EpisodeResult:
    """Judge an episode by its summary, which every environment's last `info` holds."""
    return EpisodeResult(
        sharpe_annual=summary["sharpe"] * math.sqrt(BARS_PER_YEAR),
        win_rate_frac=summary["win_rate_frac"],
        n_trades=summary["n_trades"],
        return_frac=summary["return_frac"],
    )


def progress_after(config: CurriculumConfig, progress: Progress, result: EpisodeResult) -> Progress:
    """Take a finished episode into account; difficulty starts from its easiest in a new stage."""
    state = progress.curriculum
    after = advance_stage(state, result, config.stages, config.rule)
    if after.stage != state.stage:
        return Progress(after)
    if config.difficulty is None:
        return replace(progress, curriculum=after)
    moved = adapt(
        progress.difficulty,
        return_frac=result.return_frac,
        win_rate_frac=result.win_rate_frac,
        rules=config.difficulty,
    )
    return Progress(after, moved)


def stage_world(config: CurriculumConfig, progress: Progress) -> World:
    """Generate the market that the next episode is played in: a function of its arguments alone."""
    state = progress.curriculum
    stage = config.stages[state.stage]
    number = state.episodes // config.episodes_per_world
    seed = int(stream(config.seed, "curriculum", state.stage, number).integers(2**63))
    world = synthetic_world(
        "hidden_trend",
        n_symbols=config.n_symbols,
        n_bars=config.n_bars,
        seed=seed,
        **stage.market_params,
    )
    named = replace(world, label=f"stage {state.stage + 1} ({stage.name}): {world.label}")
    return harder_world(named, _knobs(config, progress), seed=seed)


def stage_costs(config: CurriculumConfig, progress: Progress) -> CostProfile:
    """Return what fills cost in the next episode: the stage's rates and the spread of the level."""
    costs = config.stages[progress.curriculum.stage].costs
    return replace(costs, spread_frac=_knobs(config, progress).spread_frac)


def _knobs(config: CurriculumConfig, progress: Progress) -> Knobs:
    """Return what is done to the bars: the stage's own, and on top what the level asks for."""
    own = config.stages[progress.curriculum.stage].knobs
    if config.difficulty is None:
        return own
    level = knobs_at(progress.difficulty.level, config.difficulty)
    stability = level.regime_stability + own.regime_stability - 1.0
    return replace(
        level,
        noise_frac=level.noise_frac + own.noise_frac,
        regime_stability=max(stability, 0.5),
    )


class CurriculumEnv(gym.Env[Any, Any]):
    """One account in markets that get harder as its agent gets better.

    ## Action space, observation space, rewards, episode end

    As `TradingEnv`, the same in every stage.

    ## Starting state

    As `TradingEnv`, in the market of the current stage. Stage, level of difficulty and market
    change at `reset` only.

    ## Information

    As `TradingEnv`; the last step of an episode adds `curriculum`: `stage` (from 0) and
    `stage_name` it was played in, `success`, `sharpe_annual`, `episodes` and `recent_success_frac`
    in the stage the learner is in now, `next_stage`, `completed` and `level` of difficulty.

    ## Version history

    * v1: first version.
    """

    metadata = TradingEnv.metadata

    def __init__(
        self,
        config: CurriculumConfig | None = None,
        *,
        progress: Progress | None = None,
        render_mode: RenderMode | None = None,
    ) -> None:
        """Prepare the market of the stage that `progress` is in; `reset` must follow.

        Raises:
            ConfigError: If the progress is of a curriculum with more stages, or an argument of
                another kind.
            DataError: If no episode fits into `n_bars`.
        """
        self.config = CurriculumConfig() if config is None else config
        self.progress = Progress() if progress is None else progress
        _require_kinds(self.config, self.progress)
        self.render_mode = self._render_mode = render_mode
        stage = self.progress.curriculum.stage
        if stage >= len(self.config.stages):
            raise ConfigError("stage must be one of the curriculum's", was=stage)
        self._key = self._market_key()
        self.trading = self._make()
        self.action_space = self.trading.action_space
        self.observation_space = observation_space(self.trading.world, self.trading.config)
        self._seed: int | None = None

    @property
    def stage(self) -> CurriculumStage:
        """The stage of the next episode."""
        return self.config.stages[self.progress.curriculum.stage]

    def reset(self, *, seed: int | None = None, options: ResetOptions = None) -> tuple[Any, Info]:
        """Begin an episode in the market of the current stage; arguments as `TradingEnv.reset`."""
        trading, key, root = self.trading, self._market_key(), seed
        if self._key != key:
            trading = self._make()
            if seed is None and self._seed is not None:
                root = int(stream(self._seed, "episodes", *key).integers(2**31))
        observation, info = trading.reset(seed=root, options=options)
        super().reset(seed=seed)
        self.trading, self._key = trading, key
        if seed is not None or self._seed is None:
            self._seed = info["seed"]
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Trade one bar; the end of an episode is taken into account."""
        observation, reward, terminated, truncated, info = self.trading.step(action)
        if terminated or truncated:
            info["curriculum"] = self._finish(episode_result(info["summary"]))
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:
        """Return the episode so far, as `TradingEnv.render`."""
        return self.trading.render()

    def action_masks(self) -> Any:
        """Return which discrete actions are allowed now, as `TradingEnv.action_masks`."""
        return self.trading.action_masks()

    def _finish(self, result: EpisodeResult) -> dict[str, Any]:
        played, stage = self.progress.curriculum.stage, self.stage
        self.progress = progress_after(self.config, self.progress, result)
        state = self.progress.curriculum
        return {
            "stage": played,
            "stage_name": stage.name,
            "success": is_success(stage, result),
            "sharpe_annual": result.sharpe_annual,
            "next_stage": state.stage,
            "episodes": state.episodes,
            "recent_success_frac": sum(state.recent) / max(len(state.recent), 1),
            "completed": state.completed,
            "level": self.progress.difficulty.level,
        }

    def _market_key(self) -> tuple[int, int, str]:
        """Name what the market depends on: another key is another market."""
        state = self.progress.curriculum
        number = state.episodes // self.config.episodes_per_world
        return state.stage, number, repr(_knobs(self.config, self.progress))

    def _make(self) -> TradingEnv:
        costs = stage_costs(self.config, self.progress)
        return TradingEnv(
            stage_world(self.config, self.progress),
            replace(self.config.env, costs=costs),
            render_mode=self._render_mode,
        )


def _require_kinds(config: object, progress: object) -> None:
    given = (
        (config, CurriculumConfig, "Use CurriculumConfig(env=EnvConfig(…))"),
        (progress, Progress, "Use Progress.from_json"),
    )
    for name, (value, kind, remedy) in zip(("config", "progress"), given, strict=True):
        if not isinstance(value, kind):
            was = repr(value) if isinstance(value, str) else type(value).__name__
            rule = f"{name} must be a {kind.__name__}"
            raise ConfigError(rule, was=was, where="CurriculumEnv", remedy=remedy)
