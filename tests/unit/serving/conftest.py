"""One exported bundle for all tests of a session: they copy it before they damage it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixtures.served_runs import make_served_run
from tradingbot.runs import RunDirectory
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.export.run_export import ExportedRun, export_run


@pytest.fixture(scope="session")
def served_run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return make_served_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def exported(served_run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> ExportedRun:
    path = tmp_path_factory.mktemp("bundles") / "drawn.zip"
    verdict = BundleVerdict(status="GO", gates={"final/sharpe": "pass"}, dossier_sha256="d" * 64)
    return export_run(served_run, path, n_hostile=100, verdict=verdict)


@pytest.fixture
def bundle(exported: ExportedRun, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(exported.path, tmp_path / "bundle.zip"))
