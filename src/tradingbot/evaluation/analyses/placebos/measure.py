"""Does the pipeline find an edge where there is none? Its own test, on placebos of a run's bars.

Making placebo bars is in `placebo`, tossing coins in `random_policies`; here is what both are used
for. Placebos have no drift: each symbol's mean return over the part is 0, so that being invested
earns nothing and what is found could only be timing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.placebos.random_policies import random_policy_returns
from tradingbot.evaluation.analyses.stress.moves import BarArrays, Moves, moves_from, rebuilt
from tradingbot.evaluation.dossier.evidence import PlaceboRow
from tradingbot.evaluation.statistics.hac import mean_error
from tradingbot.evaluation.statistics.inputs import NORMAL
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.sharpe import measure_sharpe, probabilistic_sharpe

FloatArray = NDArray[np.float64]
Change = Callable[[FloatArray], FloatArray]
"""(N, S, 5) bars → others, as in `evaluation.analyses.placebos.bars`."""
LEVEL = 0.05
"""Rate at which noise may pass the pipeline's test."""
FEWEST_DRAWS = 20
"""Of each kind: among fewer, not one edge is expected at that rate."""
_BASIS_POINTS = 1e4
_EXPOSURES = (0.01, 0.99)
_LEAST_TURNOVER = 1e-4
_INSTEAD = (0.5, 0.05)
"""Exposure and turnover of coins where agents stay out: the pipeline is tested all the same."""


