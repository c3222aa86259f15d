"""A workspace with a model on paper, exported once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.model_servers import ServedWorkspace, export_models, make_workspace


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return export_models(tmp_path_factory.mktemp("served"), 1)


@pytest.fixture
def served_workspace(bundles: list[Path], tmp_path: Path) -> ServedWorkspace:
    return make_workspace(tmp_path, bundles)
