"""Bars that tests of the façade share; synthetic."""

from __future__ import annotations

from pathlib import Path

import pytest

import tradingbot as tb


@pytest.fixture(autouse=True)
def _forget(clean_plugins: None) -> None:
    """Let no test see what another declared."""


@pytest.fixture(scope="session")
def hourly(tmp_path_factory: pytest.TempPathFactory) -> tb.Bars:
    folder = tmp_path_factory.mktemp("workspace")
    return tb.generate_bars(
        "planted", symbols=["QQQ", "SPY"], start="2025-04-01", kappa=0.3, workspace=folder
    )


@pytest.fixture(scope="session")
def daily(tmp_path_factory: pytest.TempPathFactory) -> tb.Bars:
    folder = tmp_path_factory.mktemp("workspace")
    return tb.generate_bars("regimes", symbols=["SPY"], timeframe="1d", workspace=folder)


@pytest.fixture(scope="session")
def csv(hourly: tb.Bars, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hourly.write_csv(tmp_path_factory.mktemp("files") / "Bars of mine.csv")
