"""Worlds: built from panels, generators and arrays; cut; refused when they cannot be right."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.universe import Member, Universe
from tradingbot.envs import (
    TradingEnv,
    World,
    cut_world,
    select_symbols,
    synthetic_world,
    world_from_bars,
    world_from_panel,
)
from tradingbot.envs.build_world import world_from_market
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.envs.world import _BY_BAR, FEATURE_BOUND, symbol_index
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import Panel, build_panel, panel_specs
from tradingbot.features.scaling import fit_scaler

N_BARS = 320
TRAIN_BARS = 224
"""70 % of them."""


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("planted", n_symbols=3, n_bars=N_BARS, seed=5)


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory, world: World) -> Panel:
    return panel_of(world, tmp_path_factory.mktemp("panels"))


def panel_of(world: World, root: Path) -> Panel:
    columns = [np.ascontiguousarray(world.prices[..., i].T) for i in range(5)]
    names = ("open", "high", "low", "close", "volume")
    inputs = MarketInputs(
        symbols=world.symbols,
        closed_at=world.closed_at.astype("datetime64[us]"),
        present=np.ascontiguousarray(world.present.T),
        bars={**dict(zip(names, columns, strict=True)), "vwap": columns[3]},
    )
    return build_panel(inputs, panel_specs(()), dataset_hash="a" * 64, root=root, synthetic=True)


def test_synthetic_world_has_shapes_label_and_no_undefined_number(world: World) -> None:
    assert world.prices.shape == (3, N_BARS, 5)
    assert world.features.shape == (3, N_BARS, 24)  # the signal of the market is the 24th
    assert world.feature_names[-1] == "signal"
    assert world.regimes.shape == (3, N_BARS, 10)
    assert world.features.dtype == world.regimes.dtype == np.float32
    assert np.isfinite(world.features).all()
    assert world.synthetic
    assert "synthetic" in world.label
    assert np.allclose(world.probabilities, 1 / 3)
    assert world.usable.sum(axis=1).tolist() == [N_BARS - 191] * 3


def test_synthetic_world_of_the_same_seed_is_the_same_and_of_another_is_not(world: World) -> None:
    again = synthetic_world("planted", n_symbols=3, n_bars=N_BARS, seed=5)
    other = synthetic_world("planted", n_symbols=3, n_bars=N_BARS, seed=6)

    assert np.array_equal(again.features, world.features)
    assert np.array_equal(again.prices, world.prices)
    assert not np.array_equal(other.prices, world.prices)


def test_synthetic_clock_has_seven_bars_on_weekdays_only(world: World) -> None:
    closes = world.closed_at.astype("datetime64[us]")
    days, counts = np.unique(closes.astype("datetime64[D]"), return_counts=True)

    assert np.is_busday(days).all()
    assert set(counts[:-1].tolist()) == {7}
    assert str(closes[0]) == "2016-01-04T15:30:00.000000"
    assert str(closes[6]) == "2016-01-04T21:00:00.000000"


def test_signal_of_a_planted_world_predicts_the_next_return(world: World) -> None:
    strong = synthetic_world("planted", n_symbols=3, n_bars=600, seed=1, kappa=0.5)
    signal = strong.features[:, 200:-1, -1]
    ahead = np.diff(np.log(strong.prices[..., 3]), axis=1)[:, 200:]

    assert np.corrcoef(signal.ravel(), ahead.ravel())[0, 1] > 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "plantd"}, "Did you mean 'planted'"),
        ({"n_symbols": 0}, "n_symbols must be 1 or more"),
        ({"n_bars": 0}, "n_bars must be 1 or more"),
        ({"seed": -1}, "seed must lie in"),
        ({"kapa": 0.1}, "kappa"),
    ],
)
def test_synthetic_world_of_wrong_arguments_is_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        synthetic_world(**{"n_bars": 300, **arguments})  # type: ignore[arg-type]


def test_world_too_short_to_scale_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"need 192 bars.*was 70 by.*Use 275 bars or more"):
        synthetic_world(n_bars=100)

    assert synthetic_world(n_bars=275).usable.any()  # what the message promises


def test_scaler_sees_only_the_training_bars(world: World) -> None:
    prices = world.prices.copy()
    prices[:, 260:, :4] *= 3.0  # a split that nobody adjusted, long after training
    train = IndexRange(0, 250)
    arguments = (world.present, world.closed_at, world.symbols)

    calm = world_from_bars(world.prices, *arguments, train=train)
    shaken = world_from_bars(prices, *arguments, train=train)

    assert np.array_equal(calm.features[:, :260], shaken.features[:, :260])
    assert not np.array_equal(calm.features[:, 260:], shaken.features[:, 260:])
    trained = calm.features[:, :250][calm.usable[:, :250]]
    assert np.allclose(trained[:, 3].mean(), 0.0, atol=1e-4)
    assert np.allclose(trained[:, 3].std(), 1.0, atol=1e-3)


def shaken_after_training(world: World) -> World:
    """Another market in the last 30 % of the bars, the same before."""
    prices = world.prices.copy()
    prices[:, TRAIN_BARS:, :4] *= 3.0
    return replace(world, prices=prices)


def test_default_training_bars_of_arrays_do_not_reach_the_later_ones(world: World) -> None:
    calm, shaken = (
        world_from_bars(each.prices, world.present, world.closed_at, world.symbols)
        for each in (world, shaken_after_training(world))
    )

    assert np.array_equal(calm.features[:, :TRAIN_BARS], shaken.features[:, :TRAIN_BARS])
    assert not np.array_equal(calm.features[:, TRAIN_BARS:], shaken.features[:, TRAIN_BARS:])


def test_default_training_bars_of_a_panel_do_not_reach_the_later_ones(
    panel: Panel, world: World, tmp_path: Path
) -> None:
    calm = world_from_panel(panel)
    shaken = world_from_panel(panel_of(shaken_after_training(world), tmp_path))

    assert np.array_equal(calm.features[:, :TRAIN_BARS], shaken.features[:, :TRAIN_BARS])
    assert not np.array_equal(calm.features[:, TRAIN_BARS:], shaken.features[:, TRAIN_BARS:])


def test_default_training_bars_of_a_generated_world_are_the_first_70_percent(world: World) -> None:
    def trained_on(n_bars: int) -> World:
        train = IndexRange(0, n_bars)
        return synthetic_world("planted", n_symbols=3, n_bars=N_BARS, seed=5, train=train)

    assert np.array_equal(world.features, trained_on(TRAIN_BARS).features)
    assert not np.array_equal(world.features, trained_on(TRAIN_BARS + 1).features)


def test_features_beyond_the_bound_are_cut_to_it(world: World) -> None:
    prices = world.prices.copy()
    prices[:, 300, 4] *= 1e6
    prices[:, 300:, :4] *= 50.0

    wild = world_from_bars(prices, world.present, world.closed_at, world.symbols)

    assert np.abs(wild.features).max() == FEATURE_BOUND


def test_absent_bars_are_nan_unusable_and_without_features(world: World) -> None:
    present = world.present.copy()
    present[1, 250:260] = False

    holed = world_from_bars(world.prices, present, world.closed_at, world.symbols)

    assert np.isnan(holed.prices[1, 250:260]).all()
    assert not holed.usable[1, 250:260].any()
    assert (holed.features[1, 250:260] == 0.0).all()
    assert holed.usable[0, 250:260].all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prices": np.ones((3, N_BARS, 4))}, r"prices must be \(N, T, 5\)"),
        ({"present": np.ones((3, 7), bool)}, r"present must be \(N, T\)"),
        ({"covariates": {"signal": np.ones((3, 7))}}, r"signal must be \(N, T\)"),
        ({"symbols": ("A", "B")}, "prices must be"),
        ({"closed_at": np.zeros(N_BARS, np.int64)}, "in order of time"),
        ({"train": IndexRange(0, 999)}, "training bars must be in the data"),
        ({"train": IndexRange(5, 5)}, "training bars must be in the data"),
    ],
)
def test_wrong_arrays_are_refused(world: World, change: dict[str, object], message: str) -> None:
    arguments = {
        "prices": world.prices,
        "present": world.present,
        "closed_at": world.closed_at,
        "symbols": world.symbols,
    }
    with pytest.raises(DataError, match=message):
        world_from_bars(**{**arguments, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["planted", "regimes", "hidden_trend"])
def test_arrays_with_covariates_make_the_world_of_their_market(kind: str) -> None:
    market = synthetic_market(kind, n_symbols=2, n_bars=N_BARS, seed=5, params={})
    fields = (
        market.opens, market.highs, market.lows, market.closes, market.volumes, market.vwaps
    )  # fmt: skip
    prices = np.stack(fields, axis=-1).swapaxes(0, 1)
    arguments = (prices, np.ones((2, N_BARS), bool), market.closed_at, market.symbols)
    covariates = {name: values.T for name, values in market.covariates.items()}

    made = world_from_bars(*arguments, covariates=covariates, synthetic=True)
    expected = world_from_market(market, label=made.label)

    assert made.feature_names == expected.feature_names
    for name in ("prices", "present", "features", "regimes", "usable", "closed_at"):
        assert np.array_equal(getattr(made, name), getattr(expected, name)), name
    bare = world_from_bars(*arguments)
    assert np.array_equal(bare.features, made.features) == (not covariates)


def test_bars_in_wrong_order_are_named(world: World) -> None:
    clock = world.closed_at.copy()
    clock[[10, 11]] = clock[[11, 10]]

    with pytest.raises(DataError, match="bar 11"):
        world_from_bars(world.prices, world.present, clock, world.symbols)


def test_panel_becomes_a_world_with_its_23_features(panel: Panel, world: World) -> None:
    made = world_from_panel(panel)

    assert made.features.shape == (3, N_BARS, 23)
    assert made.feature_names == panel.manifest.features
    assert made.synthetic
    assert "panel aaaaaaaa, synthetic" in made.label
    assert np.array_equal(made.prices, world.prices)


def test_period_of_a_panel_keeps_what_features_remember(panel: Panel) -> None:
    whole = world_from_panel(panel)
    part = world_from_panel(panel, period=IndexRange(250, 300))

    assert part.n_bars == 50
    assert np.array_equal(part.features, whole.features[:, 250:300])
    assert part.usable.all()


def test_scaler_of_a_panel_can_be_given(panel: Panel) -> None:
    scaler = fit_scaler(
        "robust",
        panel.numpy("features"),
        panel.numpy("valid"),
        slice(0, 250),
        feature_names=panel.manifest.features,
        symbols=panel.symbols,
    )

    made = world_from_panel(panel, scaler=scaler)

    assert not np.array_equal(made.features, world_from_panel(panel).features)


def test_symbol_may_be_traded_only_while_a_member(panel: Panel) -> None:
    joined = date(2016, 2, 1)
    universe = Universe("late", (Member("S000", joined_on=joined), Member("S001")))

    made = world_from_panel(panel, universe=universe)

    day = made.closed_at.astype("datetime64[us]").astype("datetime64[D]")
    assert np.array_equal(made.present[0], day >= np.datetime64(joined))
    assert made.present[1].all()
    assert not made.present[2].any()
    assert np.isnan(made.prices[2]).all()
    assert not (made.usable & ~made.present).any()
    assert "members of late" in made.label


def test_cuts_keep_everything_together(world: World) -> None:
    cut = cut_world(select_symbols(world, ["S002", "S000"]), 200, 259)

    assert cut.symbols == ("S002", "S000")
    assert cut.n_bars == 60
    assert np.array_equal(cut.prices[1], world.prices[0, 200:260])
    assert np.array_equal(cut.features[0], world.features[2, 200:260])
    assert cut.closed_at[0] == world.closed_at[200]
    assert "bars 200 to 259" in cut.label


@pytest.mark.parametrize(("first", "last"), [(-1, 5), (5, 4), (0, N_BARS)])
def test_bars_outside_a_world_are_refused(world: World, first: int, last: int) -> None:
    with pytest.raises(DataError, match="bars must be in the world"):
        cut_world(world, first, last)


def test_unknown_symbol_is_answered_with_the_closest(world: World) -> None:
    with pytest.raises(DataError, match="Did you mean 'S001'"):
        symbol_index(world, "S0O1")
    with pytest.raises(DataError, match="a symbol and a bar"):
        select_symbols(world, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros((3, N_BARS, 2), np.float32)}, "features must have shape"),
        ({"usable": np.zeros((3, 2), bool)}, "usable must have shape"),
        ({"symbols": ("A", "A", "B")}, "named once"),
        ({"present": np.zeros((3, N_BARS), bool)}, "usable bars must be present"),
        ({"regimes": np.full((3, N_BARS, 10), np.nan, np.float32)}, "regimes must be finite"),
        ({"features": np.full((3, N_BARS, 24), 11.0, np.float32)}, r"lie in \[-10, 10\]"),
        ({"features": np.full((3, N_BARS, 24), -np.inf, np.float32)}, "must be finite"),
    ],
)
def test_record_that_contradicts_itself_is_refused(
    world: World, change: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        replace(world, **change)  # type: ignore[arg-type]


def test_world_is_not_copied_with_what_holds_it(world: World) -> None:
    assert copy.deepcopy({"world": world})["world"] is world


def test_world_is_read_only_and_leaves_the_arrays_of_its_maker_alone(world: World) -> None:
    prices, clock = world.prices.copy(), world.closed_at.copy()
    made = replace(world, prices=prices, closed_at=clock)

    for name in (*_BY_BAR, "closed_at"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(made, name)[...] = 0

    assert prices.flags.writeable
    assert clock.flags.writeable
    assert np.shares_memory(made.prices, prices)  # a view, as the class says


def test_real_bars_become_a_world_one_can_trade(real_data: Path) -> None:
    symbols = ["AAPL", "MCD", "SPY"]
    rows = (
        pl.scan_parquet(real_data / "us_hourly_2023_2025.parquet")
        .filter(pl.col("symbol").is_in(symbols))
        .collect()
    )
    columns = [
        rows.pivot(on="symbol", index="timestamp", values=name)
        .sort("timestamp")
        .select(symbols)
        .cast(pl.Float64)
        .to_numpy()
        .T
        for name in ("open", "high", "low", "close", "volume")
    ]
    prices = np.stack(columns, axis=-1)[:, :1000]
    hour = 3_600_000_000
    clock = rows["timestamp"].unique().sort().cast(pl.Datetime("us")).to_physical().to_numpy()

    made = world_from_bars(prices, ~np.isnan(prices[..., 3]), clock[:1000] + hour, symbols)
    env = TradingEnv(made)
    observation, info = env.reset(seed=1)
    total = sum(float(env.step(0.5)[1]) for _ in range(100))

    assert env.observation_space.contains(observation)
    assert not info["synthetic"]
    assert np.isfinite(total)
