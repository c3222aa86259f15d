"""How analyses are set up: the sections of an evaluation's configuration.

In a file of their own, so that a setting that is unknown or not allowed is refused before torch is
imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.errors import ConfigError

AUTOMATIC = "automatic"
"""Among the variants of an ablation: those that fit the run."""
PLACEBO_LEVEL = 0.05
"""Rate at which noise may pass the pipeline's test."""
FEWEST_DRAWS = 20
"""Placebos of each kind: among fewer, not one edge is expected at that rate."""


@dataclass(frozen=True)
class PerformanceSettings(CheckedFields):
    """How sure the share of the oracle is to be, and what random baselines draw.

    Intervals of policies cannot be set: one policy has one interval.
    """

    draws: int = bounded(2000, ">= 100")
    """Resampled histories of the share of the oracle."""
    seed: int = bounded(0, ">= 0")
    """Root of what random baselines draw."""


@dataclass(frozen=True)
class StatisticsSettings(CheckedFields):
    """How fine the statistics are."""

    draws: int = bounded(2000, ">= 100")
    """Resampled histories of the test of superior ability."""
    overfitting_blocks: int = 16
    """S of the combinatorial test of overfitting, even."""
    path_blocks: int = bounded(10, ">= 3")
    """Blocks of the combinatorial purged paths, two of them tested at a time."""

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        super().__post_init__()
        blocks = self.overfitting_blocks
        holds = blocks % 2 == 0 and 2 <= blocks <= 16
        require(holds, "overfitting_blocks must be even, from 2 to 16", self)


@dataclass(frozen=True)
class LeakCheckSettings(CheckedFields):
    """How hard it is looked for."""

    cuts: int = bounded(4, ">= 1")
    """Bars of the test part after which everything is replaced and the policy is replayed."""
    feature_rounds: int = bounded(12, ">= 1")
    """Times that features are computed anew besides, with another cut for each symbol. Every phase
    of a period of so many bars or fewer is looked at; many symbols get fewer rounds, but 7."""
    most_delay_bars: int = bounded(3, "[0, 10]")
    """Longest delay of decisions, bars; shorter ones are tried too."""


@dataclass(frozen=True)
class WalkForwardSettings(CheckedFields):
    """How windows lie, and what each training may cost."""

    window_days: int = bounded(60, ">= 2")
    """Trading days of a window."""
    step_days: int = bounded(20, ">= 1")
    """Trading days from the beginning of one window to that of the next."""
    retrain_every: int = bounded(3, ">= 1")
    """Windows per training."""
    first_share_frac: float = bounded(0.5, "(0, 1)")
    """Share of all days that lies before the first window."""
    validation_share_frac: float = bounded(0.3, "(0, 1)")
    """Share of the days before a training's windows that its validation takes, at their end."""
    steps_share_frac: float = bounded(1.0, "(0, 1]")
    """Budget of each training ÷ that of the run."""


@dataclass(frozen=True)
class RegimeSettings(CheckedFields):
    """How a regime is told."""

    trend_bars: int = bounded(35, ">= 2")
    """Bars of the trailing return; one week of hourly bars. A test part of a few months then holds
    several regimes; longer trends would need a longer one."""
    volatility_bars: int = bounded(14, ">= 2")
    """Bars of the trailing deviation; two days of hourly bars."""
    sideways_frac: float = bounded(1 / 3, "(0, 1)")
    """Share of training bars whose trailing return, up or down, is too small for a trend."""
    calm_frac: float = bounded(0.8, "(0, 1)")
    """Share of training bars whose volatility is not called high."""
    min_bars: int = bounded(20, ">= 2")
    """A regime with fewer bars is not judged."""


