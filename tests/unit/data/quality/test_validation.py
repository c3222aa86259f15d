"""The report: coverage to the bar, exit codes, stable JSON, real sets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from fixtures.defects import DEFECTS, QUARANTINED
from fixtures.dirty_market import Market, clean_market, closes, closes_of
from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance
from tradingbot.data.quality.check import Severity
from tradingbot.data.quality.report import QualityReport
from tradingbot.data.quality.revision import compare_revisions
from tradingbot.data.quality.validation import screen, validate
from tradingbot.data.schema import BAR_COLUMNS, UTC_TIME
from tradingbot.domain.errors import SchemaError
from tradingbot.domain.timeframe import BarGrid, Timeframe


def report_of(market: Market, **changes: object) -> QualityReport:
    return validate(
        market.bars,
        market.covariates,
        provenance=market.provenance,
        universe=market.universe,
        as_of=market.as_of,
        **changes,
    )


def planted(name: str) -> Market:
    return DEFECTS[name].plant(clean_market())


def test_clean_market_is_ready_with_exit_code_zero() -> None:
    report = report_of(clean_market())

    assert report.ready
    assert report.exit_code == 0
    assert report.coverage.by_symbol["fraction"].to_list() == [1.0] * 13


def test_warning_gives_exit_code_one_and_stays_ready() -> None:
    report = report_of(planted("missing_bar"))

    assert (report.exit_code, report.ready) == (1, True)


def test_error_in_the_bars_is_not_ready() -> None:
    report = report_of(planted("split_4_for_1"))

    assert (report.exit_code, report.ready) == (1, False)


@pytest.mark.parametrize("name", ["start_stamps", "all_nan"])
def test_unusable_set_gives_exit_code_two(name: str) -> None:
    assert report_of(planted(name)).exit_code == 2


def test_quarantined_rows_leave_a_set_ready() -> None:
    screening = screen(planted("nan_close").bars, as_of=clean_market().as_of)

    report = validate(
        screening.clean,
        None,
        provenance=clean_market().provenance,
        quarantine=screening.quarantine,
        as_of=clean_market().as_of,
    )

    assert report.ready
    assert report.exit_code == 1
    assert report.quarantined_rows == 1


@pytest.mark.parametrize(
    "name", sorted(set(QUARANTINED) - {"empty_open", "empty_vwap", "known_early"})
)
def test_bad_row_that_was_stored_is_flagged(name: str) -> None:
    report = report_of(planted(name))

    found = [finding for finding in report.findings if finding.code == DEFECTS[name].code]
    assert [finding.action.value for finding in found] == ["flagged"]
    assert found[0].count == len(DEFECTS[name].rows)


def test_coverage_counts_every_absent_bar() -> None:
    market = clean_market()
    gone = [*closes()[10:15], *closes_of(closes()[200].date())]
    bars = market.bars.filter(~((pl.col("symbol") == "GGG") & pl.col("closed_at").is_in(gone)))

    coverage = validate(bars, None, provenance=market.provenance).coverage

    row = coverage.by_symbol.row(by_predicate=pl.col("symbol") == "GGG", named=True)
    assert (row["expected"], row["missing"]) == (len(closes()), len(gone))
    assert row["present"] == len(closes()) - len(gone)
    month = coverage.by_month.row(by_predicate=pl.col("symbol") == "GGG", named=True)
    first = [at for at in closes() if at.strftime("%Y-%m") == "2024-10"]
    assert month["2024-10"] == pytest.approx(1 - 5 / len(first))
    assert month["2025-01"] == 1.0


def test_missing_bars_are_counted_per_symbol_with_the_first_time() -> None:
    market = clean_market()
    gone = [closes()[k] for k in (31, 33, 34)]
    bars = market.bars.filter(~((pl.col("symbol") == "GGG") & pl.col("closed_at").is_in(gone)))

    report = validate(bars, None, provenance=market.provenance)

    (finding,) = [f for f in report.findings if f.code == "MISSING_BARS"]
    assert (finding.symbol, finding.count, finding.first_at) == ("GGG", 3, gone[0])


def test_symbol_unknown_to_the_universe_is_still_expected_to_be_complete() -> None:
    coverage = report_of(planted("stranger")).coverage.by_symbol

    row = coverage.row(by_predicate=pl.col("symbol") == "DDD", named=True)
    assert (row["expected"], row["fraction"]) == (len(closes()), 1.0)


def test_missing_session_is_not_counted_bar_by_bar_as_well() -> None:
    codes = {finding.code for finding in report_of(planted("missing_session")).findings}

    assert "MISSING_SESSIONS" in codes
    assert "MISSING_BARS" not in codes


def test_friday_evening_bar_is_off_the_grid_not_on_a_closed_saturday() -> None:
    saturday_utc = datetime(2024, 12, 14, 1, tzinfo=UTC)
    evening = (
        clean_market()
        .bars.head(1)
        .with_columns(
            pl.lit(saturday_utc).cast(UTC_TIME).alias(name) for name in ("closed_at", "known_at")
        )
    )
    bars = pl.concat([clean_market().bars, evening]).sort("symbol", "closed_at")

    report = validate(bars, None, provenance=clean_market().provenance)

    codes = {finding.code for finding in report.findings}
    assert "BAR_OFF_GRID" in codes
    assert "BAR_ON_CLOSED_DAY" not in codes


def test_trailing_window_decides_what_is_incomplete() -> None:
    market = planted("missing_yesterday")

    codes = {f.code for f in report_of(market, trailing_bars=8).findings}
    longer = {f.code for f in report_of(market, trailing_bars=9).findings}

    assert "TRAILING_INCOMPLETE" not in codes
    assert "TRAILING_INCOMPLETE" in longer


def test_json_has_the_keys_scripts_rely_on_and_no_nan() -> None:
    report = report_of(planted("delisted"))

    content = json.loads(report.to_json())

    assert list(content) == [
        "version",
        "ready",
        "exit_code",
        "synthetic",
        "rows",
        "quarantined_rows",
        "counts",
        "findings",
        "coverage",
        "coverage_by_month",
    ]
    assert set(content["findings"][0]) == {
        "code", "case", "severity", "symbol", "count", "first_at", "example", "message", "action"
    }  # fmt: skip
    assert content["counts"]["warning"] == report.count(Severity.WARNING) > 0


def test_summary_has_one_row_per_code_worst_first() -> None:
    market = planted("split_4_for_1")
    market = DEFECTS["missing_bar"].plant(market)

    rows = report_of(market).summary_rows()

    severities = [row["severity"] for row in rows]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert len({row["code"] for row in rows}) == len(rows)
    assert rows[0]["code"] == "SUSPECTED_SPLIT"


def test_validate_of_unsorted_bars_is_refused() -> None:
    with pytest.raises(SchemaError):
        validate(clean_market().bars.reverse(), None, provenance=clean_market().provenance)


def test_validate_of_no_bars_is_unusable_not_a_crash() -> None:
    report = validate(pl.DataFrame(schema=BAR_COLUMNS), None, provenance=clean_market().provenance)

    assert report.exit_code == 2


def test_validate_of_one_bar_reports_instead_of_crashing() -> None:
    report = validate(clean_market().bars.head(1), None, provenance=clean_market().provenance)

    assert "SHORT_HISTORY" in {finding.code for finding in report.findings}


def test_quarantine_with_an_unknown_code_is_reported_as_an_error() -> None:
    row = clean_market().bars.head(1).with_columns(code=pl.lit("OLD_RULE"), reason=pl.lit("why"))

    report = validate(
        clean_market().bars, None, provenance=clean_market().provenance, quarantine=row
    )

    assert ("OLD_RULE", "why") in {(f.code, f.example) for f in report.findings}


def test_sentiment_that_stops_before_the_last_bar_is_stale() -> None:
    market = clean_market()
    stops = datetime(2024, 12, 20, tzinfo=UTC)
    kept = (pl.col("symbol") != "CCC") | (pl.col("available_at") < stops)

    report = validate(market.bars, market.covariates.filter(kept), provenance=market.provenance)

    (finding,) = [f for f in report.findings if f.code == "SENTIMENT_STALE"]
    assert finding.symbol == "CCC"


def test_sentiment_silent_in_the_middle_says_how_long() -> None:
    market = clean_market()
    values = market.covariates.filter(pl.col("symbol") == "CCC")["available_at"]
    first, last = values[10], values[10] + timedelta(days=12)
    kept = (pl.col("symbol") != "CCC") | ~pl.col("available_at").is_between(
        first, last, closed="right"
    )
    following = values.filter(values > last)[0]

    report = validate(market.bars, market.covariates.filter(kept), provenance=market.provenance)

    (finding,) = [f for f in report.findings if f.code == "SENTIMENT_STALE"]
    assert finding.example == f"silent for {(following - first).days} days"


def test_growth_of_a_history_is_no_revision() -> None:
    bars = clean_market().bars
    old = bars.filter(pl.col("closed_at") < closes()[300])

    assert compare_revisions(old, bars) == ()


REAL_SETS = {
    "us_hourly_2023_2025": ("XNYS", BarGrid.SESSION),
    "crypto_hourly_2023_2025": ("24/7", BarGrid.SESSION),
    "us_hourly_2018_2023": ("XNYS", BarGrid.CLOCK),
}


@pytest.mark.parametrize("name", sorted(REAL_SETS))
def test_real_set_raises_no_error(name: str, real_data: Path) -> None:
    calendar_name, grid = REAL_SETS[name]
    rows = pl.read_parquet(real_data / f"{name}.parquet")
    days = rows["timestamp"].dt.date()
    calendar = TradingCalendar.load(calendar_name, days.min(), days.max() + timedelta(days=1))
    closed_at = calendar.close_of(rows["timestamp"], Timeframe.parse("1h"), grid)
    prices = [pl.col(column).cast(pl.Float64) for column in ("open", "high", "low", "close")]
    bars = rows.with_columns(*prices, closed_at=closed_at, known_at=closed_at).with_columns(
        volume=pl.col("volume").cast(pl.Float64),
        vwap=pl.mean_horizontal("high", "low", "close"),
    )
    provenance = Provenance(provider="parquet", calendar=calendar_name, grid=grid)

    screening = screen(bars.select(*BAR_COLUMNS))
    report = validate(screening.clean, None, provenance=provenance, quarantine=screening.quarantine)

    assert report.count(Severity.ERROR) == 0
    assert screening.quarantine.height < 0.002 * rows.height
    assert set(screening.quarantine["code"]) <= {"ZERO_VOLUME_MOVED"}
