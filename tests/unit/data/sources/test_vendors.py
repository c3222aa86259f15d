"""The table of vendors, and what opening one needs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tradingbot.data.sources.download import DownloadRequest
from tradingbot.data.sources.vendors import VENDORS, AlpacaSource, YahooSource, open_vendor
from tradingbot.domain.errors import ConfigError

REQUEST = DownloadRequest(symbols=("AAPL",), start=date(2024, 6, 3), end=date(2024, 6, 4))


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APCA_API_KEY_ID", "PKTESTKEY")
    monkeypatch.setenv("APCA_API_SECRET_KEY", "s3cretvalue")


def test_vendors_are_the_two_we_document() -> None:
    assert sorted(VENDORS) == ["alpaca", "yfinance"]


def test_open_vendor_gives_a_source_of_that_name(keys: None, tmp_path: Path) -> None:
    alpaca = open_vendor("alpaca", REQUEST, tmp_path)
    yahoo = open_vendor("yfinance", REQUEST, tmp_path)

    assert isinstance(alpaca, AlpacaSource)
    assert isinstance(yahoo, YahooSource)
    assert (alpaca.id, yahoo.id) == ("alpaca", "yfinance")
    assert "s3cretvalue" not in repr(alpaca) + str(vars(alpaca))


def test_open_vendor_unknown_suggests(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"was 'yfinanc'\. Did you mean 'yfinance'\?"):
        open_vendor("yfinanc", REQUEST, tmp_path)


@pytest.mark.parametrize("empty", ["APCA_API_KEY_ID", "APCA_API_SECRET_KEY"])
def test_open_alpaca_without_a_key_names_the_variable(
    empty: str, keys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(empty, "")

    with pytest.raises(ConfigError, match=f"{empty} must be set") as caught:
        open_vendor("alpaca", REQUEST, tmp_path)

    assert "s3cretvalue" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
