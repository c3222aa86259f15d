"""Access of runs and models to test bars: counted in the ledger before any figure is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tradingbot.data.splits import IndexRange
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.pipeline.store import weights_sha256
from tradingbot.market.costs import CostProfile
from tradingbot.runs.record import content_sha256
from tradingbot.training.trial_ledger import count_evaluation, data_key


@dataclass(frozen=True, eq=False)
class TestSetAccess:
    """One run or model on bars that reach into its test part."""

    owner: str
    """Id of the run, or `model_key` of a model."""
    workspace: Path
    folder: Path
    """Of the run or model; keeps the receipt."""
    data: str
    """Hash of the bars, as `data_key` has it."""
    asked: Mapping[str, object]
    """Everything that the figures follow from."""


def run_access(
    subject: EvaluatedRun, bars: IndexRange, costs: CostProfile, delay_bars: int
) -> TestSetAccess:
    """Return the access of a run."""
    run = subject.run
    asked = {
        "weights": weights_sha256(subject),
        "bars": [bars.start, bars.stop],
        "costs": asdict(costs),
        "delay_bars": delay_bars,
    }
    return TestSetAccess(run.id, subject.workspace, run.path, data_key(run.record.data), asked)


def count_test_access(accesses: Sequence[TestSetAccess]) -> None:
    """Count every access; the same access again is no further trial.

    Raises:
        StorageError: If a ledger is not whole, or the disk refuses.
    """
    for access in accesses:
        count_evaluation(
            access.owner,
            access.workspace,
            access.folder,
            data=access.data,
            config_hash=content_sha256(dict(access.asked)),
            at=datetime.now(UTC),
        )
