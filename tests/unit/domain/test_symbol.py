"""Symbols are safe in paths and spreadsheets."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradingbot.domain.errors import DataError
from tradingbot.domain.symbol import as_file_stem, is_symbol, require_symbol

SYMBOLS = st.from_regex(r"[A-Z0-9^][A-Z0-9./^=_-]{0,19}", fullmatch=True).filter(is_symbol)


@pytest.mark.parametrize(
    "good", ["A", "BRK-B", "BRK.B", "BTC/USDT", "^VIX", "ES=F", "0700.HK", "A" * 20]
)
def test_is_symbol_accepts_what_venues_use(good):
    assert is_symbol(good)
    assert require_symbol(good) == good


@pytest.mark.parametrize(
    "bad",
    ["", "../A", "A/../B", "A..B", "/A", "//", "A//B", "=A", "+A", "-A", "@A", "=cmd()", "a",
     "A B", "A\n", "A\x00", "A" * 21, "Ä", "A%2F", "A\\B", ".", ".A"],
)  # fmt: skip
def test_is_symbol_refuses_what_could_escape_or_run(bad):
    assert not is_symbol(bad)
    with pytest.raises(DataError, match=r"symbol must be.*\(f\.csv\)"):
        require_symbol(bad, where="f.csv")


@given(SYMBOLS)
def test_file_stem_is_one_plain_name_and_reversible(symbol):
    stem = as_file_stem(symbol)
    assert PurePosixPath(stem).parts == (stem,)
    assert unquote(stem) == symbol


@given(st.text(max_size=25))
def test_is_symbol_never_accepts_a_climbing_path(text):
    if is_symbol(text):
        assert ".." not in text
        assert text[0] not in "/=+-@."
