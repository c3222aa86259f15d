"""Local vendors' servers, one per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.alpaca_server import AlpacaServer
from fixtures.faulty_server import FaultyServer
from fixtures.yahoo_server import YahooServer


@pytest.fixture
def alpaca_server() -> Iterator[AlpacaServer]:
    server = AlpacaServer()
    yield server
    server.close()


@pytest.fixture
def yahoo_server() -> Iterator[YahooServer]:
    server = YahooServer()
    yield server
    server.close()


@pytest.fixture(params=["alpaca", "yfinance"])
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(vendor: str, request: pytest.FixtureRequest) -> FaultyServer:
    name = "alpaca_server" if vendor == "alpaca" else "yahoo_server"
    found: FaultyServer = request.getfixturevalue(name)
    return found
