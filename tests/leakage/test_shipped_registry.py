"""Everything the project ships is causal, on synthetic markets and on real bars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from leakage.markets import synthetic_inputs
from tradingbot.features.causality.prover import (
    ProofPlan,
    covariates_so_far,
    prove_causal,
    prove_every_bar,
)
from tradingbot.features.causality.subject import ProofContext, ProofSubject, Rows
from tradingbot.features.inputs import CovariateEvents, MarketInputs, build_inputs, join_as_of
from tradingbot.features.panel import panel_specs
from tradingbot.features.proof_subjects import default_subjects, feature_subject


def complaints(inputs: MarketInputs, seed: int) -> list[str]:
    length = inputs.shape[0]
    context = ProofContext(panel_specs(inputs.covariates), train_rows=int(0.7 * length))
    plan = ProofPlan(boundaries=(int(0.7 * length), int(0.85 * length)), seed=seed)
    report = prove_causal(inputs, default_subjects(context), plan)
    verdicts = (*report.verdicts, *prove_every_bar(inputs, panel_specs(inputs.covariates)))
    assert len(report.verdicts) > 50
    return [f"{v.output}: {v.reason} {v.offence}" for v in verdicts if not v.is_causal]


def test_shipped_features_on_synthetic_market_are_causal() -> None:
    inputs = synthetic_inputs(days=70, covariates=("sentiment", "signal"))

    assert complaints(inputs, 0) == []


def test_shipped_features_without_covariates_and_with_one_symbol_are_causal() -> None:
    inputs = synthetic_inputs(days=60, symbols=1, covariates=())

    assert complaints(inputs, 0) == []


def test_shipped_features_on_real_bars_are_causal(real_data: Path) -> None:
    assert complaints(real_inputs(real_data), 0) == []


def real_inputs(folder: Path) -> MarketInputs:
    """Seven symbols, the last 900 bar times, and news sentiment from when it was available."""
    symbols = ["SPY", "AAPL", "MSFT", "NVDA", "TSLA", "JPM", "XOM"]
    bars = (
        pl.scan_parquet(folder / "us_hourly_2023_2025.parquet")
        .filter(pl.col("symbol").is_in(symbols))
        .with_columns(pl.col("open", "high", "low", "close", "volume").cast(pl.Float64))
        .with_columns(
            # The file stamps the start; one hour later every bar has surely closed.
            closed_at=pl.col("timestamp").cast(pl.Datetime("us", "UTC")) + pl.duration(hours=1),
            vwap=(pl.col("high") + pl.col("low") + pl.col("close")) / 3,
        )
        .filter(pl.col("closed_at") > pl.col("closed_at").unique().sort().get(-900))
        .collect()
    )
    scores = (
        pl.scan_parquet(folder / "sentiment_daily_finbert.parquet")
        .filter(pl.col("symbol").is_in(symbols))
        .select(
            "symbol",
            pl.lit("sentiment").alias("name"),
            pl.col("available_at").cast(pl.Datetime("us", "UTC")),
            ((pl.col("sentiment").cast(pl.Float64) + 1) / 2).alias("value"),
        )
        .collect()
    )
    known = bars.with_columns(known_at=pl.col("closed_at"))
    return build_inputs(known, scores, symbols=symbols)


def test_one_bar_of_look_ahead_in_a_shipped_feature_is_caught() -> None:
    inputs = synthetic_inputs(days=60)
    shipped = feature_subject(ProofContext(panel_specs(inputs.covariates), train_rows=200))

    def shifted(market: MarketInputs) -> dict:
        outputs = dict(shipped.compute(market))
        values = outputs["technical/rsi_14"].values.copy()
        values[:-1, 3] = values[1:, 3]
        return {**outputs, "technical/rsi_14": Rows(values, "symbol")}

    report = prove_causal(inputs, [ProofSubject("features", shifted)])

    assert [verdict.output for verdict in report.failures] == ["technical/rsi_14"]
    assert report.failures[0].offence.symbol == "S3"


def test_every_bar_with_one_bar_changed_after_the_fact_names_that_bar(monkeypatch) -> None:
    inputs = synthetic_inputs(days=20, symbols=3, covariates=())
    specs = panel_specs(inputs.covariates)[:6]
    from tradingbot.features.causality import prover

    def looking_ahead(market: MarketInputs, wanted: object) -> dict:
        bars = {name: values.copy() for name, values in market.bars.items()}
        bars["high"][50, 0] = np.nanmax(bars["high"][50:57, 0]) * 1.01
        return compute(replace(market, bars=bars), wanted)

    compute = prover.compute_features
    monkeypatch.setattr(prover, "compute_features", looking_ahead)
    failures = [v for v in prove_every_bar(inputs, specs) if not v.is_causal]

    assert [verdict.output for verdict in failures] == ["technical/high"]
    assert failures[0].offence.closed_at == str(inputs.closed_at[50])


def test_covariates_so_far_equal_the_as_of_join() -> None:
    inputs = synthetic_inputs(days=30)

    joined = join_as_of(inputs.covariates["sentiment"], inputs.closed_at, inputs.shape[1])

    fed = np.stack([row["sentiment"] for row in covariates_so_far(inputs)])
    np.testing.assert_array_equal(fed, joined)


def test_event_available_exactly_at_the_close_is_known_and_one_microsecond_later_is_not() -> None:
    inputs = synthetic_inputs(days=2, symbols=2, covariates=())
    at = np.array([inputs.closed_at[3], inputs.closed_at[6] + np.timedelta64(1, "us")])
    events = CovariateEvents(np.array([0, 0]), at, np.array([0.3, 0.9]))
    inputs = replace(inputs, covariates={"sentiment": events})

    fed = np.stack([row["sentiment"] for row in covariates_so_far(inputs)])

    assert np.isnan(fed[2, 0])
    assert fed[3:7, 0].tolist() == [0.3] * 4
    assert fed[7, 0] == 0.9
