"""Does the pipeline find an edge where there is none? Its own test, on placebos of a run's bars.

A run's policy trades shuffled, flipped and reversed bars, and coins trade the true ones. Placebos
have no drift: each symbol's mean return over the part is 0, so that being invested earns nothing
and what is found could only be timing. So they stand beside the agents' alpha, not their net
return, which has the market's drift in it. Nothing of what follows what is left in those that are
judged: blocks of whole days would keep the autocorrelation within a day, which agents may trade.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World, cut_world, select_symbols
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.placebos.bars import (
    Change,
    flip_bars,
    flip_bars_at_random,
    placebo_bars,
    reverse_bars,
    shuffle_bars,
)
from tradingbot.evaluation.analyses.placebos.random_policies import random_policy_returns
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.sensitivity import FloatArray, one_way_bps
from tradingbot.evaluation.analyses.settings import PLACEBO_LEVEL, PlaceboSettings
from tradingbot.evaluation.analyses.side_by_side import side_by_side
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.dossier.evidence import PlaceboRow, Placebos
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.evaluation.statistics.hac import mean_error
from tradingbot.evaluation.statistics.inputs import NORMAL
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.sharpe import measure_sharpe, probabilistic_sharpe
from tradingbot.networks.encoders.catalogue import encoder_preset

_BASIS_POINTS = 1e4
_EXPOSURES = (0.01, 0.99)
_LEAST_TURNOVER = 1e-4
_INSTEAD = (0.5, 0.05)
"""Exposure and turnover of coins where agents stay out: the pipeline is tested all the same."""


def declares_edge(net_returns: FloatArray) -> bool:
    """Tell whether the pipeline would call returns per bar (S,) an edge, at the 5 % level.

    The mean must lie above 0 by Newey and West's error, one-sided, and the probabilistic Sharpe
    ratio must reach 95 %: whichever is stricter decides. Returns that never move are no edge.
    """
    error = mean_error(net_returns)
    if not error > 0.0 or net_returns.mean() <= NORMAL.inv_cdf(1.0 - PLACEBO_LEVEL) * error:
        return False
    found = measure_sharpe(net_returns)
    sure = probabilistic_sharpe(
        found.sharpe, n_bars=found.n_bars, skew=found.skew, kurtosis=found.kurtosis
    )
    return sure >= 1.0 - PLACEBO_LEVEL


def allowed_frac(draws: int) -> float:
    """Return the highest share of edges among draws that noise explains.

    The smallest k ÷ draws with P[more than k edges] below 5 %, each draw having 5 %: of 20 draws 3,
    of 1,000 draws 62. One draw proves nothing: both answers are allowed.
    """
    at_most, term = 0.0, (1.0 - PLACEBO_LEVEL) ** draws
    for count in range(draws + 1):
        at_most += term
        if 1.0 - at_most < PLACEBO_LEVEL - 1e-12:
            return count / draws
        term *= (draws - count) / (count + 1) * PLACEBO_LEVEL / (1.0 - PLACEBO_LEVEL)
    return 1.0


def placebo_row(
    name: str,
    words: str,
    net_returns: Sequence[FloatArray],
    real_alpha_bps: float,
) -> PlaceboRow:
    """Judge what a policy earned on placebos.

    Args:
        name: Of the placebo.
        words: What it keeps and what it destroys.
        net_returns: (S,) of all sleeves together, one for each draw, on bars without drift.
        real_alpha_bps: Alpha of the policy in truth, per bar.
    """
    net = np.array([1e4 * float(each.mean()) for each in net_returns])
    found = [declares_edge(each) for each in net_returns]
    low, high = np.percentile(net, [2.5, 97.5]) if len(net) > 1 else (math.nan, math.nan)
    return PlaceboRow(
        placebo=name,
        words=words,
        draws=len(net),
        net_bps_per_bar=Interval(float(net.mean()), float(low), float(high)),
        share_beaten_frac=float((net < real_alpha_bps).mean()),
        edge_found_frac=float(np.mean(found)),
        allowed_frac=allowed_frac(len(net)),
    )


def random_policies_row(
    market_returns: FloatArray,
    *,
    turnover: float,
    exposure: float,
    cost_frac: float,
    real_alpha_bps: float,
    settings: PlaceboSettings,
) -> PlaceboRow:
    """Judge policies that toss coins on the true bars, and trade as much as the agents do.

    The market's drift is taken out of the bars, as it is out of the agents' alpha.

    Args:
        market_returns: (S, N) simple returns of the symbols.
        turnover: Mean |change of position| per bar and sleeve of the agents.
        exposure: Their mean |position|; coins are in or out. Where agents stay out, coins hold half
            and trade a twentieth.
        cost_frac: One way.
        real_alpha_bps: Alpha of the agents, per bar.
        settings: How many policies.
    """
    if exposure <= 0.0 or turnover <= 0.0:
        exposure, turnover = _INSTEAD
    share = min(max(exposure, _EXPOSURES[0]), _EXPOSURES[1])
    most = 2.0 * share * (1.0 - share)
    traded = min(max(turnover, _LEAST_TURNOVER), most)

    play = partial(
        random_policy_returns,
        turnover=traded,
        exposure=share,
        cost_frac=cost_frac,
        n_policies=settings.n_policies,
        seed=settings.seed,
    )
    words = (
        f"coins that hold {share:.0%} and trade {traded:.3f} of equity per bar on the true bars, "
        "without drift"
    )
    drawn = [*play(market_returns - market_returns.mean(axis=0))]
    return placebo_row("random policies", words, drawn, real_alpha_bps)


_LANES = 512
"""Sleeves that are simulated together at most; bounds memory."""
_LEAD_BARS = 128
"""Bars before the part that accounts look back on: volatility for impact."""


def measure_placebos(
    subject: EvaluatedRun, settings: PlaceboSettings, progress: Progress = ignore_progress
) -> Placebos:
    """Let the run's policy trade placebos of its test part, and coins the part itself.

    Signals that are not computed from bars (covariates) stay where they were: on a market with a
    planted edge nothing of it is left once returns have moved.

    Raises:
        DataError: If the test part has too few bars.
    """
    part = subject.bars("test")
    truth = subject.backtest(part)
    real_alpha_bps = 1e4 * float(attribute_backtest(truth, subject.data.factor).alpha.mean())
    counterfactual = CounterfactualData(subject)
    rows, kinds = list[PlaceboRow](), _kinds(settings)
    total = sum(len(changes) for _, _, changes in kinds)
    for name, words, changes in kinds:
        net = list[FloatArray]()
        for found in play_placebos(subject, counterfactual, part, changes):
            net.extend(found)
            progress(sum(row.draws for row in rows) + len(net), total, name)
        rows.append(placebo_row(name, words, net, real_alpha_bps))
    coins = random_policies_row(
        _market_returns(subject.data.world, part),
        turnover=float(truth.turnover_frac.mean()),
        exposure=float(np.abs(truth.position_frac).mean()),
        cost_frac=one_way_bps(subject.env.costs) / 1e4,
        real_alpha_bps=real_alpha_bps,
        settings=settings,
    )
    return Placebos((*rows, coins))


def _kinds(settings: PlaceboSettings) -> list[tuple[str, str, list[Change]]]:
    """Return name, words and changes of every kind of placebo."""
    size, seeds = settings.block_bars, range(settings.seed, settings.seed + settings.draws)
    kept = f", each at its place of {size}" if size > 1 else ""
    shuffled = [partial(shuffle_bars, seed=seed, block_bars=size) for seed in seeds]
    signed = [partial(flip_bars_at_random, seed=seed) for seed in seeds]
    once = "autocorrelation survives; one draw, which is shown and not judged"
    return [
        ("shuffled returns", f"bars in another order{kept}, without drift", [*shuffled]),
        ("random signs", "bars with the sign of a coin each, without drift", [*signed]),
        ("reversed time", f"bars backwards, without drift; symmetric {once}", [reverse_bars]),
        ("flipped signs", f"rises are falls, without drift; {once}", [flip_bars]),
    ]


def play_placebos(
    subject: EvaluatedRun,
    counterfactual: CounterfactualData,
    part: IndexRange,
    changes: Sequence[Change],
) -> Iterator[list[FloatArray]]:
    """Yield the portfolio's net returns (S,) of draws, some at a time."""
    if isinstance(subject, PortfolioRun):  # one account of all symbols: markets do not mix
        for change in changes:
            bars = placebo_bars(counterfactual.bars, part, change)
            other = counterfactual.on(bars, first_bar=part.start, words="placebo")
            yield [other.backtest(part).portfolio_returns]
        return
    symbols = subject.data.world.symbols
    lead = max(_LEAD_BARS, encoder_preset(subject.config.encoder.preset).lookback_bars)
    first = max(0, part.start - lead)
    together = max(1, _LANES // len(symbols))
    for begin in range(0, len(changes), together):
        worlds = []
        for change in changes[begin : begin + together]:
            bars = placebo_bars(counterfactual.bars, part, change)
            whole = counterfactual.world(bars, first_bar=part.start, words="placebo")
            worlds.append(cut_world(select_symbols(whole, symbols), first, part.stop - 1))
        world = side_by_side(worlds)
        draws = subject.with_world(replace(subject.data, world=world, whole=world))
        played = draws.backtest(IndexRange(part.start - first, part.stop - first))
        equity = played.equity.reshape(played.n_bars + 1, len(worlds), len(symbols))
        yield [simple_returns(each) for each in equity.mean(axis=2).T]


def _market_returns(world: World, part: IndexRange) -> FloatArray:
    """Return (S, N) simple returns of the symbols; 0 where a bar is missing."""
    closes = world.prices[:, part.start : part.stop, 3].T
    known = np.isfinite(closes[1:]) & np.isfinite(closes[:-1])
    ratio = np.divide(closes[1:], closes[:-1], out=np.ones_like(closes[1:]), where=known)
    return np.asarray(ratio - 1.0)
