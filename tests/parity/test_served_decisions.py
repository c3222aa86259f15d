"""Served and PyTorch policies trade the same: backtests of the same bars, accounts included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.envs.build_world import synthetic_world, world_from_bars
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.backtests import backtest
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.runs.policy import load_policy
from tradingbot.serving.export.parity import measure_gaps, record_parity
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.table_policy import ServedPolicy
from tradingbot_benchmarks.serving.drawn_run import DrawnModel, draw_run

SPACES: dict[str, dict[str, Any]] = {
    "discrete": {"squash": None, "n_outputs": 7},
    "target": {"squash": Squash("sigmoid", gain=3.0, levels=5), "n_outputs": 1},
}
SMALL = EncoderConfig(n_layers=2, width=8, n_heads=2, lookback_bars=6)
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "us_hourly_2023_2025.parquet"


def trade_both(world: World, space: str, encoder: EncoderConfig, folder: Path) -> tuple[Any, Any]:
    """Return the backtests of a drawn run in PyTorch and in ONNX Runtime."""
    drawn = DrawnModel(world.symbols, encoder=encoder, **SPACES[space])
    run = draw_run(folder, space, drawn)
    loaded = load_policy(run)
    model = ServedModel.open(export_run(run, folder / f"{space}.zip", n_hostile=50).path)
    table, rules = market_table(world), SimulatorParams(action=ActionRules(space=space))
    policies = (loaded.on_table(table), ServedPolicy(model, table))
    config = EnvConfig(rules=rules)
    played = [
        backtest(world, config, policy, name="x", bars_per_year=1_764.0) for policy in policies
    ]
    return played[0], played[1]


def require_equal(theirs: Any, ours: Any) -> None:
    assert np.array_equal(ours.action, theirs.action)
    assert np.array_equal(ours.equity, theirs.equity)
    assert len(np.unique(ours.action)) > 2
    assert np.ptp(ours.equity[-1]) > 0.0  # it traded


@pytest.mark.parametrize("space", SPACES)
def test_backtest_of_a_bundle_is_pytorchs_to_the_cent(tmp_path: Path, space: str) -> None:
    world = synthetic_world("regimes", n_symbols=3, n_bars=420, seed=2)

    require_equal(*trade_both(world, space, SMALL, tmp_path))


def two_years(n_symbols: int) -> World:
    """Real hourly bars where they are at hand, else generated ones."""
    if not REAL.is_file():
        return synthetic_world("regimes", n_symbols=n_symbols, n_bars=3_500, seed=3)
    import polars as pl

    bars = pl.read_parquet(REAL)
    names = ("open", "high", "low", "close", "volume")
    kept = bars["symbol"].value_counts(sort=True)["symbol"][:n_symbols].sort().to_list()
    chosen = bars.filter(pl.col("symbol").is_in(kept))
    stamp = next(name for name in ("timestamp", "closed_at", "time") if name in bars.columns)
    clock = chosen[stamp].unique().sort()
    prices = np.full((n_symbols, len(clock), 5), np.nan)
    place = {at: number for number, at in enumerate(clock)}
    for row in chosen.iter_rows(named=True):
        prices[kept.index(row["symbol"]), place[row[stamp]]] = [row[name] for name in names]
    at = clock.dt.replace_time_zone(None).dt.cast_time_unit("us").to_numpy()
    present = np.isfinite(prices).all(-1)
    train = IndexRange(0, len(clock) // 2)
    return world_from_bars(prices, present, at, kept, train=train, label="real bars")


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["tiny", "skip", "lstm"])
def test_two_years_of_bars_are_traded_the_same(tmp_path: Path, encoder: str) -> None:
    world = two_years(10)
    for space in SPACES:
        require_equal(*trade_both(world, space, ENCODER_PRESETS[encoder], tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["row", "tiny", "small", "skip", "lstm", "mlp", "full"])
def test_ten_thousand_real_and_hostile_inputs_agree(tmp_path: Path, encoder: str) -> None:
    world = two_years(10)
    settings = None if encoder == "row" else ENCODER_PRESETS[encoder]
    run = draw_run(tmp_path, "drawn", DrawnModel(world.symbols, encoder=settings))
    model = ServedModel.open(export_run(run, tmp_path / "x.zip", n_hostile=50).path)
    rows = market_table(world)[:, -1_000:].contiguous()

    gaps = measure_gaps(load_policy(run), model, rows, n_hostile=10_000)
    parity = record_parity(*gaps, where=run.id)

    assert min(parity.n_real, parity.n_hostile) >= 10_000
    assert parity.largest_difference <= 1e-5
    assert parity.n_decisions_differ == 0