@dataclass(frozen=True)
class StressSettings(CheckedFields):
    """Sizes of the disasters, and how long is looked at."""

    crash_frac: float = bounded(0.20, "(0, 1)")
    """What every symbol loses in the crash."""
    crash_bars: int = bounded(5, ">= 1")
    """Bars within which it is lost."""
    correction_frac: float = bounded(0.10, "(0, 1)")
    """What every symbol loses in the correction."""
    correction_bars: int = bounded(35, ">= 1")
    """Bars within which it is lost; about a week of hours."""
    rally_frac: float = bounded(0.20, "(0, 10)")
    """What every symbol gains in the lasting rally."""
    rally_bars: int = bounded(140, ">= 1")
    """Bars within which it is gained; about a month of hours."""
    gap_frac: float = bounded(0.08, "(0, 1)")
    """Size of the overnight gaps, one down and one up."""
    cost_factor: float = bounded(10.0, "[1, inf)")
    """What spread and slippage are multiplied by where liquidity is lost."""
    volume_divisor: float = bounded(20.0, "[1, inf)")
    """What volume is divided by there."""
    volatility_factor: float = bounded(3.0, "[1, inf)")
    """What moves are multiplied by in the wild market."""
    before_bars: int = bounded(35, ">= 1")
    """Bars that are traded before a crash or gap, at most."""
    after_bars: int = 140
    """Bars that are traded from there on, at most."""

    def __post_init__(self) -> None:
        """Refuse disasters that are none."""
        super().__post_init__()
        require(self.after_bars > self.crash_bars, "after_bars must go beyond the crash", self)


@dataclass(frozen=True)
class SensitivitySettings(CheckedFields):
    """Conditions, one axis at a time; each tuple rises."""

    cost_bps: tuple[float, ...] = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    """One-way costs of everything together, in place of the run's profile."""
    delay_bars: tuple[int, ...] = (0, 1, 2, 3)
    """Bars that decisions wait beyond the next open."""
    slippage_bps: tuple[float, ...] = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)
    """Slippage, with the other rates of the run's profile."""
    limit_shares: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    """Largest position, of the run's own limit."""
    capital_ccy: tuple[float, ...] = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
    """Capital of all sleeves together, with market impact."""
    impact_coef: float = bounded(1.0, "(0, 10)")
    """Impact = this · volatility per bar · √(filled ÷ volume of the bar), unless the run's profile
    has one of its own."""

    def __post_init__(self) -> None:
        """Refuse axes that are empty or do not rise."""
        super().__post_init__()
        for name in ("cost_bps", "delay_bars", "slippage_bps", "limit_shares", "capital_ccy"):
            values = getattr(self, name)
            rises = bool(values) and list(values) == sorted(set(values))
            require(rises, f"{name} must have values that rise", self)
            require(values[0] >= 0, f"{name} must be 0 or more", self)
        require(self.delay_bars[0] == 0, "delay_bars must begin with 0", self)
        require(self.cost_bps[-1] <= 1_000.0, "cost_bps must be 1,000 or less", self)
        require(self.slippage_bps[-1] <= 1_000.0, "slippage_bps must be 1,000 or less", self)
        lowest, highest = self.limit_shares[0], self.limit_shares[-1]
        require(lowest > 0.0 and highest <= 1.0, "limit_shares must lie in (0, 1]", self)
        require(self.capital_ccy[0] > 0.0, "capital_ccy must be above 0", self)


@dataclass(frozen=True)
class SeedsSettings(CheckedFields):
    """How many trainings, and how long."""

    count: int = 5
    """Trainings with other seeds than the run's."""
    steps_share_frac: float = bounded(1.0, "(0, 1]")
    """Budget of each training ÷ that of the run."""

    def __post_init__(self) -> None:
        """Refuse what tells nothing about seeds."""
        super().__post_init__()
        if not 2 <= self.count <= 1000:
            raise ConfigError(
                "count must lie in [2, 1000]",
                was=self.count,
                where="SeedsSettings.count",
                remedy="Give 2 or more to tell luck of the seed, e.g. seeds.count=5",
            )


@dataclass(frozen=True)
class EnsembleSettings(CheckedFields):
    """Whom it is about."""

    min_exposure_frac: float = bounded(1e-6, "(0, 1)")
    """Mean |position| ÷ equity from which on an agent counts as one that trades."""


