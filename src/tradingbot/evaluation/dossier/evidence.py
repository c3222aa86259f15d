"""Is it luck, overfitting or a leak? What the statistics and the placebos say."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.evaluation.statistics.interval import Interval


@dataclass(frozen=True)
class Statistics:
    """Of what the agents earned on the test part; Sharpe ratios per bar unless said.

    The track is alpha, mean of the agents; before format 6 the portfolio's net return.
    """

    bars: int
    sharpe_per_bar: float
    skewness: float
    kurtosis: float
    """Pearson; 3 for a normal distribution."""
    probabilistic_sharpe: float
    """P[true Sharpe > 0]."""
    n_trials: int
    """On these data, as the ledger counts them; this one included."""
    trial_deviation: float
    """Of Sharpe ratios across trials, per bar."""
    expected_best_sharpe: float
    """Of so many trials without skill, per bar."""
    deflated_sharpe: float
    """P[true Sharpe > expected best]."""
    min_track_record_bars: float
    """Bars needed for 95 %; `inf` where the Sharpe ratio is not above 0."""
    min_backtest_years: float
    """Below which the best of so many trials reaches an annual Sharpe of 1 by luck."""
    overfitting_probability: float | None
    """PBO over the variants that were compared (seeds, evaluations, ablations); None below two."""
    overfitting_variants: int
    path_sharpe_annual: tuple[float, ...]
    """Of combinatorial purged paths of the test returns; empty where too short."""
    spa_p_lower: float
    spa_p_consistent: float
    """Hansen: the agents are no better than the best baseline."""
    spa_p_upper: float
    spa_against: tuple[str, ...]
    """Baselines of the test."""
    judged: str = ""
    """What the track is, in words; empty before format 6."""
    sharpe_annual: Interval | None = None
    """Of the track, annual, with its 95 % interval; None before format 6."""
    net_sharpe_per_bar: float = math.nan
    """Of the portfolio's net return, which is shown and does not judge."""
    net_probabilistic_sharpe: float = math.nan
    """P[true Sharpe of the net return > 0]: the market's luck is in it."""
    effective_bars: float | None = None
    """Independent bars that know the mean as well as these; probabilities rest on them. None where
    an earlier version took all bars for independent."""


@dataclass(frozen=True)
class PlaceboRow:
    """The same policy, or none, where nothing can be earned."""

    placebo: str
    words: str
    draws: int
    net_bps_per_bar: Interval
    """Over draws, without the market's drift; before format 7 coins had it."""
    share_beaten_frac: float
    """Of the draws that earn less than the agents' alpha; before format 7 than their net return."""
    edge_found_frac: float
    """Of the draws in which the pipeline's own test declares an edge."""
    allowed_frac: float
    """Highest such share that noise explains (95 % one-sided binomial)."""

    @property
    def is_clean(self) -> bool:
        """No more edges than noise explains."""
        return self.edge_found_frac <= self.allowed_frac


@dataclass(frozen=True)
class Placebos:
    """All placebo checks."""

    rows: tuple[PlaceboRow, ...]


@dataclass(frozen=True)
class LeakCheck:
    """Could the future have been seen?"""

    certificate_sha256: str | None
    """Of the panel's proof; None where the market was generated in memory."""
    actions_compared: int
    """Actions of the policy replayed with a changed future."""
    actions_changed: int
    """Of these, how many changed: must be 0."""
    delayed_net_bps: tuple[float, ...]
    """Net return with a delay of 0, 1, 2, 3 bars."""
    better_than_oracle: bool
    """The agents earn something, and more than the oracle, each beyond 97.5 % of chance."""
    words: tuple[str, ...]
    """What is suspicious; empty where nothing is."""
    features_compared: int = 0
    """Values of features, regimes and probabilities that were computed anew from bars with a
    changed future; 0 where the bars cannot be read any more."""
    features_changed: int = 0
    """Of these, how many changed at bars that were not: must be 0."""
    features_unread: str = ""
    """Why no feature could be computed anew; empty where they were."""

    @property
    def is_clean(self) -> bool:
        """Nothing suspicious was found; see `gap` for what was not looked at."""
        return not self.words and self.actions_changed == 0 and self.features_changed == 0

    @property
    def gap(self) -> str:
        """Why finding nothing proves nothing; empty where features were computed anew."""
        if self.features_compared:
            return ""
        reason = self.features_unread or "their bars cannot be read any more"
        return f"features could not be computed anew: {reason}"
