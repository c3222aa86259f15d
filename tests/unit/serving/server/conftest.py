"""Workspaces with two models, exported once for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fixtures.model_servers import ServedWorkspace, client_of, export_models, make_workspace


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return export_models(tmp_path_factory.mktemp("served"), 2)


@pytest.fixture
def workspace(bundles: list[Path], tmp_path: Path) -> ServedWorkspace:
    """v1 is on paper, v2 a candidate."""
    return make_workspace(tmp_path, bundles)


@pytest.fixture
def client(workspace: ServedWorkspace) -> Iterator[httpx.Client]:
    """Without any key, on loopback."""
    with client_of(workspace.parts()) as made:
        yield made
