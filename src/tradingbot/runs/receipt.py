"""Witnesses of the ledger: what a run or model keeps in its own folder of entries made for it.

One JSON object per line, the entry that began a run first. A ledger that was cut at its end or
replaced lacks an entry of a receipt. Files of older versions hold that first line alone.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tradingbot.data.atomic import storage_errors, write_text
from tradingbot.domain.errors import StorageError
from tradingbot.runs.record import StoredModel

RECEIPT_FILE = "ledger.json"


class LedgerReceipt(StoredModel):
    """One entry of the ledger as it was seen."""

    sequence: int
    sha256: str

    @property
    def line(self) -> str:
        """What a receipt's file holds of it."""
        return f"{self.model_dump_json()}\n"


def write_receipts(folder: Path, receipts: tuple[LedgerReceipt, ...]) -> None:
    """Write what a folder saw, instead of what is there.

    Raises:
        StorageError: If the disk refuses.
    """
    write_text(folder / RECEIPT_FILE, "".join(each.line for each in receipts))


def read_receipts(path: Path) -> tuple[LedgerReceipt, ...]:
    """Read what a folder saw of the ledger, one or more entries.

    Raises:
        StorageError: If the file is damaged or empty.
    """
    try:
        with storage_errors(path):
            lines = path.read_bytes().splitlines()
        found = tuple(LedgerReceipt.model_validate_json(line) for line in lines)
    except ValidationError as e:
        raise damaged_ledger(path, "unreadable") from e
    if not found:
        raise damaged_ledger(path, "empty")
    return found


def began_at(folder: Path) -> int:
    """Return how many entries there were before a run; 0 where it has no receipt.

    Raises:
        StorageError: If the receipt is damaged.
    """
    file = folder / RECEIPT_FILE
    return read_receipts(file)[0].sequence if file.is_file() else 0


def damaged_ledger(path: Path, was: str) -> StorageError:
    """Return the refusal of a ledger, or of a receipt, that is not what was written."""
    return StorageError(
        "the ledger of trials must be whole",
        was=was,
        where=str(path),
        remedy="Restore it from a backup, or bring it along with runs of another workspace: "
        "a deflated Sharpe ratio needs the true count of trials",
    )
