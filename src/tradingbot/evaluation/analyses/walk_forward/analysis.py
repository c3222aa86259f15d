"""Walk-forward: every window traded by agents that were trained on nothing but the days before."""

from __future__ import annotations

from datetime import date

import numpy as np

from tradingbot.agents.baselines.buy_and_hold import buy_and_hold
from tradingbot.data.calendar import closing_day
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec
from tradingbot.evaluation.analyses.retraining.training import (
    RetrainingResult,
    TradedPeriod,
    require_periods,
)
from tradingbot.evaluation.analyses.walk_forward.measure import (
    WalkForwardSettings,
    plan_windows,
    positive_share,
)
from tradingbot.evaluation.backtest import PolicyUnderTest, bars_between, sleeve_config
from tradingbot.evaluation.dossier.robustness import WalkForward, Window
from tradingbot.evaluation.metrics.returns import max_drawdown, total_return
from tradingbot.evaluation.performance.measure import annual_sharpe_or_zero
from tradingbot.evaluation.performance.record import HOLD


def walk_forward_specs(
    subject: EvaluatedRun, settings: WalkForwardSettings
) -> tuple[RetrainingSpec, ...]:
    """Return the trainings that the windows need, in order of time.

    Windows are laid over the days from the run's first training day on: it learns from none before.

    Raises:
        DataError: If the data are shorter than a window, or a training or window has too few bars.
    """
    first = subject.data.split.train.start
    days = np.unique(closing_day(subject.data.world.closed_at[first:].astype("datetime64[us]")))
    names = [str(day) for day in days]
    seed = subject.run.record.seeds["root"]
    specs = tuple(
        RetrainingSpec(
            seed=seed,
            steps_share_frac=settings.steps_share_frac,
            last_days=(
                names[planned.train_stop - 1],
                names[planned.validation_stop - 1],
                names[planned.windows[-1][1] - 1],
            ),
            windows=tuple((names[first], names[stop - 1]) for first, stop in planned.windows),
        )
        for planned in plan_windows(len(names), settings)
    )
    for spec in specs:
        require_periods(spec, subject.config, subject.data)
    return specs


def measure_walk_forward(
    inputs: AnalysisInputs, settings: WalkForwardSettings, specs: tuple[RetrainingSpec, ...]
) -> WalkForward:
    """Join the windows of all trainings."""
    trainings: list[RetrainingResult] = [inputs.need(spec.name) for spec in specs]
    windows = tuple(
        _window(inputs.subject, part, trained.trained_until)
        for trained in trainings
        for part in trained.parts
    )
    positive = sum(window.sharpe_annual > 0.0 for window in windows)
    return WalkForward(
        window_days=settings.window_days,
        step_days=settings.step_days,
        retrain_every=settings.retrain_every,
        steps_per_agent=trainings[0].steps_per_agent,
        windows=windows,
        share_positive=positive_share(positive, len(windows), settings),
    )


def _window(subject: EvaluatedRun, part: TradedPeriod, trained_until: str) -> Window:
    bars = bars_between(
        subject.data.world, date.fromisoformat(part.first_day), date.fromisoformat(part.last_day)
    )
    policies = [PolicyUnderTest(HOLD, buy_and_hold)]
    (hold,) = subject.backtest_all(policies, bars, env=sleeve_config(subject.env.costs))
    returns = np.array(part.returns)
    return Window(
        first_day=part.first_day,
        last_day=part.last_day,
        trained_until=trained_until,
        sharpe_annual=annual_sharpe_or_zero(returns, subject.bars_per_year),
        total_return_frac=total_return(returns),
        hold_return_frac=total_return(hold.portfolio_returns),
        max_drawdown_frac=max_drawdown(returns),
    )
