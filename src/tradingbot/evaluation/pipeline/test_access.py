"""Access to the test bars of a run: counted in the ledger before any figure is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.pipeline.store import weights_sha256
from tradingbot.market.costs import CostProfile
from tradingbot.runs.record import content_sha256
from tradingbot.training.trial_ledger import count_evaluation, data_key


@dataclass(frozen=True, eq=False)
class TestSetAccess:
    """One run on bars that reach into its test part."""

    subject: EvaluatedRun
    bars: IndexRange
    costs: CostProfile
    delay_bars: int


def count_test_access(accesses: Sequence[TestSetAccess]) -> None:
    """Count every access; the same access again is no further trial.

    Raises:
        StorageError: If a ledger is not whole, or the disk refuses.
    """
    for access in accesses:
        subject, run = access.subject, access.subject.run
        asked = {
            "weights": weights_sha256(subject),
            "bars": [access.bars.start, access.bars.stop],
            "costs": asdict(access.costs),
            "delay_bars": access.delay_bars,
        }
        count_evaluation(
            run.id,
            subject.workspace,
            run.path,
            data=data_key(run.record.data),
            config_hash=content_sha256(asked),
            at=datetime.now(UTC),
        )
