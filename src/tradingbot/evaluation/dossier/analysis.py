"""What the policies are like: seeds, how agents hang together, ablations, actions, health."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.evaluation.statistics.interval import Interval


@dataclass(frozen=True)
class SeedRow:
    """One training with another seed, judged on the test part."""

    seed: int
    net_bps_per_bar: float
    sharpe_annual: float
    total_return_frac: float
    trading_agents: int
    failed: str = ""
    """Why it diverged or halted; its figures are then those of staying out."""
    alpha_bps_per_bar: float = math.nan
    """NaN in files before format 6."""


@dataclass(frozen=True)
class Seeds:
    """Independent trainings of the same configuration."""

    steps_per_agent: int
    rows: tuple[SeedRow, ...]
    net_bps_iqm: Interval
    """Interquartile mean over seeds; 95 %, bootstrap over seeds and over the bars they share."""
    sharpe_iqm: Interval
    beats_hold: Interval
    """Probability that a seed earns more than equal weight."""
    alpha_bps_iqm: Interval | None = None
    """Interquartile mean of alpha, which judges; None in files before format 6."""


@dataclass(frozen=True)
class Ensemble:
    """How the agents' returns hang together on the test part."""

    agents: tuple[str, ...]
    """Those that trade, in the order of the matrix: clustered."""
    correlation: tuple[tuple[float, ...], ...]
    """(N, N) of net returns per bar."""
    mean_correlation: float
    effective_agents: float
    """(Σλ)² ÷ Σλ² over eigenvalues of the correlation."""
    diversification_ratio: float
    """Mean deviation of the agents ÷ deviation of the portfolio."""
    redundant: tuple[tuple[str, str, float], ...]
    """Pairs with a correlation above 0.9."""
    marginal_sharpe: tuple[tuple[str, float], ...]
    """Agent → Sharpe ratio of the portfolio less that without it."""


@dataclass(frozen=True)
class AblationRow:
    """A variant of the configuration, trained with several seeds."""

    axis: str
    """Dotted key of the configuration."""
    setting: str
    net_bps: tuple[float, ...]
    """Per seed, on the validation part."""
    contribution_bps: Interval
    """Base less variant, mean over seeds; 95 %, bootstrap over seeds."""


@dataclass(frozen=True)
class Ablation:
    """What single settings contribute."""

    steps_per_agent: int
    seeds: tuple[int, ...]
    base_net_bps: tuple[float, ...]
    rows: tuple[AblationRow, ...]


@dataclass(frozen=True)
class StateActionMap:
    """Mean deterministic action by the value of one input, all agents together."""

    input: str
    edges: tuple[float, ...]
    """(K + 1,) quantiles of the input."""
    mean_action: tuple[float, ...]
    """(K,)"""
    count: tuple[int, ...]


@dataclass(frozen=True)
class StatePlane:
    """A mean by two inputs, all trading agents together: of actions, or of the critic's values."""

    axes: tuple[str, str]
    """Names of the inputs of rows and columns."""
    edges: tuple[tuple[float, ...], tuple[float, ...]]
    """Quantiles (K + 1,) of an input that was met; the K numbers of one that was set."""
    cells: tuple[tuple[float, ...], ...]
    """(R, C), low inputs first; NaN where no state lies."""
    count: tuple[tuple[int, ...], ...]
    """(R, C) states."""


@dataclass(frozen=True)
class OptionUse:
    """Which options agents follow on the test part, all together."""

    names: tuple[str, ...]
    chosen_frac: tuple[float, ...]
    """(O,) share of choices: what gates call use."""
    steps_frac: tuple[float, ...]
    """(O,) share of bars under each."""
    mean_bars: float
    """Bars from one choice to the next."""
    regimes: tuple[str, ...]
    by_regime: tuple[tuple[float, ...], ...]
    """(R, O) share of bars under each in a regime of the market; NaN where it did not occur."""


@dataclass(frozen=True)
class SampledActions:
    """What agents that trade do on the test part where actions are drawn at a temperature."""

    temperature: float
    episodes: int
    """Stretches of the test part, each begun in cash."""
    histogram: tuple[float, ...]
    """Share of each bin of `PolicyAnalysis.bins`, mean over agents."""
    coverage_frac: float
    """Share of bins that hold 1 % or more of an agent's actions, mean over agents."""
    deterministic_coverage_frac: float
    """The same of deterministic actions of all agents together."""
    net_bps: float
    """Mean net return per bar, in basis points."""


@dataclass(frozen=True)
class PolicyAnalysis:
    """What the policy does, on the test part."""

    bins: tuple[str, ...]
    histogram: tuple[float, ...]
    """Share of each bin of deterministic actions."""
    maps: tuple[StateActionMap, ...]
    """Inputs that the action follows most, first."""
    value_landscape: tuple[tuple[float, ...], ...] | None
    """(R, C) mean value by signal quantile and position; None without a critic."""
    value_axes: tuple[str, str] | None
    attention_lags: tuple[int, ...] | None
    """Bars back; None without attention."""
    attention: tuple[float, ...] | None
    """Mean weight of each lag, last layer."""
    reward_shares: tuple[tuple[str, float], ...]
    """Reward term → its share of Σ|terms|."""
    deviations: tuple[tuple[str, float], ...]
    """Agent → norm of its head's deviation ÷ norm of the shared head; empty where not pooled."""
    value_edges: tuple[tuple[float, ...], ...] = ()
    """Of rows and columns of the landscape, as `StatePlane.edges`; empty in files of format 3."""
    planes: tuple[StatePlane, ...] = ()
    """Mean action by two inputs."""
    attention_features: tuple[str, ...] = ()
    """F columns of what the encoder reads."""
    attention_map: tuple[tuple[float, ...], ...] = ()
    """(L, F) mean of weight at the lag × |∂ action ÷ ∂ feature at the lag| × the feature's
    deviation."""
    unavailable: tuple[tuple[str, str], ...] = ()
    """Part (`value landscape`, `attention`, `sampled actions`) → why there is none."""
    options: OptionUse | None = None
    """Use of options; None where agents have none, and in files before format 8."""
    sampled: SampledActions | None = None
    """Drawn actions; None where none trades or the learner draws none, and before format 9."""

    @property
    def sampled_coverage(self) -> float | str:
        """Coverage of drawn actions, or why none were drawn."""
        if self.sampled is not None:
            return self.sampled.coverage_frac
        why = dict(self.unavailable).get("sampled actions")
        return why or "it takes an evaluation that draws actions: evaluate the run again"


@dataclass(frozen=True)
class Health:
    """What the flight recorder says of the training."""

    verdicts: tuple[tuple[str, int], ...]
    """Warning sign → updates in which it stood."""
    words: tuple[str, ...]
    """The last ones, in words."""
    interventions: tuple[str, ...]
    entropy: float
    """Of deterministic actions on the test part, mean over trading agents."""
    largest_bin_frac: float
    """Over all agents together."""
    lowest_action: float
    highest_action: float
    collapsed_agents: tuple[str, ...]
    """Trading agents with more than 95 % of their actions in one bin."""
    is_healthy: bool
