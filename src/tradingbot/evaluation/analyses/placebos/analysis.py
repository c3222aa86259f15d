"""A run's policy where nothing can be earned: shuffled, flipped and reversed bars, and coins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World, cut_world, select_symbols
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.placebos.bars import (
    flip_bars,
    flip_bars_at_random,
    reverse_bars,
    shuffle_bars,
)
from tradingbot.evaluation.analyses.placebos.measure import (
    Change,
    PlaceboSettings,
    placebo_bars,
    placebo_row,
    random_policies_row,
)
from tradingbot.evaluation.analyses.sensitivity.sweep import one_way_bps
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.dossier.evidence import PlaceboRow, Placebos
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.networks.encoders.catalogue import encoder_preset

FloatArray = NDArray[np.float64]
_LANES = 512
"""Sleeves that are simulated together at most; bounds memory."""
_LEAD_BARS = 128
"""Bars before the part that accounts look back on: volatility for impact."""


def measure_placebos(
    subject: EvaluatedRun,
    settings: PlaceboSettings,
    progress: Callable[[int, int, str], None] | None = None,
) -> Placebos:
    """Let the run's policy trade placebos of its test part, and coins the part itself.

    Signals that are not computed from bars (covariates) stay where they were: on a market with a
    planted edge nothing of it is left once returns have moved.

    Raises:
        DataError: If the test part has too few bars.
    """
    part = subject.bars("test")
    truth = subject.backtest(part)
    real_net_bps = 1e4 * float(truth.returns.mean())
    counterfactual = CounterfactualData(subject)
    rows: list[PlaceboRow] = []
    kinds = _kinds(settings)
    total = sum(len(changes) for _, _, changes in kinds)
    for name, words, changes in kinds:
        net = []
        for found in play_placebos(subject, counterfactual, part, changes):
            net.extend(found)
            if progress:
                progress(sum(row.draws for row in rows) + len(net), total, name)
        rows.append(placebo_row(name, words, net, real_net_bps))
    rows.append(_coins(subject, truth, part, real_net_bps, settings))
    return Placebos(tuple(rows))


def _kinds(settings: PlaceboSettings) -> list[tuple[str, str, list[Change]]]:
    blocks: dict[str, Any] = {"block_bars": settings.block_bars}
    seeds = [settings.seed + draw for draw in range(settings.draws)]
    return [
        (
            "shuffled returns",
            f"blocks of {settings.block_bars} bars in another order, without drift",
            [partial(shuffle_bars, seed=seed, **blocks) for seed in seeds],
        ),
        (
            "random signs",
            f"blocks of {settings.block_bars} bars with the sign of a coin, without drift",
            [partial(flip_bars_at_random, seed=seed, **blocks) for seed in seeds],
        ),
        (
            "reversed time",
            "bars backwards, without drift; symmetric autocorrelation survives; one draw, "
            "which is shown and not judged",
            [reverse_bars],
        ),
        (
            "flipped signs",
            "rises are falls, without drift; autocorrelation survives; one draw, which is shown "
            "and not judged",
            [flip_bars],
        ),
    ]


def play_placebos(
    subject: EvaluatedRun,
    counterfactual: CounterfactualData,
    part: IndexRange,
    changes: Sequence[Change],
) -> Iterator[list[FloatArray]]:
    """Yield the portfolio's net returns (S,) of draws, some at a time."""
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


def side_by_side(worlds: Sequence[World]) -> World:
    """Join worlds of the same symbols and bars; symbol k · N + n is n's in world k."""
    first = worlds[0]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(world, name) for world in worlds])

    return replace(
        first,
        symbols=tuple(f"{name} · {k}" for k, world in enumerate(worlds) for name in world.symbols),
        prices=joined("prices"),
        present=joined("present"),
        features=joined("features"),
        regimes=joined("regimes"),
        probabilities=joined("probabilities"),
        usable=joined("usable"),
        vwap=None,
    )


def _coins(
    subject: EvaluatedRun,
    truth: Backtest,
    part: IndexRange,
    real_net_bps: float,
    settings: PlaceboSettings,
) -> PlaceboRow:
    closes = subject.data.world.prices[:, part.start : part.stop, 3].T
    known = np.isfinite(closes[1:]) & np.isfinite(closes[:-1])
    ratio = np.divide(closes[1:], closes[:-1], out=np.ones_like(closes[1:]), where=known)
    return random_policies_row(
        ratio - 1.0,
        turnover=float(truth.turnover_frac.mean()),
        exposure=float(np.abs(truth.position_frac).mean()),
        cost_frac=one_way_bps(subject.env.costs) / 1e4,
        real_net_bps=real_net_bps,
        settings=settings,
    )
