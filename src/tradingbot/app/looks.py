"""Looks at a run's test bars: counted in the ledger when somebody is about to see the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from tradingbot.app.evaluation.identity import weights_sha256
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.training.counting import count_evaluation, data_key
from tradingbot.data.splits import IndexRange
from tradingbot.market.costs import CostProfile
from tradingbot.runs.record import content_sha256


@dataclass(frozen=True, eq=False)
class Look:
    """One run on bars that reach into its test part."""

    subject: Subject
    bars: IndexRange
    costs: CostProfile
    delay_bars: int


def count_looks(looks: Sequence[Look]) -> None:
    """Count looks; the same look again is no further trial.

    Raises:
        StorageError: If a ledger is not whole, or the disk refuses.
    """
    for look in looks:
        subject, run = look.subject, look.subject.run
        asked = {
            "weights": weights_sha256(subject),
            "bars": [look.bars.start, look.bars.stop],
            "costs": asdict(look.costs),
            "delay_bars": look.delay_bars,
        }
        count_evaluation(
            run.id,
            subject.workspace,
            run.path,
            data=data_key(run.record.data),
            config_hash=content_sha256(asked),
            at=datetime.now(UTC),
        )
