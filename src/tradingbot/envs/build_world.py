"""Builds worlds: from a stored panel, from a generated market, or from arrays of one's own.

Features are scaled by statistics of training bars alone and cut to `FEATURE_BOUND`; regimes are
bounded by construction. Cutting a world in symbols or time is in `world.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.universes import membership_mask
from tradingbot.domain.errors import DataError
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.domain.universe import Universe
from tradingbot.envs.clock import read_clock
from tradingbot.envs.synthetic_market import inputs_of_market, known_at_close, synthetic_market
from tradingbot.envs.world import FEATURE_BOUND, World, cut_world
from tradingbot.features.bar_scaling import REGIME_BOUND
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs
from tradingbot.features.panel import Panel, panel_specs, panel_tensors
from tradingbot.features.scaling import Pooling, Scaler, ScalerKind, ScalerOptions, fit_scaler

TRAIN_FRAC = 0.7
"""Share of the bars, from the first, that a scaler is fitted on unless a range is given."""
Scaling = tuple[ScalerKind, Pooling]
"""Kind of a scaler, and whether symbols share it."""
USUAL_SCALING: Scaling = ("standard", "pooled")


@dataclass(frozen=True)
class _Origin:
    """Names that go with the tensors of a panel."""

    symbols: tuple[str, ...]
    feature_names: tuple[str, ...]
    covariate_names: tuple[str, ...]
    regime_names: tuple[str, ...]
    label: str
    synthetic: bool


def world_from_panel(
    panel: Panel,
    *,
    period: IndexRange | None = None,
    train: IndexRange | None = None,
    scaler: Scaler | None = None,
    covariate_scaler: Scaler | None = None,
    universe: Universe | None = None,
) -> World:
    """Make a world of a stored panel.

    Args:
        panel: What `tradingbot features build` made.
        period: Bars of the panel that become the world's; all by default. Features keep what they
            remember of the bars before.
        train: Bars the scaler is fitted on; by default the first `TRAIN_FRAC` of the panel.
        scaler: A fitted scaler of the 23 features instead; then `train` is not used for those.
        covariate_scaler: The same of the panel's covariates.
        universe: Symbols may be traded only while they were members; by default always.

    Raises:
        DataError: If the period or the training range is not in the panel, or holds nothing.
    """
    manifest = panel.manifest
    word = {True: "synthetic", False: "observed", None: "of unrecorded origin"}[manifest.synthetic]
    names = (manifest.features, manifest.covariates, manifest.regimes)
    label = f"panel {manifest.dataset_sha256[:8]}, {word}"
    origin = _Origin(panel.symbols, *names, label, bool(manifest.synthetic))
    whole = _assemble(panel.arrays, origin, train=train, scalers=(scaler, covariate_scaler))
    if universe is not None:
        whole = _while_member(whole, universe)
    return whole if period is None else cut_world(whole, period.start, period.stop - 1)


def world_from_bars(  # noqa: PLR0913 - what identifies bars of one's own, by name
    prices: NDArray[np.float64],
    present: NDArray[np.bool_],
    closed_at: ArrayLike,
    symbols: Sequence[str],
    *,
    covariates: Mapping[str, NDArray[np.float64]] | None = None,
    train: IndexRange | None = None,
    label: str = "bars from arrays",
    synthetic: bool = False,
) -> World:
    """Make a world of arrays, with the registered features computed from them.

    Args:
        prices: (N, T, 5 or 6) open, high, low, close, volume and, if there, vwap; else
            (high + low + close) / 3 stands for it. What is not present is not read.
        present: (N, T) there is a bar.
        closed_at: (T,) rising: datetime64 of any unit, or whole microseconds since 1970 UTC.
        symbols: N names.
        covariates: Name → (N, T) values that became known by the close of their bar, NaN where
            there is no new one: features behind the registered ones, or read by those.
        train: Bars the scaler is fitted on; by default the first `TRAIN_FRAC`.
        label: Where the bars are from.
        synthetic: They were generated.

    Raises:
        DataError: If shapes disagree, the clock does not rise or is in another unit, or there is
            too little to scale by.
    """
    clock, covariates = read_clock(closed_at), covariates or {}
    n, t = len(symbols), len(clock)
    where = f"{n}, {t}"
    if prices.ndim != 3 or prices.shape[:2] != (n, t) or prices.shape[2] not in (5, 6):
        raise DataError("prices must be (N, T, 5) or (N, T, 6)", was=prices.shape, where=where)
    for name, table in {"present": present, **covariates}.items():
        if table.shape != (n, t):
            raise DataError(f"{name} must be (N, T)", was=table.shape, where=where)
    columns = np.where(present[..., None], prices.astype(np.float64), np.nan)
    if columns.shape[2] == 5:
        columns = np.concatenate([columns, columns[..., 1:4].mean(-1, keepdims=True)], axis=-1)
    inputs = MarketInputs(
        symbols=tuple(symbols),
        closed_at=clock.astype("datetime64[us]"),
        present=np.ascontiguousarray(present.T.astype(bool)),
        bars={name: np.ascontiguousarray(columns[..., i].T) for i, name in enumerate(BAR_FIELDS)},
        covariates=known_at_close(
            {name: values.T for name, values in covariates.items()}, clock.astype("datetime64[us]")
        ),
    )
    return world_from_inputs(inputs, label=label, synthetic=synthetic, train=train)


def synthetic_world(
    kind: str = "planted",
    *,
    n_symbols: int = 4,
    n_bars: int = 1_000,
    seed: int = 0,
    train: IndexRange | None = None,
    **params: object,
) -> World:
    """Generate a market in memory and make a world of it; the same arguments give the same bits.

    Hourly bars, seven to a weekday, without holidays. Covariates of the market (the signal of
    `planted`) are features behind the 23 registered ones.

    Args:
        kind: A market of `data.synthetic`: planted, regimes, noise …
        n_symbols: N, named S000, S001 …
        n_bars: T; regimes of features are defined after 192 bars.
        seed: Root of every random stream.
        train: Bars the scaler is fitted on; by default the first `TRAIN_FRAC`.
        **params: Parameters of the market.

    Raises:
        ConfigError: If the market, a parameter or a size is not allowed.
    """
    generated = synthetic_market(kind, n_symbols=n_symbols, n_bars=n_bars, seed=seed, params=params)
    label = f"synthetic market {kind!r}, {n_symbols} symbols, {n_bars} bars, seed {seed}"
    return world_from_market(generated, label=label, train=train)


def world_from_market(
    market: SyntheticMarket,
    *,
    label: str,
    train: IndexRange | None = None,
    feature_set: FeatureSet = "default",
) -> World:
    """Make a world of a generated market; its covariates are features behind the registered ones.

    Args and raises: see `world_from_inputs`.
    """
    inputs = inputs_of_market(market)
    return world_from_inputs(
        inputs, label=label, synthetic=True, train=train, feature_set=feature_set
    )


def world_from_inputs(  # noqa: PLR0913 - one keyword for each thing that can differ
    inputs: MarketInputs,
    *,
    label: str,
    synthetic: bool,
    train: IndexRange | None = None,
    scaler: Scaler | None = None,
    covariate_scaler: Scaler | None = None,
    feature_set: FeatureSet = "default",
    scaling: Scaling = USUAL_SCALING,
) -> World:
    """Make a world of bars and covariates on a grid, with the registered features of them.

    Args:
        inputs: The market; its covariates are features behind the registered ones.
        label: Where the bars are from.
        synthetic: They were generated.
        train: Bars the scaler is fitted on; by default the first `TRAIN_FRAC`.
        scaler: A fitted scaler of the features instead.
        covariate_scaler: The same of the covariates.
        feature_set: Which features per bar.
        scaling: Kind of the features' scaler, where one is fitted, and whether symbols share it.

    Raises:
        DataError: If there is too little to scale by.
    """
    specs = panel_specs(inputs.covariates, feature_set)
    technical, covariate, regime = (
        tuple(spec.name for spec in specs if spec.family == family)
        for family in ("technical", "covariate", "regime")
    )
    origin = _Origin(inputs.symbols, technical, covariate, regime, label, synthetic)
    scalers = (scaler, covariate_scaler)
    tensors = panel_tensors(inputs, specs)
    return _assemble(tensors, origin, train=train, scalers=scalers, scaling=scaling)


def _assemble(
    tensors: Mapping[str, NDArray[Any]],
    origin: _Origin,
    *,
    train: IndexRange | None,
    scalers: tuple[Scaler | None, Scaler | None],
    scaling: Scaling = USUAL_SCALING,
) -> World:
    """Scale the tensors of a panel and name them; scalers that are None are fitted."""
    present, valid = tensors["present"], tensors["valid"]
    n, t = present.shape
    rows = IndexRange(0, max(1, round(TRAIN_FRAC * t))) if train is None else train
    if rows.stop > t or not len(rows):
        rule = "training bars must be in the data"
        raise DataError(rule, was=f"{rows.start} … {rows.stop - 1}", where=f"{t} bars")
    if scalers[0] is None and not valid[:, rows.start : rows.stop].any():
        _require_warm(present, rows, origin.covariate_names)
    columns = [("features", origin.feature_names), ("covariates", origin.covariate_names)]
    used, parts = [], []
    for (name, names), given in zip(columns, scalers, strict=True):
        if name == "covariates" and not names:
            continue
        kind, pooling = scaling if name == "features" else USUAL_SCALING
        scaler = given or fit_scaler(
            kind,
            tensors[name],
            valid,
            slice(rows.start, rows.stop),
            feature_names=names,
            symbols=origin.symbols,
            options=ScalerOptions(pooling=pooling),
        )
        used.append(scaler)
        parts.append(scale_features(scaler, tensors[name], valid, names))
    return World(
        symbols=origin.symbols,
        prices=np.where(present[..., None], tensors["prices"][..., :5], np.nan),
        present=np.array(present),
        features=np.ascontiguousarray(np.concatenate(parts, axis=-1), dtype=np.float32),
        regimes=np.clip(tensors["regimes"], -REGIME_BOUND, REGIME_BOUND),
        probabilities=np.full((n, t, 3), 1.0 / 3.0, dtype=np.float32),
        usable=present & valid,
        closed_at=np.array(tensors["closed_at"]),
        feature_names=(*origin.feature_names, *origin.covariate_names),
        regime_names=origin.regime_names,
        label=origin.label,
        synthetic=origin.synthetic,
        vwap=np.where(present, tensors["prices"][..., 5], np.nan),
        scalers=tuple(used),
    )


def scale_features(
    scaler: Scaler, features: NDArray[Any], valid: NDArray[np.bool_], names: Sequence[str]
) -> NDArray[np.float32]:
    """Scale features (N, T, F) of a panel as worlds show them: within `FEATURE_BOUND`."""
    scaled = scaler.transform(features, valid, feature_names=names)
    return np.clip(scaled, -FEATURE_BOUND, FEATURE_BOUND).astype(np.float32)


def _require_warm(present: NDArray[np.bool_], rows: IndexRange, covariates: Sequence[str]) -> None:
    """Refuse training bars without a defined feature that end before any can be."""
    needed = max(spec.lookback_bars for spec in panel_specs(covariates))
    most = int(present[:, : rows.stop].sum(axis=1).max())
    if most < needed:
        rule = f"features must be defined in training: they need {needed} bars of a symbol"
        where = f"training bars {rows.start} … {rows.stop - 1} of {present.shape[1]}"
        remedy = f"Use {math.ceil(needed / TRAIN_FRAC)} bars or more, or a later end of train"
        raise DataError(rule, was=f"{most} by the end of training", where=where, remedy=remedy)


def _while_member(world: World, universe: Universe) -> World:
    mask = membership_mask(universe, world.symbols, world.closed_at.astype("datetime64[us]")).T
    present = world.present & mask
    return replace(
        world,
        prices=np.where(present[..., None], world.prices, np.nan),
        present=present,
        usable=world.usable & mask,
        label=f"{world.label}, members of {universe.name}",
    )