@dataclass(frozen=True)
class PlaceboSettings:
    """How many placebos of each kind."""

    draws: int = 20
    """Shuffled histories, and histories with random signs; 20 or more."""
    block_bars: int = 7
    """Bars that stay together; a day of hourly bars, so that the time of day is kept."""
    n_policies: int = 1_000
    """Random policies."""
    seed: int = 0
    """Root of the streams that draw."""

    def __post_init__(self) -> None:
        """Refuse what says nothing."""
        require_kinds(self)
        for name in ("block_bars", "n_policies"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        if self.draws < FEWEST_DRAWS:
            raise ConfigError(
                f"draws must be {FEWEST_DRAWS} or more: fewer cannot tell a rate of {LEVEL:.0%}",
                was=self.draws,
                where="PlaceboSettings.draws",
                remedy=f"Set placebos.draws to {FEWEST_DRAWS} or more, or leave placebos out of "
                "analyses",
            )
        require(self.seed >= 0, "seed must be 0 or more", self)


def declares_edge(net_returns: FloatArray) -> bool:
    """Tell whether the pipeline would call returns per bar (S,) an edge, at the 5 % level.

    The mean must lie above 0 by Newey and West's error, one-sided, and the probabilistic Sharpe
    ratio must reach 95 %: whichever is stricter decides. Returns that never move are no edge.
    """
    error = mean_error(net_returns)
    if not error > 0.0 or net_returns.mean() <= NORMAL.inv_cdf(1.0 - LEVEL) * error:
        return False
    found = measure_sharpe(net_returns)
    sure = probabilistic_sharpe(
        found.sharpe, n_bars=found.n_bars, skew=found.skew, kurtosis=found.kurtosis
    )
    return sure >= 1.0 - LEVEL


def allowed_frac(draws: int) -> float:
    """Return the highest share of edges among draws that noise explains.

    The smallest k ÷ draws with P[more than k edges] below 5 %, each draw having 5 %: of 20 draws 3,
    of 1,000 draws 62. One draw proves nothing: both answers are allowed.
    """
    at_most, term = 0.0, (1.0 - LEVEL) ** draws
    for count in range(draws + 1):
        at_most += term
        if 1.0 - at_most < LEVEL - 1e-12:
            return count / draws
        term *= (draws - count) / (count + 1) * LEVEL / (1.0 - LEVEL)
    return 1.0


def placebo_row(
    name: str, words: str, net_returns: Sequence[FloatArray], real_net_bps: float
) -> PlaceboRow:
    """Judge what a policy earned on placebos.

    Args:
        name: Of the placebo.
        words: What it keeps and what it destroys.
        net_returns: (S,) of all sleeves together, one for each draw.
        real_net_bps: What the policy earned in truth, per bar.
    """
    net = np.array([1e4 * float(each.mean()) for each in net_returns])
    found = np.array([declares_edge(each) for each in net_returns])
    low, high = np.percentile(net, [2.5, 97.5]) if len(net) > 1 else (math.nan, math.nan)
    return PlaceboRow(
        placebo=name,
        words=words,
        draws=len(net),
        net_bps_per_bar=Interval(float(net.mean()), float(low), float(high)),
        share_beaten_frac=float((net < real_net_bps).mean()),
        edge_found_frac=float(found.mean()),
        allowed_frac=allowed_frac(len(net)),
    )


def random_policies_row(
    market_returns: FloatArray,
    *,
    turnover: float,
    exposure: float,
    cost_frac: float,
    real_net_bps: float,
    settings: PlaceboSettings,
) -> PlaceboRow:
    """Judge policies that toss coins on the true bars, and trade as much as the agents do.

    What they earn includes the market's drift; whether they have an edge is asked without it.

    Args:
        market_returns: (S, N) simple returns of the symbols.
        turnover: Mean |change of position| per bar and sleeve of the agents.
        exposure: Their mean |position|; coins are in or out. Where agents stay out, coins hold half
            and trade a twentieth.
        cost_frac: One way.
        real_net_bps: What the agents earned, per bar.
        settings: How many policies.
    """
    if exposure <= 0.0 or turnover <= 0.0:
        exposure, turnover = _INSTEAD
    share = min(max(exposure, _EXPOSURES[0]), _EXPOSURES[1])
    most = 2.0 * share * (1.0 - share)
    traded = min(max(turnover, _LEAST_TURNOVER), most)

    def play(returns: FloatArray) -> FloatArray:
        return random_policy_returns(
            returns,
            turnover=traded,
            exposure=share,
            cost_frac=cost_frac,
            n_policies=settings.n_policies,
            seed=settings.seed,
        )

    net = play(market_returns).mean(axis=1) * _BASIS_POINTS
    timing = play(market_returns - market_returns.mean(axis=0))
    low, high = np.percentile(net, [2.5, 97.5])
    return PlaceboRow(
        placebo="random policies",
        words=(
            f"coins that hold {share:.0%} and trade {traded:.3f} of a sleeve per bar on the true "
            "bars; edges are looked for without the market's drift"
        ),
        draws=settings.n_policies,
        net_bps_per_bar=Interval(float(net.mean()), float(low), float(high)),
        share_beaten_frac=float((net < real_net_bps).mean()),
        edge_found_frac=float(np.mean([declares_edge(each) for each in timing])),
        allowed_frac=allowed_frac(settings.n_policies),
    )


def placebo_bars(bars: BarArrays, part: IndexRange, change: Change) -> BarArrays:
    """Change the bars of a part, take the drift out of them, and fit them in where they were.

    What lies before the part stays to the bit; moves after it stay, at another level of prices.
    The vwap keeps its place between low and high.
    """
    rows = slice(part.start, part.stop)
    columns = np.stack([column[rows].T for column in bars[:5]], axis=-1)
    place = np.divide(
        bars.vwap[rows] - bars.low[rows],
        bars.high[rows] - bars.low[rows],
        out=np.full_like(bars.vwap[rows], 0.5),
        where=bars.high[rows] > bars.low[rows],
    )
    # The same change moves places as it moves volumes: both belong to their bar.
    placed = columns.copy()
    placed[..., 4] = np.where(np.isfinite(columns[..., 3]), place.T, np.nan)
    changed, where = change(columns), change(placed)[..., 4].T
    made = BarArrays(*(column.copy() for column in bars))
    for column, values in zip(made[:5], np.moveaxis(changed, -1, 0), strict=True):
        column[rows] = values.T
    made.vwap[rows] = made.low[rows] + where * (made.high[rows] - made.low[rows])
    moves = _joined(moves_from(made, part.start), moves_from(bars, part.start), len(part))
    present = np.isfinite(made.close[part.start :])
    return rebuilt(made, part.start, _without_drift(moves, present, len(part)))


def _joined(moves: Moves, original: Moves, length: int) -> Moves:
    """Take the gaps where a part begins and where it ends from the original."""
    gaps = moves.gap.copy()
    for seam in (0, length):
        if seam < len(gaps):
            gaps[seam] = original.gap[seam]
    return moves._replace(gap=gaps)


def _without_drift(moves: Moves, present: NDArray[np.bool_], length: int) -> Moves:
    """Shift the gaps of a part so that each symbol's mean simple return over it is 0."""
    inside = present[:length]
    growth = np.where(inside, np.exp(moves.total()[:length]), 0.0).sum(axis=0)
    drift = np.log(np.maximum(growth, 1e-300) / np.maximum(inside.sum(axis=0), 1))
    gaps = moves.gap.copy()
    gaps[:length] -= np.where(inside, drift, 0.0)
    return moves._replace(gap=gaps)
