"""What an evaluation leaves for others: dossier and memo as JSON, tables as CSV, the page."""

from __future__ import annotations

from pathlib import Path

from tradingbot.data.atomic import write_text
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.tables import write_tables

REPORT_FILE = "report.html"


def store_evaluation(folder: Path, dossier: Dossier, memo: Memo) -> None:
    """Write dossier, memo and tables, each whole or not at all.

    Raises:
        StorageError: If the disk refuses.
    """
    write_tables(dossier, memo, folder)


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
