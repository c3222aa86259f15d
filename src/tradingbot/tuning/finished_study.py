"""A study that has nothing left to do: what it came to is read, and nothing is made again.

As a finished run is found again by any version of the code, so is a finished study: trials of two
codes would be one answer about neither, but here is none to be made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import DataError
from tradingbot.domain.plain_values import read_record
from tradingbot.tuning.evidence import TuningEvidence, write_preset
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.session import open_trial_data, storage_of
from tradingbot.tuning.study_database import look_up_study
from tradingbot.tuning.study_facts import require_same_study
from tradingbot.tuning.study_files import EVIDENCE_FILE, PRESET_FILE


@dataclass(frozen=True)
class FinishedStudy:
    """What a study came to."""

    evidence: TuningEvidence
    preset: Path


def read_finished(request: TuneRequest, workspace: Path) -> FinishedStudy | None:
    """Return what a study came to; None where something is left to do.

    Raises:
        ConfigError: If it began with another configuration or space, or with other data.
        UserError: If the data cannot be opened.
    """
    folder = request.folder(workspace)
    preset, evidence = folder / PRESET_FILE, _read_evidence(folder / EVIDENCE_FILE)
    if evidence is None or not preset.is_file():  # the preset is written last
        return None
    is_compared = evidence.untuned is not None or not request.compares
    known = look_up_study(request.name, storage_of(request, workspace))
    trials = request.settings.trials
    if (
        known.identity is None
        or not is_compared
        or (evidence.trials, known.trials) != (trials,) * 2
    ):
        return None
    data = open_trial_data(request, workspace)
    require_same_study(known, request, data, workspace, code_counts=False)
    write_text(preset, write_preset(request, evidence))  # as it was found, were it edited since
    return FinishedStudy(evidence, preset)


def _read_evidence(file: Path) -> TuningEvidence | None:
    """Return what a preset rests on; None where this version cannot read it."""
    try:
        values = json.loads(file.read_bytes())
        return read_record(TuningEvidence, values, name=EVIDENCE_FILE, error=DataError)
    except (OSError, ValueError, DataError):
        return None
