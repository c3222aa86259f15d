"""Fixtures shared by the whole suite."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["fixtures.own_parts"]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with real bars beside the checkout; tests that need it skip where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real market data is not here ({folder})")
    return folder
