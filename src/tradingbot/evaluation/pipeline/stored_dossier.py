"""The dossier that an evaluation stored: its page and receipt, read back and judged again by gates.

JSON and CSV beside the page are `evaluation.tables`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tradingbot.data.atomic import storage_errors, write_text
from tradingbot.data.json_files import json_problem
from tradingbot.domain.errors import ConfigError, StorageError, UserError
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.version_1 import upgraded
from tradingbot.evaluation.gates.gates_file import foreign_source, load_gates, read_benches
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.gates.phases import PhaseResult, judge_phases, require_phase
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.performance.record import rename_old_policies
from tradingbot.evaluation.pipeline.stored_power import power_words
from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import LEDGER_FILE, Ledger
from tradingbot.runs.receipt import began_at
from tradingbot.training.trial_ledger import data_key

EVALUATION_FOLDER, DOSSIER_FILE = "evaluation", "dossier.json"


def read_dossier(run: Path) -> Dossier:
    """Read the dossier in a run's folder, also one that was changed since its evaluation.

    Raises:
        ConfigError: If the run was not evaluated.
        StorageError: If the file is damaged.
    """
    return _parse(_content(run), run)


def read_noted_dossier(run: RunDirectory, workspace: Path) -> Dossier:
    """Read a run's dossier, and refuse one that is not the file the evaluation left.

    The hash of that file is in the ledger of the workspace, where no entry can be changed alone.

    Raises:
        ConfigError: If the run was not evaluated.
        StorageError: If the ledger has no hash of the dossier or another one, or a file is damaged.
    """
    content, noted = _content(run.path), _noted_sha256(run, workspace)
    if noted != hashlib.sha256(content).hexdigest():
        raise StorageError(
            "a dossier must be the file that its evaluation left, by its SHA-256 in the ledger",
            was="no hash of it there" if noted is None else "a file that was changed since",
            where=f"{_path(run.path)}, {workspace / LEDGER_FILE}",
            remedy=f"Evaluate again: tradingbot evaluate {run.id}",
        )
    return _parse(content, run.path)


def _noted_sha256(run: RunDirectory, workspace: Path) -> str | None:
    """Return the hash of the newest dossier that the ledger knows of a run.

    Entries before the run began are of another that had its name.
    """
    began = began_at(run.path)
    noted = [
        each.config_hash
        for each in Ledger(workspace).entries(run=run.id)
        if each.kind == "dossier" and each.sequence >= began
    ]
    return noted[-1] if noted else None


def _path(run: Path) -> Path:
    return run / EVALUATION_FOLDER / DOSSIER_FILE


def _content(run: Path) -> bytes:
    if not _path(run).is_file():
        raise ConfigError(
            "a run must be evaluated before its gates are judged",
            was="no dossier",
            where=str(run),
            remedy=f"Run: tradingbot evaluate {run.name}",
        )
    with storage_errors(_path(run)):
        return _path(run).read_bytes()


def _parse(content: bytes, run: Path) -> Dossier:
    try:
        values = json.loads(content)
    except ValueError as e:
        raise StorageError(
            "a dossier must be readable JSON",
            was=json_problem(e),
            where=str(_path(run)),
            remedy=f"Evaluate again: tradingbot evaluate {run.name}",
        ) from e
    return from_plain(Dossier, upgraded(rename_old_policies(values)), name=DOSSIER_FILE)


def judge_run(
    run: RunDirectory, workspace: Path, gates: str | Path, benches: Sequence[Path] = ()
) -> Memo:
    """Judge the stored dossier of a run.

    Raises:
        UserError: If there is no dossier, it was changed since, or the gates or benchmarks cannot
            be read.
    """
    dossier = read_noted_dossier(run, workspace)
    return write_memo(
        dossier,
        load_gates(gates),
        read_benches(benches),
        source=foreign_source(gates),
        power=power_words(run, workspace),
    )


def judge_phase_runs(
    runs: Sequence[tuple[str, RunDirectory]],
    workspace: Path,
    gates: str | Path,
    benches: Sequence[Path] = (),
) -> tuple[PhaseResult, ...]:
    """Judge the stored dossiers of several runs, each by the gates of its phase.

    Args:
        runs: Phase, as its gates name it or by its first word, and a run that has its part; a phase
            may have several.
        workspace: That has the runs.
        gates: As for `judge_run`.
        benches: As for `judge_run`.

    Raises:
        UserError: As `judge_run`, or if there is no such phase.
    """
    asked = load_gates(gates)
    found: dict[str, list[Dossier]] = {}
    for phase, run in runs:
        dossier = read_noted_dossier(run, workspace)
        found.setdefault(require_phase(phase, asked), []).append(dossier)
    return judge_phases(found, asked, read_benches(benches))


REPORT_FILE = "report.html"


def store_page(folder: Path, dossier: Dossier, memo: Memo) -> Path:
    """Write the page, and return its path.

    Raises:
        MissingExtraError: If what draws pages is not installed.
        StorageError: If the disk refuses.
    """
    from tradingbot.evaluation.report.dossier_page import render_dossier

    path = folder / REPORT_FILE
    write_text(path, render_dossier(dossier, memo))
    return path


def as_noted_before(dossier: Dossier, run: RunDirectory, workspace: Path) -> Dossier:
    """Return a dossier with the time of the stored one, where it says nothing else.

    An evaluation that made nothing new then leaves the same file, and no further entry.
    """
    try:
        before = read_noted_dossier(run, workspace)
    except UserError:  # none, or not the one that was noted: it is made anew
        return dossier
    header = replace(dossier.header, evaluated_at=before.header.evaluated_at)
    again = replace(dossier, header=header)
    return again if to_plain(again) == to_plain(before) else dossier


def note_dossier(path: Path, run: RunDirectory, workspace: Path, *, at: datetime) -> None:
    """Write the hash of a run's stored dossier into the ledger, once; it is no trial.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    with storage_errors(path):
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 == _noted_sha256(run, workspace):
        return
    data = data_key(run.record.data)
    Ledger(workspace).begin("dossier", data=data, run=run.id, config_hash=sha256, at=at)
