"""Files of a finished run by the hashes in its status: what is missing or changed is refused."""

from __future__ import annotations

from pathlib import Path

from tradingbot.data.atomic import file_sha256, storage_errors
from tradingbot.domain.errors import StorageError
from tradingbot.runs.record import RecordedFile, RunStatus


def record_file(path: Path) -> RecordedFile:
    """Hash a file for the status of a run.

    Raises:
        StorageError: If it is missing.
    """
    with storage_errors(path):
        return RecordedFile(n_bytes=path.stat().st_size, sha256=file_sha256(path))


def require_recorded(folder: Path, name: str, status: RunStatus) -> None:
    """Refuse a file of a finished run that is not as it was; others have recorded nothing.

    Args:
        folder: Of the run.
        name: Path of the file below it.
        status: Of the run.

    Raises:
        StorageError: If the file is missing or was changed since.
    """
    problem = recorded_problem(folder, name, status) if status.files else None
    if problem is not None:
        raise changed_files(folder / name, problem)


def recorded_problem(folder: Path, name: str, status: RunStatus) -> str | None:
    """Say what is wrong with a file of a finished run; None where it is as it was."""
    recorded, path = status.files.get(name), folder / name
    if recorded is None:
        return "not among the files that the run recorded when it finished"
    if path.is_symlink() or not path.is_file():
        return "missing"
    if path.stat().st_size != recorded.n_bytes:
        return f"{path.stat().st_size:,} bytes instead of {recorded.n_bytes:,}"
    return None if file_sha256(path) == recorded.sha256 else "other content"


def changed_files(path: Path, was: str) -> StorageError:
    """Return the refusal of a run whose files are not as they were."""
    return StorageError(
        "files of a finished run must be as training left them",
        was=was,
        where=str(path),
        remedy="Restore them from a copy, or train again: the same seed gives the same result",
    )
