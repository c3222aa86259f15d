"""What a study leaves in its folder: tables, evidence, page, and the preset of the best."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.atomic import write_text
from tradingbot.data.json_files import as_json
from tradingbot.training.data import TrainingData
from tradingbot.tuning.best_trials import Found
from tradingbot.tuning.evidence import TuningEvidence, gather_evidence, write_preset
from tradingbot.tuning.optuna_study import OptunaStudy
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.study_page import render_study
from tradingbot.tuning.study_tables import StudyTables, tables_of

TABLES = ("history", "importance", "slices")
EVIDENCE_FILE, PAGE_FILE, PRESET_FILE = "evidence.json", "tuning.html", "best.yaml"


@dataclass(frozen=True)
class StudyFiles:
    """Evidence and tables of a study, and where they are."""

    folder: Path
    page: Path
    preset: Path | None
    """None where no trial finished."""
    evidence: TuningEvidence
    tables: StudyTables


def write_study_files(
    request: TuneRequest,
    study: OptunaStudy,
    found: Found,
    data: TrainingData,
    workspace: Path,
) -> StudyFiles:
    """Write `tables/*.json`, `evidence.json`, `tuning.html` and `best.yaml`; each whole.

    Raises:
        StorageError: If the disk refuses.
        MissingExtraError: If Jinja is not installed.
    """
    folder = request.folder(workspace)
    evidence = gather_evidence(request, found, data, workspace)
    tables = tables_of(found.results, study.importance(), request.space)
    (folder / "tables").mkdir(exist_ok=True)
    for name in TABLES:
        _write_json(folder / "tables" / f"{name}.json", getattr(tables, name))
    _write_json(folder / EVIDENCE_FILE, evidence)
    page = folder / PAGE_FILE
    write_text(page, render_study(evidence, tables))
    preset = folder / PRESET_FILE if evidence.retrained else None
    if preset is not None:
        write_text(preset, write_preset(request, evidence))
    return StudyFiles(folder, page, preset, evidence, tables)


def _write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(as_json(value), indent=1, ensure_ascii=False) + "\n")
