"""Every training is a trial of its data: counted when it begins, with its result when it ends."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

from tradingbot.app.training.results import AGENTS, TrainResult
from tradingbot.runs import RunDirectory
from tradingbot.runs.ledger import WITNESS_FILE, Entry, Ledger, read_witness, write_witness
from tradingbot.runs.record import DataIdentity, content_sha256


def data_key(data: DataIdentity) -> str:
    """Return what trials of the same data have in common: the bars, whatever is made of them.

    Records of older versions have no hash of a generated market's bars; the world's stands for it.
    """
    return data.dataset_sha256 or data.data_sha256


def count_training(run: RunDirectory, workspace: Path, *, at: datetime) -> Entry:
    """Count a run in the ledger of its workspace, once, however often it is resumed.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    ledger, witness = Ledger(workspace), run.path / WITNESS_FILE
    if witness.is_file():
        ledger.require_witnessed(run.path.parent)
        return ledger.entries()[read_witness(witness).sequence]
    entry = ledger.begin(
        "training",
        data=data_key(run.record.data),
        run=run.id,
        config_hash=content_sha256(run.record.config),
        at=at,
    )
    write_witness(run.path, entry)
    return entry


def note_result(
    trial: Entry, workspace: Path, result: TrainResult, *, bars_per_year: float, at: datetime
) -> None:
    """Write a finished run's Sharpe ratio on the test part into the ledger.

    Raises:
        StorageError: If the ledger is not whole, or the disk refuses.
    """
    agents = result.parts[-1].policy(AGENTS)
    sharpe = math.nan if agents is None else agents.sharpe_annual.estimate
    Ledger(workspace).finish(trial, sharpe / math.sqrt(bars_per_year), at=at)
