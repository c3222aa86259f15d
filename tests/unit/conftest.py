"""Small synthetic datasets, made once for all tests of the application."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from fixtures.tiny_portfolio import begin_agents, begin_master
from tradingbot.configuration.pipeline import MarketConfig
from tradingbot.data.ingest import ingest
from tradingbot.data.store import BarStore
from tradingbot.features.pipeline import synthetic_source

START, END = date(2025, 7, 1), date(2025, 9, 30)


@pytest.fixture(scope="session")
def synthetic_store(tmp_path_factory: pytest.TempPathFactory) -> BarStore:
    """A store with `planted`, `hidden` and `regimes`: ten symbols, one quarter, hourly."""
    store = BarStore(tmp_path_factory.mktemp("synthetic"))
    for name, market in (
        ("planted", "planted"),
        ("hidden", "hidden_trend"),
        ("regimes", "regimes"),
    ):
        config = MarketConfig(name=market, universe="prototype10", start=START, end=END)
        ingest(synthetic_source(config), store, name=name)
    return store


@pytest.fixture(scope="module")
def portfolio_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs `agents` and `master`, a portfolio over them; tests may add runs."""
    folder = tmp_path_factory.mktemp("portfolio")
    begin_agents(folder)
    begin_master(folder)
    return folder


@pytest.fixture
def real_file(tmp_path: Path) -> Path:
    """A small CSV file of bars that are not synthetic, so far as the importer can tell."""
    lines = ["timestamp,symbol,open,high,low,close,volume"]
    for symbol in ("AAPL", "MSFT"):
        for day in range(24, 29):
            for hour in range(7):
                price = 100 + (day + hour) % 3
                stamp = f"2024-06-{day}T{13 + hour}:30:00Z"
                lines.append(f"{stamp},{symbol},{price},{price + 1},{price - 1},{price},{day}")
    file = tmp_path / "real.csv"
    file.write_text("\n".join(lines) + "\n")
    return file
