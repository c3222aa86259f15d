"""Universe files: what is shipped, what is refused, who was a member when."""

from __future__ import annotations

import csv
from datetime import date

import numpy as np
import pytest

from tradingbot.data.universes import known_universes, load_universe, membership_mask
from tradingbot.domain.errors import DataError, SchemaError, UserError

HEADER = "symbol,kind,sector,joined_on,left_on\n"


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "mine.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return str(path)

    return write_file


def test_known_universes_are_those_of_the_specification():
    assert known_universes() == ("crypto12", "prototype10", "us143")


def test_us143_equals_the_reference_list(real_data):
    with (real_data / "universe_143.csv").open() as file:
        reference = {row["symbol"]: row["kind"] for row in csv.DictReader(file)}
    universe = load_universe("us143")
    assert {member.symbol: member.kind for member in universe.members} == reference
    assert len(universe.symbols) == 143
    assert universe.calendar == "XNYS"


def test_us143_sectors_separate_funds_from_stocks():
    members = load_universe("us143").members
    assert all(m.sector.startswith("etf-") == (m.kind == "etf") for m in members)
    assert len({m.sector for m in members if m.kind == "stock"}) >= 9
    assert "unknown" not in {m.sector for m in members}


def test_prototype10_is_the_portfolio_of_the_specification_in_order():
    expected = ["SPY", "QQQ", "AAPL", "MSFT", "NVDA", "AMZN", "META", "TSLA", "JPM", "XOM"]
    assert list(load_universe("prototype10").symbols) == expected


def test_crypto12_trades_around_the_clock():
    universe = load_universe("crypto12")
    assert (universe.calendar, len(universe.symbols)) == ("24/7", 12)
    assert all(symbol.endswith("USDT") for symbol in universe.symbols)


@pytest.mark.parametrize("name", ["crypto12", "prototype10", "us143"])
def test_shipped_file_warns_of_survivorship(name):
    from importlib import resources

    text = resources.files("tradingbot.data").joinpath(f"universe_files/{name}.csv").read_text()
    assert "Survivorship" in text


def test_load_own_file_reads_notes_stays_and_any_column_order(write):
    path = write(
        "\ufeff# name: small\r\n# calendar: XLON\r\n\r\n"
        "kind,symbol,left_on,joined_on,sector\r\n"
        "stock,VOD,2020-01-02,2010-05-01,communication\r\n"
        "stock,VOD,,2021-01-01,communication\r\n"
        ",BP,,,\r\n"
    )
    universe = load_universe(path)
    assert (universe.name, universe.calendar) == ("small", "XLON")
    assert universe.as_of(date(2020, 1, 1)) == ("VOD", "BP")
    assert universe.as_of(date(2020, 1, 2)) == ("BP",)
    assert universe.as_of(date(2021, 1, 1)) == ("VOD", "BP")
    assert universe.members[2].kind == "stock"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"must have a header and a member"),
        ("# name: x\n", r"must have a header and a member"),
        (HEADER, r"universe must have a member"),
        ("symbol,kind\nA,stock\n", r"without sector, joined_on, left_on"),
        (HEADER + "A,stock,x,2020-13-01,\n", r"joined_on must be a date .*2020-13-01.*mine.csv:2"),
        ("# a\n\n" + HEADER + "A,stock,x,,\nB,stock,x,,soon\n", r"left_on .*'soon'.*mine.csv:5"),
        (HEADER + "A,stock,x,2020-01-02,2020-01-02\n", r"left_on must be after.*mine.csv:2"),
        (HEADER + "A,stock\n", r"5 cells, was 2.*mine.csv:2"),
        (HEADER + "../A,stock,x,,\n", r"symbol must be.*mine.csv:2"),
        (HEADER + "=A(),stock,x,,\n", r"symbol must be.*mine.csv:2"),
        (HEADER + "A,stock,x,,\nA,stock,x,,\n", r"must not overlap"),
    ],
)
def test_load_bad_file_says_rule_and_line(write, text, message):
    with pytest.raises(UserError, match=message) as caught:
        load_universe(write(text))
    assert "\n" not in str(caught.value)


def test_load_unknown_name_suggests_the_near_one():
    with pytest.raises(DataError, match=r"Did you mean 'us143'\?"):
        load_universe("us134")


def test_load_missing_or_binary_file_is_one_line(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        load_universe(str(tmp_path / "none.csv"))
    (tmp_path / "bin.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        load_universe(str(tmp_path / "bin.csv"))


def test_load_ragged_header_is_a_schema_error(write):
    with pytest.raises(SchemaError, match="6"):
        load_universe(write(HEADER + "A,stock,x,,,\n"))


def test_membership_mask_follows_the_stays(write):
    universe = load_universe(
        write(HEADER + "A,stock,x,,\nB,stock,x,2024-01-02,2024-01-04\nB,stock,x,2024-01-05,\n")
    )
    closes = np.array([f"2024-01-0{day}T21:00" for day in range(1, 7)], dtype="datetime64[us]")
    mask = membership_mask(universe, ["B", "X", "A"], closes)
    assert mask[:, 0].tolist() == [False, True, True, False, True, True]
    assert not mask[:, 1].any()
    assert mask[:, 2].all()
    for row, day in enumerate(range(1, 7)):
        assert mask[row, 0] == ("B" in universe.as_of(date(2024, 1, day)))


def test_membership_mask_gives_a_midnight_close_to_the_day_that_ended(write):
    universe = load_universe(write(HEADER + "B,stock,x,2024-01-02,\n"))
    closes = np.array(["2024-01-02T00:00", "2024-01-02T01:00"], dtype="datetime64[us]")
    assert membership_mask(universe, ["B"], closes)[:, 0].tolist() == [False, True]
