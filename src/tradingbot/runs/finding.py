"""Finding runs: all of a folder, or one by its id, the beginning of it, or its folder."""

from __future__ import annotations

from pathlib import Path

from tradingbot.domain.errors import ConfigError, StorageError, suggest
from tradingbot.runs.directory import RECORD_FILE, STATUS_FILE, RunDirectory
from tradingbot.runs.foreign import foreign_format

_TRACES_OF_A_RUN = (RECORD_FILE, STATUS_FILE, "checkpoints", "metrics.jsonl", "evaluations.jsonl")


def list_runs(root: Path) -> list[Path]:
    """Folders of all runs, in order of name; also those that turn out to be damaged."""
    if not root.is_dir():
        return []
    return sorted(p for p in root.iterdir() if not p.name.startswith(".") and _is_run(p))


def find_run(root: Path, reference: str) -> RunDirectory:
    """Open a run by its id, by the beginning of it, or by its folder.

    Raises:
        ConfigError: If no run or more than one answers to it, with the nearest name.
        StorageError: If it is damaged, or names a file of another format.
    """
    return RunDirectory.open(find_run_folder(root, reference))


def find_run_folder(root: Path, reference: str) -> Path:
    """Return the folder of a run as `find_run` does, whether or not the run is damaged."""
    path = Path(reference).expanduser()
    if path.is_file():
        rule = "run must be a folder that tradingbot wrote"
        remedy = "Files of other programs are never loaded: they can run code"
        was = foreign_format(path) or "a file"
        raise StorageError(rule, was=was, where=str(path), remedy=remedy)
    if "/" in reference and _is_run(path):
        return path
    folders = list_runs(root)
    exact = [folder for folder in folders if folder.name == reference]
    found = exact or [f for f in folders if reference and f.name.startswith(reference)]
    if len(found) != 1:
        raise ConfigError(
            "run must be the id of one run, or the beginning of it",
            was=repr(reference[:100]),
            where=str(root),
            remedy=suggest(reference, [f.name for f in (found or folders)])
            if folders
            else "There is none yet; run: tradingbot train",
        )
    return found[0]


def _is_run(path: Path) -> bool:
    return any((path / trace).exists() for trace in _TRACES_OF_A_RUN)


def is_portfolio(run: RunDirectory) -> bool:
    """Tell whether a run is a master's: its actions divide capital among sleeves."""
    kind = run.record.config.get("environment", {}).get("kind")
    return bool(kind == "portfolio")


def require_single_accounts(run: RunDirectory) -> None:
    """Refuse a run whose actions are no orders of single accounts.

    Raises:
        ConfigError: Saying what can be done with it.
    """
    if is_portfolio(run):
        raise ConfigError(
            "a run must trade one account per symbol for this",
            was="environment portfolio, whose agent moves capital between accounts",
            where=run.id,
            remedy=f"Judge it with: tradingbot backtest {run.id}, or tradingbot evaluate {run.id}",
        )
