"""Is it luck: inference on Sharpe ratios, on searches, on seeds and on dependent returns.

Pure functions of NumPy arrays. What is measured lives in `evaluation.metrics`.
"""

from tradingbot.evaluation.statistics.aggregates import (
    aggregate_interval,
    improvement_interval,
    interquartile_mean,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)
from tradingbot.evaluation.statistics.bootstrap import (
    automatic_block_bars,
    bootstrap_draws,
    bootstrap_interval,
    mean_of,
    sharpe_gap_of,
    sharpe_of,
    stationary_indices,
)
from tradingbot.evaluation.statistics.deflation import (
    deflated_sharpe,
    deflated_target,
    effective_trials,
    expected_maximum,
    mean_correlation,
    min_backtest_years,
)
from tradingbot.evaluation.statistics.hac import (
    automatic_lags,
    difference_interval,
    mean_error,
    mean_interval,
    mean_t,
)
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.multiple import (
    benjamini_hochberg,
    false_discovery_rate,
    holm,
    observed_false_discovery_rate,
)
from tradingbot.evaluation.statistics.overfitting import Overfitting, backtest_overfitting
from tradingbot.evaluation.statistics.paths import (
    PathSharpes,
    path_counts,
    path_returns,
    path_sharpes,
)
from tradingbot.evaluation.statistics.sharpe import (
    SharpeSample,
    annualisation_factor,
    measure_sharpe,
    min_track_record,
    miss_probability,
    probabilistic_sharpe,
    sharpe_error,
    sharpe_ratio,
)
from tradingbot.evaluation.statistics.superior import (
    SuperiorAbility,
    reality_check,
    superior_ability,
)

__all__ = [
    "Interval",
    "Overfitting",
    "PathSharpes",
    "SharpeSample",
    "SuperiorAbility",
    "aggregate_interval",
    "annualisation_factor",
    "automatic_block_bars",
    "automatic_lags",
    "backtest_overfitting",
    "benjamini_hochberg",
    "bootstrap_draws",
    "bootstrap_interval",
    "deflated_sharpe",
    "deflated_target",
    "difference_interval",
    "effective_trials",
    "expected_maximum",
    "false_discovery_rate",
    "holm",
    "improvement_interval",
    "interquartile_mean",
    "mean_correlation",
    "mean_error",
    "mean_interval",
    "mean_of",
    "mean_t",
    "measure_sharpe",
    "min_backtest_years",
    "min_track_record",
    "miss_probability",
    "observed_false_discovery_rate",
    "optimality_gap",
    "path_counts",
    "path_returns",
    "path_sharpes",
    "performance_profile",
    "probabilistic_sharpe",
    "probability_of_improvement",
    "reality_check",
    "sharpe_error",
    "sharpe_gap_of",
    "sharpe_of",
    "sharpe_ratio",
    "stationary_indices",
    "superior_ability",
]
