"""The positive control on observed bars: residual reversal, and the cost at which it dies.

    python benchmarks/residual_reversal.py WORKSPACE DATASET FIRST_TEST_DAY

Prints the information coefficient of `residual_1` before and after the first test day, and what the
simulator earns with market-neutral targets at rising costs: net return and alpha per bar of one
unit of gross exposure with their t (HAC), turnover, and the cost at which nothing is left.

`reversal` has targets −`residual_rank`, its sign that of the days before the test. The other rows
are out of sample by construction: ridge weights of relative features, fitted every 441 bars (a
quarter) on all bars before.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dataclasses import replace

import tradingbot as tb
from tradingbot.agents.policy import MarketRule
from tradingbot.data.factor import bar_returns, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.envs.price_world import world_of_prices
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.sensitivity import break_even_bps
from tradingbot.evaluation.backtest import sleeve_config
from tradingbot.evaluation.backtest.backtests import PolicyUnderTest, backtest_all
from tradingbot.evaluation.metrics.attribution import attribute
from tradingbot.evaluation.statistics.hac import mean_error
from tradingbot.facade.backtest_terms import read_costs
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.relative import RELATIVE

FloatArray = NDArray[np.float64]
COSTS_BPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.2)
"""Of each fill; the last is commission and slippage of the default profile."""
GROSS_FRAC = 0.5
BARS_PER_YEAR = 1764.0
WARM_UP_BARS = 200
REFIT_BARS = 441
GAP_BARS = 10
"""Between the bars that are fitted on and the first decision: returns ahead are known by then."""
RIDGE = 0.0005
_BP = 1e4


class Targets(MarketRule):
    """Targets that were worked out bar by bar, each from bars before and the bar itself."""

    def __init__(self, wanted: FloatArray) -> None:
        """Take targets (T, N) in [−1, 1]."""
        self._wanted = torch.from_numpy(np.nan_to_num(wanted).T.reshape(-1).copy())

    def wants(self, row: torch.Tensor) -> torch.Tensor:
        """Return targets at rows of the market."""
        return self._wanted[row]


def main(workspace: str, name: str, test_day: str) -> None:
    """Measure one dataset and print tables."""
    inputs = tb.load_bars(name, workspace=workspace).inputs
    features = compute_features(inputs, RELATIVE)
    raw = compute_features(inputs, RELATIVE, form="raw")
    own, beta = raw["idiosyncratic_volatility"], raw["market_beta"]
    cut, length = int(np.searchsorted(inputs.closed_at, np.datetime64(test_day))), inputs.shape[0]
    before, test = IndexRange(WARM_UP_BARS, cut), IndexRange(cut, length)
    ahead, residuals = next_returns(inputs), day_residuals(inputs, beta)
    print(f"# {name}: {len(inputs.symbols)} symbols, {length:,} bars, test from {test_day}")
    parts = {"all": IndexRange(WARM_UP_BARS, length), "before": before, "test": test}
    for words, part in parts.items():
        for of, target in (("open to open", ahead), ("residual of the bar", residuals)):
            found = -coefficients(features["residual_1"], target, part)
            t = found.mean() / mean_error(found)
            print(f"IC of -residual_1 and {of}, {words}: {found.mean():+.4f}, t = {t:.1f}")
    print_night(inputs)
    sign = np.sign(coefficients(features["residual_1"], ahead, before).mean())
    world = world_of_prices(inputs, label=name, synthetic=False)
    reversal = sign * features["residual_rank"]
    print_costs("reversal, all bars (the sign was seen)", world, reversal, parts["all"])
    print_costs("reversal, test", world, reversal, test)
    some = ("residual_1", "same_hour_residual")
    for words, names in (("all nine features", tuple(features)), (" and ".join(some), some)):
        chosen = [features[each] for each in names]
        print_costs(f"{words}, refitted, test", world, refitted(chosen, ahead / own, cut), test)


def next_returns(inputs: MarketInputs) -> FloatArray:
    """Return (T, N) open-to-open returns that a decision at the close of each bar can earn."""
    opens = inputs.bars["open"]
    ahead = np.full(opens.shape, np.nan)
    ahead[:-2] = opens[2:] / opens[1:-1] - 1.0
    return ahead


def day_residuals(inputs: MarketInputs, beta: FloatArray) -> FloatArray:
    """Return (T, N) the next bar's return from open to close, less beta times the mean of all."""
    ahead = np.full(beta.shape, np.nan)
    ahead[:-1] = inputs.bars["close"][1:] / inputs.bars["open"][1:] - 1.0
    there = np.isfinite(ahead)
    mean = np.where(there, ahead, 0.0).sum(1, keepdims=True) / np.maximum(there.sum(1), 1)[:, None]
    return np.asarray(ahead - beta * mean)


