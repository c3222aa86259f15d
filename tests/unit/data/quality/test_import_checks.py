"""How a set was read: early stamps, repeats and rows set aside are said, or it is not ready."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from fixtures.defects import DEFECTS
from fixtures.dirty_market import clean_market, closes
from tradingbot.data.quality.check import FindingAction, Severity
from tradingbot.data.quality.report import QualityReport
from tradingbot.data.quality.validation import screen, validate
from tradingbot.domain.errors import DataError

NAN = float("nan")


def report_of(bars: pl.DataFrame) -> QualityReport:
    """Screen and validate, as import and `data validate` do."""
    market = clean_market()
    screening = screen(bars, as_of=market.as_of)
    return validate(
        screening.clean,
        market.covariates,
        provenance=market.provenance,
        quarantine=screening.quarantine,
        as_of=market.as_of,
    )


def bad_closes(share: float, symbol: str | None = None) -> pl.DataFrame:
    """Bars of which the first `share` of each symbol (or of one) has no close."""
    number = pl.int_range(pl.len()).over("symbol")
    is_bad = (number < share * pl.len().over("symbol")).and_(
        pl.lit(True) if symbol is None else pl.col("symbol") == symbol
    )
    return clean_market().bars.with_columns(close=pl.when(is_bad).then(NAN).otherwise("close"))


def codes(report: QualityReport) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize("name", ["hour_early", "no_last_bar", "most_rows_bad"])
def test_set_that_was_read_wrongly_is_not_ready(name: str) -> None:
    report = report_of(DEFECTS[name].plant(clean_market()).bars)

    assert DEFECTS[name].code in codes(report)
    assert not report.ready


def test_early_symbol_is_named_with_its_first_session() -> None:
    report = report_of(DEFECTS["hour_early"].plant(clean_market()).bars)

    (finding,) = [f for f in report.findings if f.code == "CLOSES_AT_OPEN"]
    assert (finding.symbol, finding.first_at) == ("BBB", closes()[0] - timedelta(hours=1))
    assert finding.example == "in 60 of 60 sessions"


@pytest.mark.parametrize(("share", "is_ready"), [(0.15, True), (0.25, False)])
def test_more_than_a_fifth_of_all_rows_quarantined_is_not_ready(
    share: float, is_ready: bool
) -> None:
    report = report_of(bad_closes(share))

    assert report.ready is is_ready
    assert ("MOSTLY_QUARANTINED" in codes(report)) is not is_ready


def test_symbol_mostly_quarantined_is_a_warning_even_if_nothing_of_it_is_left() -> None:
    for share in (0.25, 1.0):
        report = report_of(bad_closes(share, "LLL"))

        (finding,) = [f for f in report.findings if f.code == "SYMBOL_QUARANTINED"]
        assert (finding.symbol, finding.severity) == ("LLL", Severity.WARNING)
        assert report.ready
    assert "SYMBOL_QUARANTINED" not in codes(report_of(bad_closes(0.15, "LLL")))


def test_dropped_repeats_are_kept_reported_and_refused_if_strict() -> None:
    bars = clean_market().bars
    twice = pl.concat([bars, bars]).sort("symbol", "closed_at")

    screening = screen(twice)
    report = report_of(twice)

    assert screening.clean.height + screening.quarantine.height == twice.height
    assert set(screening.quarantine["code"]) == {"DUPLICATE_ROW"}
    assert (
        screening.quarantine["reason"].str.starts_with("a row was given more than once: o ").all()
    )
    repeats = [f for f in report.findings if f.code == "DUPLICATE_ROW"]
    assert sum(f.count for f in repeats) == bars.height
    assert {(f.severity, f.action) for f in repeats} == {(Severity.WARNING, FindingAction.DROPPED)}
    assert (report.ready, report.exit_code) == (True, 1)
    with pytest.raises(DataError, match="DUPLICATE_ROW"):
        screen(twice, strict=True)


def examples(report: QualityReport, code: str) -> set[str]:
    return {finding.example for finding in report.findings if finding.code == code}


def test_lack_that_comes_from_quarantine_is_said_to() -> None:
    for name, code, suffix in [
        ("short_dst_day", "DST_DAY_BARS", ", 1 quarantined"),
        ("late_listing", "STARTS_LATE", ", rows there were quarantined"),
        ("delisted", "ENDS_EARLY", ", rows there were quarantined"),
    ]:
        dropped = DEFECTS[name].plant(clean_market()).bars
        gone = clean_market().bars.join(dropped, on=["symbol", "closed_at"], how="anti")
        spoilt = pl.concat([dropped, gone.with_columns(close=pl.lit(NAN))])

        before = examples(report_of(dropped), code)
        after = examples(report_of(spoilt.sort("symbol", "closed_at")), code)

        assert not any("quarantined" in example for example in before)
        assert {example + suffix for example in before} & after, (name, before, after)


def test_examples_show_dates_without_microseconds() -> None:
    thin = examples(
        report_of(DEFECTS["half_the_market"].plant(clean_market()).bars), "THIN_CROSS_SECTION"
    )
    gap = examples(report_of(DEFECTS["missing_weeks"].plant(clean_market()).bars), "LONG_GAP")

    assert thin == {"2024-12-11 17:30: 8 of 13 symbols"}
    assert gap == {"42 bars until 2024-11-15 21:00"}


@pytest.mark.parametrize(("sessions", "is_long"), [(4, False), (5, True)])
def test_gap_is_long_from_five_sessions_on(sessions: int, is_long: bool) -> None:
    days = sorted({at.date() for at in closes()})[20 : 20 + sessions]
    is_gone = (pl.col("symbol") == "GGG") & pl.col("closed_at").dt.date().is_in(days)

    assert ("LONG_GAP" in codes(report_of(clean_market().bars.filter(~is_gone)))) is is_long


def edited(index: int, **values: pl.Expr) -> pl.DataFrame:
    is_it = (pl.col("symbol") == "AAA") & (pl.col("closed_at") == closes()[index])
    new = {k: pl.when(is_it).then(v).otherwise(pl.col(k)) for k, v in values.items()}
    return clean_market().bars.with_columns(**new)


_BODY_LOW = pl.min_horizontal("open", "close")
_BODY_HIGH = pl.max_horizontal("open", "close")


@pytest.mark.parametrize(
    ("wick", "is_absurd"),
    [
        ({"low": _BODY_LOW / 9.9}, False),
        ({"low": _BODY_LOW / 10.1}, True),
        ({"high": _BODY_HIGH * 9.9}, False),
        ({"high": _BODY_HIGH * 10.1}, True),
    ],
)
def test_wick_is_absurd_beyond_a_factor_of_ten(wick: dict[str, pl.Expr], is_absurd: bool) -> None:
    quarantine = screen(edited(20, **wick)).quarantine

    assert quarantine["code"].to_list() == ["ABSURD_WICK"] * is_absurd


@pytest.mark.parametrize(("ratio", "is_moved"), [(1.0, False), (1.001, True)])
def test_flat_bar_without_volume_is_judged_by_the_close_before(
    ratio: float, is_moved: bool
) -> None:
    previous = pl.col("close").shift(1).over("symbol") * ratio
    flat = dict.fromkeys(("open", "high", "low", "close", "vwap"), previous)

    quarantine = screen(edited(20, **flat, volume=pl.lit(0.0))).quarantine

    assert quarantine["code"].to_list() == ["ZERO_VOLUME_MOVED"] * is_moved
