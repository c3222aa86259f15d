"""Every planted defect is found: alone, with all others, and to the row."""

from __future__ import annotations

import polars as pl
import pytest

from fixtures.defects import DEFECTS, QUARANTINED, REFUSED
from fixtures.dirty_market import clean_market, inspect
from tradingbot.data.quality.check import FindingAction, Severity
from tradingbot.data.quality.registry import CHECKS
from tradingbot.data.quality.validation import screen
from tradingbot.domain.errors import DataError

COMBINED = {name: defect for name, defect in DEFECTS.items() if not defect.is_exclusive}


def errors(findings: dict[str, list[object]]) -> set[str]:
    return {code for code in findings if CHECKS[code].severity is Severity.ERROR}


def test_clean_market_raises_nothing_at_all() -> None:
    screening, findings = inspect(clean_market())

    assert findings == {}
    assert screening.quarantine.is_empty()
    assert screening.clean.equals(clean_market().bars)


@pytest.mark.parametrize("name", sorted(set(DEFECTS) - set(REFUSED)))
def test_defect_planted_alone_is_found_without_other_errors(name: str) -> None:
    defect = DEFECTS[name]

    _, findings = inspect(defect.plant(clean_market()))

    assert defect.code in findings
    assert errors(findings) <= {defect.code, *defect.also}


@pytest.mark.parametrize("name", sorted(QUARANTINED))
def test_quarantine_holds_exactly_the_planted_rows(name: str) -> None:
    defect = QUARANTINED[name]
    market = defect.plant(clean_market())

    screening = screen(market.bars, as_of=market.as_of)

    set_aside = screening.quarantine
    assert set(set_aside.select("symbol", "closed_at").iter_rows()) == set(defect.rows)
    assert set(set_aside["code"]) == {defect.code}
    assert set_aside["reason"].str.starts_with(CHECKS[defect.code].message).all()
    assert screening.clean.height == market.bars.height - len(defect.rows)
    assert screening.clean.equals(
        clean_market().bars.join(set_aside, on=["symbol", "closed_at"], how="anti")
    )


@pytest.mark.parametrize("name", sorted(QUARANTINED))
def test_strict_screening_of_a_bad_row_names_symbol_and_time(name: str) -> None:
    defect = QUARANTINED[name]
    market = defect.plant(clean_market())
    symbol, at = defect.rows[0]

    with pytest.raises(DataError) as refusal:
        screen(market.bars, strict=True, as_of=market.as_of)

    assert f"{symbol} at {at.isoformat()}" in str(refusal.value)
    assert defect.code in str(refusal.value)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_file_level_defect_is_refused_in_one_line(name: str) -> None:
    market = REFUSED[name].plant(clean_market())

    with pytest.raises(DataError) as refusal:
        screen(market.bars, as_of=market.as_of)

    assert f"[{REFUSED[name].code}]" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_all_defects_planted_at_once_are_all_found() -> None:
    market = clean_market()
    for defect in COMBINED.values():
        market = defect.plant(market)

    screening, findings = inspect(market)

    assert {defect.code for defect in COMBINED.values()} - set(findings) == set()
    planted = {row for defect in QUARANTINED.values() for row in defect.rows}
    keyed = screening.quarantine.drop_nulls("symbol").filter(pl.col("code") != "DUPLICATE_ROW")
    assert set(keyed.select("symbol", "closed_at").iter_rows()) == planted


def test_quarantined_rows_appear_in_the_report_as_quarantined() -> None:
    _, findings = inspect(QUARANTINED["pence_block"].plant(clean_market()))

    by_action = {finding.action for finding in findings["PRICE_SCALE_BLOCK"]}
    assert by_action == {FindingAction.QUARANTINED}
    assert findings["PRICE_SCALE_BLOCK"][0].count == 9
    assert {finding.example for finding in findings["MISSING_BARS"]} == {"quarantined"}


def test_scale_that_stays_is_a_suspected_split_not_a_block() -> None:
    bars = clean_market().bars
    scaled = [(pl.col(name) * 100).alias(name) for name in ("open", "high", "low", "close", "vwap")]
    later = (pl.col("symbol") == "AAA") & (pl.col("closed_at") > bars["closed_at"][200])
    market = bars.with_columns(
        pl.when(later).then(new).otherwise(pl.col(new.meta.output_name())) for new in scaled
    )

    screening = screen(market, as_of=clean_market().as_of)

    assert screening.quarantine.is_empty()
