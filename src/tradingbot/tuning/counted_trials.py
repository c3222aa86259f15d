"""Trials of a study in the ledger of a workspace: each once, whichever workspace made it.

A database of trials may be shared. What is chosen among trials is chosen among all of them, so a
workspace counts those that others made as well, before it looks at what they came to.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tradingbot.runs.ledger import Ledger
from tradingbot.training.trial_ledger import data_key
from tradingbot.tuning.request import TuneRequest, study_key
from tradingbot.tuning.training_trial import TrialBench, trial_config
from tradingbot.tuning.trial_record import TrialResult, TuningTrial, ledger_hash


class TrialCount:
    """Counts trials of one study in one workspace."""

    def __init__(self, request: TuneRequest, bench: TrialBench) -> None:
        """Name the study and its bars."""
        self._request, self._bench = request, bench
        self._counted = set[str]()

    def begin(self, specs: Sequence[TuningTrial]) -> None:
        """Count trials before they begin.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        for spec in specs:
            tried = trial_config(self._bench.config, self._request.settings, spec)
            self._count(ledger_hash(spec, tried.config_hash))

    def see(self, results: Sequence[TrialResult]) -> None:
        """Count trials that are kept, before their results are looked at.

        Raises:
            StorageError: If the ledger is not whole, or the disk refuses.
        """
        for each in results:
            self._count(ledger_hash(each.spec, each.config_hash))

    def _count(self, digest: str) -> None:
        if digest in self._counted:
            return
        workspace: Path = self._bench.workspace
        ledger = Ledger(workspace)
        entry = ledger.begin_once(
            "tuning",
            data=data_key(self._bench.data.identity),
            run=study_key(self._request.name),
            config_hash=digest,
            at=datetime.now(UTC),
        )
        ledger.write_receipt(self._request.folder(workspace), entry)
        self._counted.add(digest)
