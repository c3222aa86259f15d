"""Whether learners find what is there: trained on markets with known answers, tested out of sample.

One run is one market, one learner and one seed. Settings are the same on all markets. The policy is
deterministic, validation bars decide how much of it is kept, test bars come after everything that
was learned or chosen, and the oracle trades the same test bars through the same simulator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tradingbot.agents.policy import apply_no_trade_band
from tradingbot.data.factor import bar_returns, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.envs.auxiliary import auxiliary_targets
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.neutral_bars import remove_factor
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import backtest
from tradingbot.evaluation.backtest.attribution import attribute_backtest, world_factor
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.evaluation.demonstrations import expert_actions
from tradingbot.evaluation.rollout import sleeve_config
from tradingbot.evaluation.statistics.aggregates import aggregate_interval
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner
from tradingbot.learning.playing import play, simple_returns
from tradingbot.learning.pretraining.config import PRETRAINING_PRESETS
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.learning.shrinkage import (
    Act,
    Earned,
    ShrinkageConfig,
    apply,
    decide,
    staying_out,
)
from tradingbot.learning.task import Observation
from tradingbot.market.params import DEFAULT_RECENCY
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.head_config import Pooling
from tradingbot.networks.view import TableView, View, frozen_view
from tradingbot.training.run_policy import LearnerPolicy
from tradingbot_benchmarks.learning.curve.markets import Periods, PosedMarket, generate_problem
from tradingbot_benchmarks.learning.curve.settings import LearnerSettings, learner_settings

_BASIS_POINTS = 1.0e4
_DRAWS = 2_000
_BARS_PER_YEAR = 1_764.0
"""Hourly bars of a year of the exchange; annual figures are not shown."""
_SHOWN_TO_ENCODER = "return_1"
_LOOKBACK_BARS = 64
"""Of encoders: hidden drifts last for some fifty bars."""
Report = Callable[[int, int], None]
"""Told (updates so far, updates in all)."""


@dataclass(frozen=True)
class LearningRun:
    """What is run: size, device, sharing, and how long."""

    n_agents: int = 143
    device: str = "cpu"
    pooling: Pooling = "partial"
    compiled: bool | None = None
    """Compile the simulator; by default on CUDA only."""
    periods: Periods = field(default_factory=Periods)
    shrinkage: ShrinkageConfig | None = field(default_factory=ShrinkageConfig)
    """None: the policy is tested as it was learned."""
    neutral: bool = True
    """Learn from bars without the market factor's moves; see `envs.neutral_bars`."""
    recency: float = DEFAULT_RECENCY
    """How much more often episodes begin late in training than early."""
    updates: int = 0
    """Updates instead of the settings' own, for a first look; 0: those."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the learner's configuration that differ from its settings, for trials."""


@dataclass(frozen=True)
class LearningResult:
    """What one learner with one seed earned on the test bars of one market; bp per bar, net."""

    market: str
    learner: str
    seed: int
    policy_bp: float
    """Mean over agents and bars of the deterministic policy."""
    oracle_bp: float
    """The same of the oracle; 0 where there is nothing to earn."""
    trading_frac: float
    """Share of agents that validation lets trade."""
    decision: str
    """What validation decided, in words."""
    seconds: float
    """Time of learning, without markets, pre-training and tests."""
    learned_bp: float | None = None
    """What the policy earned as it was learned, before validation decided; runs of before do not
    say it."""
    bayes_bp: float | None = None
    """What an empirical-Bayes rule that knows the law earned; None where strengths do not
    differ."""

    @property
    def value(self) -> float:
        """Share of the oracle; where there is no edge, bp per bar."""
        return self.policy_bp / self.oracle_bp if self.oracle_bp > 0.0 else self.policy_bp


def run_learning(
    market: str, learner: str, seed: int, run: LearningRun, report: Report | None = None
) -> LearningResult:
    """Train one learner on one market and test it.

    Args:
        market: One of `learning_curve_markets.QUESTIONS`.
        learner: One of `learning_curve_settings.measured_learners()`.
        seed: Of the market, the weights and everything else.
        run: Size and device.
        report: Told of the progress of learning.

    Raises:
        ConfigError: If the market or the learner is unknown.
    """
    settings = learner_settings(learner, pooling=run.pooling, changes=run.changes)
    env = sleeve_config(reward="log_growth")
    posed = generate_problem(
        market,
        n_agents=run.n_agents,
        seed=seed,
        cost_frac=env.costs.one_way_frac,
        periods=run.periods,
    )
    task = _task(posed, env, settings, run, seed)
    learning = settings.build(task, _view(posed, task, seed), seed)
    began = time.perf_counter()
    n_updates = run.updates or settings.updates
    for number in range(n_updates):
        learning.update()
        if report is not None:
            report(number + 1, n_updates)
    _wait(task.table.device)
    seconds = time.perf_counter() - began
    test = _backtest(posed, task, run.periods.test, run)
    learned_bp = mean_return_bp(test, learning.act)
    act, trading_frac, decision = _kept(learning, task, posed, run)
    policy_bp = mean_return_bp(test, act)
    known = test.showing("size")
    oracle_bp = mean_return_bp(known, _follow(posed.oracle.to(task.table.device)))
    bayes_bp = None
    if posed.bayes is not None:
        bayes_bp = mean_return_bp(known, _follow(posed.bayes.to(task.table.device)))
    figures = (policy_bp, oracle_bp, trading_frac, decision, seconds, learned_bp, bayes_bp)
    return LearningResult(market, learner, seed, *figures)


