"""Figures of one backtest, and what they hold for."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.data.factor import MarketFactor
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.performance.break_even import break_even_words, cost_of_no_alpha
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.performance.record import PolicyKind, PolicyPerformance
from tradingbot.evaluation.performance.table import ALPHA_NOTE
from tradingbot.evaluation.policy_names import is_model, is_run
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.market.costs import CostProfile
from tradingbot.plugins.reference import ORACLE_NAMES, strategy_origin


@dataclass(frozen=True)
class BacktestFigures:
    """One policy over one period, net of costs, and what the figures hold for."""

    label: str
    synthetic: bool
    first_day: str
    last_day: str
    bars: int
    symbols: int
    costs: CostProfile
    delay_bars: int
    bars_per_year: float
    performance: PolicyPerformance
    plugin: str | None = None
    """Plugin that the policy's code is in, with the first digits of its hash."""
    note: str = ""
    """What the policy does and was fitted on, where its name does not say it."""
    begins: str = ""
    """Why it begins later than the day that was asked for; empty where it does not."""
    factor: str = ""
    """The market that the net return is taken apart by, and the period of its betas, in words."""

    @property
    def terms(self) -> str:
        """What the figures hold for, in words."""
        return (
            f"{self.label}; {self.bars:,} bars × {self.symbols} symbols; "
            f"{self.one_way_bps:.1f} bp of each fill; delay {self.delay_bars}."
            f"{self.factor and ' ' + ALPHA_NOTE.format(factor=self.factor)}"
        )

    @property
    def one_way_bps(self) -> float:
        """Cost of each fill, without impact and borrowing."""
        return 1e4 * self.costs.one_way_frac

    @property
    def break_even_cost_bps(self) -> Interval | None:
        """Cost of each fill at which no alpha is left; None where hardly anything is traded."""
        return cost_of_no_alpha(self.performance, self.one_way_bps)

    @property
    def answer(self) -> str:
        """Whether there is an edge at these costs, and the cost at which it ends, in a sentence."""
        return break_even_words(self.performance, self.one_way_bps)


def figures_of(played: Backtest, factor: MarketFactor) -> BacktestFigures:
    """Measure a backtest.

    Args:
        played: What a policy did.
        factor: The market that it is taken apart by.

    Raises:
        DataError: If there are fewer than eight bars: nothing to draw histories from.
    """
    kind: PolicyKind = "agents" if is_run(played.policy) else "baseline"
    kind = "oracle" if played.policy in ORACLE_NAMES else kind
    kind = "supervised" if is_model(played.policy) else kind
    return BacktestFigures(
        label=played.label,
        synthetic=played.synthetic,
        first_day=played.first_day,
        last_day=played.last_day,
        bars=played.n_bars,
        symbols=len(played.traded),
        costs=played.costs,
        delay_bars=played.delay_bars,
        bars_per_year=played.bars_per_year,
        performance=policy_performance(played, kind, parts=attribute_backtest(played, factor)),
        factor=factor.words,
        plugin=origin.id if (origin := strategy_origin(played.policy)) else None,
    )
