"""Every test of plugins leaves the registry as it was."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _forget(clean_plugins: None) -> None:
    """Let no test see what another declared."""
