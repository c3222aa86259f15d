"""The page that an evaluation leaves; JSON and CSV beside it are `evaluation.tables`."""

from __future__ import annotations

from pathlib import Path

from tradingbot.data.atomic import write_text
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import Memo

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
