"""Every file of a run that results and verdicts read, compared with the hashes the run keeps.

A finished run has them in its status. Before that, and in runs of version 1, the newest checkpoint
says how far each journal goes and what it holds.
"""

from __future__ import annotations

from tradingbot.domain.errors import StorageError
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.journal import verify_mark
from tradingbot.runs.loading import list_checkpoints
from tradingbot.runs.manifest import read_manifest
from tradingbot.runs.recorded_files import changed_files, recorded_problem


def require_files(run: RunDirectory) -> None:
    """Refuse a run of which any file that results and verdicts read is not as it was.

    Raises:
        StorageError: Naming all that are missing or were changed since.
    """
    problems = file_problems(run)
    if problems:
        raise changed_files(run.path, "; ".join(problems))


def file_problems(run: RunDirectory) -> tuple[str, ...]:
    """Say which files of a run are missing or not as they were, and how.

    Raises:
        StorageError: If the status is damaged.
    """
    status = run.status()
    if not status.files:
        return _journal_problems(run, is_finished=status.state == "finished")
    found = {name: recorded_problem(run.path, name, status) for name in status.files}
    return tuple(f"{name}: {problem}" for name, problem in found.items() if problem)


def _journal_problems(run: RunDirectory, *, is_finished: bool) -> tuple[str, ...]:
    """Compare journals with the newest whole manifest that says how far they go."""
    problems = []
    for folder in reversed(list_checkpoints(run)):
        try:
            marks = read_manifest(folder).journals
        except StorageError:
            continue
        for name, mark in marks.items():
            path = run.journal_path(name)
            try:
                verify_mark(path, mark)
            except StorageError as e:
                problems.append(f"{path.name}: {e.was}")
                continue
            size = path.stat().st_size if path.is_file() else 0
            if is_finished and size != mark.n_bytes:
                problems.append(f"{path.name}: {size:,} bytes instead of {mark.n_bytes:,}")
        if marks:
            break
    return tuple(problems)
