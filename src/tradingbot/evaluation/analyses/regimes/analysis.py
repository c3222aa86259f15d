"""What a run's agents earned in each regime of the test part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.envs.world import World, symbol_index
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.regimes.measure import (
    RegimeSettings,
    index_returns,
    judge_regimes,
    label_regimes,
)
from tradingbot.evaluation.analyses.stress.analysis import backtest_buy_and_hold
from tradingbot.evaluation.dossier.robustness import Regimes
from tradingbot.training.data import REFERENCE_INDEX


def measure_regimes(subject: EvaluatedRun, settings: RegimeSettings) -> Regimes:
    """Tell regimes from the reference index where observed data have it, else from equal weight.

    A generated symbol of that name is no index of the others.

    Raises:
        DataError: If training is too short to tell a regime, or the test part has too few bars.
    """
    _, index = _index(subject.data.whole)
    labels = regime_labels(subject, settings)
    bars = subject.bars("test")
    agents = subject.backtest("test")
    return judge_regimes(
        labels[bars.start : bars.start + agents.n_bars],
        agents.returns,
        backtest_buy_and_hold(subject, bars).returns,
        bars_per_year=subject.bars_per_year,
        settings=settings,
        index=index,
    )


def regime_labels(subject: EvaluatedRun, settings: RegimeSettings) -> NDArray[np.int64]:
    """Tell the regime of every bar (T,) of the run's data.

    Raises:
        DataError: If training is too short to tell a regime.
    """
    closes, _ = _index(subject.data.whole)
    return label_regimes(index_returns(closes), subject.data.split.train, settings)


def _index(world: World) -> tuple[NDArray[np.float64], str]:
    """Return closes (N, T) of what regimes are told from, and its name."""
    closes = world.prices[..., 3]
    if REFERENCE_INDEX in world.symbols and not world.synthetic:
        place = symbol_index(world, REFERENCE_INDEX)
        return closes[place : place + 1], REFERENCE_INDEX
    return closes, f"equal weight of {world.n_symbols} symbols"
