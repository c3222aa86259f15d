"""Fixtures of the comparisons between engines."""

from __future__ import annotations

import pytest

from tradingbot.market.native.library import OPTIMISATION_VARIABLE


@pytest.fixture
def fastest_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile as for users, who wait a little longer for faster programs."""
    monkeypatch.delenv(OPTIMISATION_VARIABLE, raising=False)
    monkeypatch.setattr("tradingbot.market.native.step._LOADED", {})
