"""Fixtures of the comparisons between engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tradingbot.market.native.library import OPTIMISATION_VARIABLE


@pytest.fixture
def fastest_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile as for users, who wait a little longer for faster programs."""
    monkeypatch.delenv(OPTIMISATION_VARIABLE, raising=False)
    monkeypatch.setattr("tradingbot.market.native.step._LOADED", {})


@pytest.fixture(autouse=True)
def _one_thread_afterwards() -> Iterator[None]:
    """Leave one thread to the test after one that shares lanes between several."""
    yield
    torch.set_num_threads(1)