@dataclass(frozen=True)
class PolicyAnalysisSettings(CheckedFields):
    """How finely a policy is looked at."""

    n_bins: int = bounded(7, ">= 2")
    """Bins of equal width of the histogram of numbers; codes have one each."""
    map_bins: int = bounded(10, ">= 2")
    """Quantile bins of an input in a state–action map."""
    n_maps: int = bounded(6, ">= 1")
    """Inputs that are shown: those the action follows most."""
    n_planes: int = bounded(2, ">= 0")
    """Maps over two inputs: the first that the action follows with each of the next; features of
    the market go before numbers of the account."""
    plane_bins: int = bounded(6, ">= 2")
    """Quantile bins of each of the two inputs."""
    landscape_bins: int = bounded(9, ">= 2")
    """Quantiles of the signal, and positions, of the value landscape."""
    max_states: int = bounded(50_000, ">= 100")
    """States that maps and landscape are made of at most, evenly taken from all."""
    attention_bars: int = bounded(256, ">= 1")
    """Last bars of the part whose attention is averaged."""
    attention_states: int = bounded(500, ">= 1")
    """States that attention by lag and feature is averaged over at most, evenly taken from all."""
    temperature: float = bounded(2.0, "(0, inf)")
    """At which actions are drawn to see what is within reach; 1: as the policy learned to draw."""
    sampled_episodes: int = bounded(10, ">= 1")
    """Stretches of the test part that drawn actions trade, one after another."""


@dataclass(frozen=True)
class RewardSettings(CheckedFields):
    """How much is played, and how finely it is told."""

    episodes: int = bounded(8, ">= 1")
    """Episodes of each agent, drawn from the training part."""
    n_bins: int = bounded(21, ">= 2")
    """Bins of equal width of each histogram."""
    n_horizons: int = bounded(25, ">= 2")
    """Numbers of bars to the end of an episode at which reward-to-go is told."""


@dataclass(frozen=True)
class PlaceboSettings(CheckedFields):
    """How many placebos of each kind."""

    draws: int = 20
    """Shuffled histories, and histories with random signs; 20 or more."""
    block_bars: int = bounded(7, ">= 1")
    """Bars of a block, a day of hourly ones: shuffled bars keep their place within it, the time of
    day, and nothing of what was before them."""
    n_policies: int = bounded(1_000, ">= 1")
    """Random policies."""
    seed: int = bounded(0, ">= 0")
    """Root of the streams that draw."""

    def __post_init__(self) -> None:
        """Refuse what says nothing."""
        super().__post_init__()
        if self.draws < FEWEST_DRAWS:
            rate = f"{PLACEBO_LEVEL:.0%}"
            raise ConfigError(
                f"draws must be {FEWEST_DRAWS} or more: fewer cannot tell a rate of {rate}",
                was=self.draws,
                where="PlaceboSettings.draws",
                remedy=f"Set placebos.draws to {FEWEST_DRAWS} or more, or leave placebos out of "
                "analyses",
            )


def split_variant(variant: str) -> tuple[str, ...]:
    """Return the KEY=VALUE of a variant, of which `+` before another KEY= joins several."""
    return tuple(re.split(r"\+(?=[a-z_][a-z0-9_.]*=)", variant))


@dataclass(frozen=True)
class AblationSettings(CheckedFields):
    """Which settings, how often and how long."""

    variants: tuple[str, ...] = (AUTOMATIC,)
    """KEY=VALUE of the training configuration each, several at once joined by `+`; `automatic`
    stands for what fits the run."""
    most_automatic: int = bounded(3, ">= 0")
    """Of the automatic ones, so many are tried."""
    seeds: int = bounded(3, "[2, 1000]")
    """Trainings of each variant and of the base."""
    steps_share_frac: float = bounded(1.0, "(0, 1]")
    """Budget of each training ÷ that of the run."""

    def __post_init__(self) -> None:
        """Refuse variants that cannot be read, and intervals of one seed."""
        super().__post_init__()
        for variant in self.variants:
            changes = [each.partition("=") for each in split_variant(variant)]
            if variant != AUTOMATIC and not all(map(all, changes)):
                raise ConfigError(
                    "variants must be KEY=VALUE of the training configuration, or automatic",
                    was=repr(variant),
                    where="ablation.variants",
                    remedy="Write e.g. encoder.preset=row, or several at once: KEY=VALUE+KEY=VALUE",
                )
