"""A run into the registry of models: its verdict is read, its own bars are compared, then kept."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tradingbot.data.atomic import atomic_file, storage_errors
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.plugins.reference import RUN_PREFIX
from tradingbot.runs import RunDirectory
from tradingbot.runs.finding import is_portfolio
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.model_versions import ModelVersion
from tradingbot.serving.registry import ModelRegistry

if TYPE_CHECKING:
    from torch import Tensor

    from tradingbot.serving.export.run_export import ExportedRun


@dataclass(frozen=True)
class RegisteredExport:
    """What `export` came to."""

    version: ModelVersion
    bundle: Path
    exported: ExportedRun
    note: str
    """Why no real bars were compared; empty where they were."""


def require_exportable(run: RunDirectory) -> None:
    """Refuse a run that cannot be exported; without torch.

    Raises:
        ConfigError: If it is not finished, or is a portfolio whose sleeves a rule trades.
        MissingExtraError: If ONNX or ONNX Runtime is not installed.
    """
    from tradingbot.serving import onnx_runtime  # noqa: F401 - it says which extra is missing

    sleeves = run.record.config.get("environment", {}).get("portfolio", {}).get("sleeves", "")
    if is_portfolio(run) and not sleeves.startswith(RUN_PREFIX):
        raise ConfigError(
            "sleeves of a portfolio must be traded by agents of a run to be exported",
            was=f"the rule {sleeves}",
            where=run.id,
            remedy="Train the master over a run: --set environment.portfolio.sleeves=run:NAME",
        )
    status = run.status()
    if status.state != "finished":
        raise ConfigError(
            "a run must be finished to be exported",
            was=status.state + (f": {status.reason}" if status.reason else ""),
            where=run.id,
            remedy=f"Go on with it: tradingbot train --resume {run.id}",
        )


def export_model(
    run: RunDirectory, workspace: Path, *, at: datetime, out: Path | None = None
) -> RegisteredExport:
    """Export a run and register it as a candidate; the same run again is the same version.

    Args:
        run: Finished.
        workspace: Where data, ledger and registry are.
        at: Now.
        out: Where the bundle is written to as well; nowhere by default.

    Raises:
        ConfigError: If the run cannot be exported, or ONNX Runtime disagrees with PyTorch.
        StorageError: If checkpoint or dossier is damaged, or the disk refuses.
    """
    from tradingbot.serving.export.run_export import export_run

    rows, sleeves, note = _own_rows(run, workspace)
    registry = ModelRegistry(workspace)
    with storage_errors(registry.folder):
        registry.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=registry.folder, prefix=".tmp-export-") as folder:
        path = Path(folder) / f"{run.id}.zip"
        verdict = read_verdict(run, workspace)
        exported = export_run(run, path, verdict=verdict, real=rows, real_sleeves=sleeves)
        _require_same_model(registry, run, exported, note)
        version = registry.register(path, at=at)
        if out is not None:
            with atomic_file(out) as temporary:
                shutil.copyfile(path, temporary)
    return RegisteredExport(version, registry.bundle_path(version), exported, note)


def _require_same_model(
    registry: ModelRegistry, run: RunDirectory, exported: ExportedRun, note: str
) -> None:
    """Refuse a second model of a run that differs only in what it could be compared with."""
    known = [each for each in registry.versions() if each.run == run.id]
    if not note or not known or exported.sha256 in [each.bundle_sha256 for each in known]:
        return
    last = known[-1].name
    raise ConfigError(
        f"a run must be exported again with its own bars, not with other bars than model {last} "
        "of it",
        was=note,
        where=run.id,
        remedy=f"Use {last}, or bring the bars back first",
    )


def read_verdict(run: RunDirectory, workspace: Path) -> BundleVerdict:
    """Return what the product's gates say of a run's dossier; `not evaluated` where it has none.

    Raises:
        StorageError: If the dossier is not the one that the evaluation left.
    """
    from tradingbot.evaluation.pipeline.stored_dossier import (
        DOSSIER_FILE,
        EVALUATION_FOLDER,
        judge_run,
    )

    dossier = run.path / EVALUATION_FOLDER / DOSSIER_FILE
    if not dossier.is_file():
        return BundleVerdict()
    memo = judge_run(run, workspace, "product")
    return BundleVerdict(
        status=memo.verdict,
        gates={each.gate: each.outcome for each in memo.gates},
        dossier_sha256=hashlib.sha256(dossier.read_bytes()).hexdigest(),
    )


def _own_rows(run: RunDirectory, workspace: Path) -> tuple[Tensor | None, Tensor | None, str]:
    """Return the rows (N, T, F) that a run learned from, or why they are not at hand.

    Of a portfolio also what its master saw of the sleeves, (T, N · D + S).
    """
    from tradingbot.envs.population.layout import market_table
    from tradingbot.training.config_files import config_of_mapping
    from tradingbot.training.data import open_data
    from tradingbot.training.own_dataset_names import require_own_dataset
    from tradingbot.training.setup import env_config
    from tradingbot.training.sleeve_book import open_book

    try:
        config = require_own_dataset(config_of_mapping(run.record.config), run, workspace)
        data = open_data(config, workspace)
    except UserError as e:
        return None, None, f"the run's data cannot be opened: {e}"
    if data.identity.data_sha256 != run.record.data.data_sha256:
        return None, None, "the data are now others than those that the run learned from"
    sleeves = None
    if is_portfolio(run):
        sleeves = open_book(config, data, env_config(config), run.record.seeds["root"]).table[0]
    return market_table(data.world), sleeves, ""