def centred(values: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
    """Return values (T, N) less the mean over the symbols used at each bar; 0 for others."""
    count = np.maximum(used.sum(axis=1, keepdims=True), 1)
    mean = np.where(used, values, 0.0).sum(axis=1, keepdims=True) / count
    return np.where(used, values - mean, 0.0)


def coefficients(signal: FloatArray, ahead: FloatArray, part: IndexRange) -> FloatArray:
    """Return the correlation over symbols of the signal with the next return, at every bar."""
    x, y = signal[part.start : part.stop], ahead[part.start : part.stop]
    both = np.isfinite(x) & np.isfinite(y)
    kept = both.sum(axis=1) >= 20
    x, y = (centred(values[kept], both[kept]) for values in (x, y))
    return np.asarray((x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)))


def refitted(features: list[FloatArray], ahead: FloatArray, first: int) -> FloatArray:
    """Return targets (T, N) by ridge weights that are fitted anew on all bars before.

    Args:
        features: (T, N) each.
        ahead: (T, N) next return in units of the symbol's own volatility.
        first: Bar of the first decision.
    """
    table = np.stack(features, axis=-1)
    there = np.isfinite(table).all(axis=-1)
    used = there & np.isfinite(ahead)
    scale = [float(np.std(each[:first][there[:first]])) for each in features]
    x = np.stack([centred(each / s, there) for each, s in zip(features, scale, strict=True)], -1)
    x = np.clip(x, -5.0, 5.0)
    y = np.clip(centred(ahead, used), -5.0, 5.0)
    targets = np.zeros(ahead.shape)
    for start in range(first, len(ahead), REFIT_BARS):
        known = slice(0, start - GAP_BARS)
        fit, of = x[known][used[known]], y[known][used[known]]
        penalty = RIDGE * len(of) * np.eye(x.shape[-1])
        weights = np.linalg.solve(fit.T @ fit + penalty, fit.T @ of)
        now = slice(start, start + REFIT_BARS)
        signal = centred(x[now] @ weights, there[now])
        size = np.abs(signal).sum(1, keepdims=True) / np.maximum(there[now].sum(1), 1)[:, None]
        targets[now] = np.clip(GROSS_FRAC * signal / np.maximum(size, 1e-12), -1.0, 1.0)
    return targets


def print_night(inputs: MarketInputs) -> None:
    """Print the mean return of the nights, equal weight."""
    day = inputs.closed_at.astype("datetime64[D]")
    first = np.flatnonzero(day[1:] != day[:-1]) + 1
    nights = inputs.bars["open"][first] / inputs.bars["close"][first - 1] - 1.0
    mean = np.nanmean(nights, axis=1)
    t = mean.mean() / mean_error(mean)
    print(f"overnight: {mean.mean() * _BP:+.1f} bp a night, t = {t:.1f}")


def print_costs(words: str, world: World, targets: FloatArray, part: IndexRange) -> None:
    """Let targets trade at rising costs, and print what one unit of gross exposure earned."""
    rule, rules = Targets(targets), sleeve_config(read_costs(0.0), allow_short=True)
    action = replace(rules.rules.action, neutral_gross_frac=GROSS_FRAC)
    rules = replace(rules, rules=replace(rules.rules, action=action))
    tested = [PolicyUnderTest(f"{cost:g}", rule, costs=read_costs(cost)) for cost in COSTS_BPS]
    played = backtest_all(world, rules, tested, bars_per_year=BARS_PER_YEAR, bars=part)
    moves = bar_returns(world.prices, world.present)
    betas = IndexRange(0, max(part.start, 2 * WARM_UP_BARS))
    factor = fit_factor(moves, world.symbols, betas, world.closed_at)
    judged = factor.during(IndexRange(part.start + 1, part.stop))
    print(f"\n{words}: {part.stop - part.start - 1:,} bars, of one unit of gross exposure")
    print("| cost, bp a fill | net, bp a bar | t | alpha, bp a bar | t | turnover a bar |")
    print("|---|---|---|---|---|---|")
    lines: tuple[list[float], list[float]] = ([], [])
    for cost, each in zip(COSTS_BPS, played, strict=True):
        gross = float(np.abs(each.exposure.day).mean())
        earned = each.equity[1:] / each.equity[:-1] - 1.0
        alpha = attribute(earned, each.exposure, judged).alpha
        series = [values.mean(axis=1) / gross for values in (earned, alpha)]
        for line, values in zip(lines, series, strict=True):
            line.append(float(values.mean() * _BP))
        cells = [f"{m.mean() * _BP:+.2f} | {m.mean() / mean_error(m):+.1f}" for m in series]
        print(f"| {cost:g} | {' | '.join(cells)} | {each.turnover_frac.mean() / gross:.2f} |")
    held = played[0].exposure.day
    share = np.abs(held.sum(1)).mean() / np.abs(held).sum(1).mean()
    even = [break_even_bps(COSTS_BPS, line) for line in lines]
    said = ["none" if each is None else f"{each:.2f} bp a fill" for each in even]
    print(f"break-even: net {said[0]}, alpha {said[1]}; |sum of exposures| / gross: {share:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
