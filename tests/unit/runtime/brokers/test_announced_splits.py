"""Announcements of splits: what a file may say, how a mistake is told, what Alpaca paid."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.runtime.brokers.alpaca.announced_splits import _read
from tradingbot.runtime.brokers.alpaca.reading import SymbolNames
from tradingbot.runtime.brokers.paper.split_file import read_splits
from tradingbot.runtime.stock_split import AnnouncedSplit

HEAD = "symbol,ex_date,new,old\n"


def test_file_of_splits_is_read_by_their_days(tmp_path: Path) -> None:
    path = tmp_path / "splits.csv"
    path.write_text(HEAD + "SPY,2026-06-10,4,1\nQQQ, 2026-05-01 ,1,10\n", encoding="utf-8")

    assert read_splits(path) == (
        AnnouncedSplit("QQQ", 1, 10, date(2026, 5, 1)),
        AnnouncedSplit("SPY", 4, 1, date(2026, 6, 10)),
    )


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ("SPY,2026-06-10,4\n", "line 2"),
        ("SPY,10.6.2026,4,1\n", "line 2"),
        ("SPY,2026-06-10,0,1\n", "was SPY,2026-06-10,0,1"),
        ("SPY,2026-06-10,4.5,1\n", "line 2"),
        ("SPY,2026-06-10,4,1\nSPY,2026-06-10,2,1\n", "once a day"),
    ],
)
def test_row_that_is_no_split_is_refused(tmp_path: Path, rows: str, named: str) -> None:
    path = tmp_path / "splits.csv"
    path.write_text(HEAD + rows, encoding="utf-8")

    with pytest.raises(ConfigError, match=named):
        read_splits(path)


def test_file_without_its_columns_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "splits.csv"
    with pytest.raises(ConfigError, match="can be read"):
        read_splits(path)
    path.write_text("symbol,day\nSPY,2026-06-10\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="symbol, ex_date, new, old"):
        read_splits(path)


def test_payment_for_fractions_belongs_to_the_last_split_before_it() -> None:
    rows = [
        {"symbol": "SPY", "ex_date": "2026-06-10", "new_rate": 1, "old_rate": 10},
        {"symbol": "SPY", "ex_date": "2026-06-12", "new_rate": 1, "old_rate": 3},
        {"symbol": "QQQ", "ex_date": "2026-06-11", "new_rate": 1.5, "old_rate": 1},
    ]
    days = {"2026-06-09": "1", "2026-06-10": "2", "2026-06-11": "4", "2026-06-12": "8"}
    paid = [{"symbol": "SPY", "date": day, "net_amount": cash} for day, cash in days.items()]
    first, second, other = _read(rows, SymbolNames(("SPY", "QQQ")), paid)

    assert (first.cash_ccy, second.cash_ccy, other.cash_ccy) == (6, 8, None)
    assert (other.numerator, other.denominator) == (3, 2)