def summarise(results: Sequence[LearningResult]) -> Interval:
    """Return the interquartile mean over seeds of the results' values, with a bootstrap interval.

    Every seed has bars of its own, so that nothing but the seeds is to be resampled. Fewer than
    four have no quartiles: their mean; one has no interval.
    """
    values = np.array([[result.value] for result in results])
    if len(values) == 1:
        return Interval(*[float(values[0, 0])] * 3)
    return aggregate_interval(values, "iqm", n_draws=_DRAWS)


def mean_return_bp(task: PopulationTask, act: Act) -> float:
    """Return the mean simple return per bar over agents and bars of a backtest, in bp."""
    wealth = play(task, act, task.episode_bars).wealth.double()
    return float(simple_returns(wealth).mean()) * _BASIS_POINTS


def _task(
    posed: PosedMarket, env: EnvConfig, settings: LearnerSettings, run: LearningRun, seed: int
) -> PopulationTask:
    train = run.periods.train
    task = PopulationTask(
        _training_world(posed, run),
        env,
        n_envs=settings.n_envs,
        seed=seed,
        device=run.device,
        compiled=run.compiled,
    )
    during = task.during(train.start, train.stop - 1, recency=run.recency)
    return during.showing(*settings.private)


def _training_world(posed: PosedMarket, run: LearningRun) -> World:
    world, train = posed.world, posed.periods.train
    if not run.neutral:
        return world
    returns = bar_returns(world.prices, world.present)
    return remove_factor(world, fit_factor(returns, world.symbols, train, world.closed_at), train)


def _backtest(
    posed: PosedMarket, task: PopulationTask, part: IndexRange, run: LearningRun
) -> PopulationTask:
    """Return the backtest of a part: the first decision is made at the close before it."""
    whole = evaluation_task(
        posed.world,
        task.config,
        first_bar=part.start - 1,
        last_bar=part.stop - 1,
        device=task.table.device,
        compiled=run.compiled,
    )
    return whole.showing(*task.private_names)


def _view(posed: PosedMarket, task: PopulationTask, seed: int) -> View:
    """See features as they are, or, where history is needed, bar returns through an encoder.

    The registered features are moving averages and the like, and one row of them all but gives a
    hidden drift away. The encoder is shown the return of each bar alone: what it knows of the
    market's state it must have inferred.
    """
    if not posed.question.needs_history:
        return TableView(task.table)
    world, device = posed.world, task.table.device
    on_gpu = device.type == "cuda"
    returns = task.table[..., [world.feature_names.index(_SHOWN_TO_ENCODER)]]
    settings = replace(encoder_preset("full" if on_gpu else "tiny"), lookback_bars=_LOOKBACK_BARS)
    weights = make_generator(seed, "encoder", "weights")
    encoder = build_encoder(settings, returns.shape[-1], weights).to(device)
    expert = expert_actions(world, baseline("expert", world, seed=seed))
    targets = auxiliary_targets(world, train=posed.periods.train, expert=expert, device=device)
    config = PRETRAINING_PRESETS["gpu" if on_gpu else "cpu"]
    Pretrainer(encoder, returns, targets, config, seed=seed).complete()
    encoder.requires_grad_(False)
    return frozen_view(encoder, returns)


def _kept(
    learner: Learner, task: PopulationTask, posed: PosedMarket, run: LearningRun
) -> tuple[Act, float, str]:
    """Let validation decide; return the policy, the share of agents that trade, and the words."""
    if run.shrinkage is None:
        return learner.act, 1.0, "as learned"
    part, world = posed.periods.validation, posed.world
    factor = world_factor(world, posed.periods.train)

    def trade(act: Act) -> Earned:
        played = backtest(
            world,
            task.config,
            LearnerPolicy(task, act),
            name="agents",
            bars_per_year=_BARS_PER_YEAR,
            bars=IndexRange(part.start - 1, part.stop),
        )
        alpha = attribute_backtest(played, factor).alpha
        return Earned(torch.from_numpy(alpha), torch.from_numpy(played.returns))

    found = decide(learner, trade, run.shrinkage)
    apply(learner.networks(), found)
    act = staying_out(learner.act, found.trades, task.action)
    return act, float(found.trades.float().mean()), found.words


def _follow(targets: Tensor) -> Act:
    """Return the policy that wants targets (N · T,) by row; it must be shown the size alone."""

    def act(observation: Observation) -> Tensor:
        return apply_no_trade_band(targets[observation.row], observation.private[..., 0])

    return act


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
