"""Trainings with other seeds: those that diverge are counted, and stay in every interval."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    TradedPeriod,
)
from tradingbot.evaluation.analyses.seeds import measure_seeds, seed_specs
from tradingbot.evaluation.analyses.settings import SeedsSettings
from tradingbot.evaluation.performance.record import HOLD

BARS = 300
SETTINGS = SeedsSettings(count=8)


def trained(spec: RetrainingSpec, *, lives: bool) -> RetrainingResult:
    """Return a training that earned 50 bp a bar, or one that was halted and stays out."""
    gains = 0.005 + stream(spec.seed, "gains").normal(0.0, 0.001, BARS) if lives else np.zeros(BARS)
    worth = (1.0, *np.cumprod(1.0 + gains).tolist())
    period = TradedPeriod("test", "2025-01-01", "2025-03-01", worth, tuple(gains), tuple(gains))
    failed = "" if lives else "training must stay healthy, was a collapse"
    return RetrainingResult(spec, 64, "c", "d", "2024-12-31", int(lives), (period,), failed)


def inputs(*, n_living: int) -> AnalysisInputs:
    subject: Any = SimpleNamespace(
        run=SimpleNamespace(record=SimpleNamespace(seeds={"root": 5})), bars_per_year=1638.0
    )
    found = {
        spec.name: trained(spec, lives=place < n_living)
        for place, spec in enumerate(seed_specs(subject, SETTINGS))
    }
    held = SimpleNamespace(sleeves=0.001 + stream(0, "held").normal(0.0, 0.0005, BARS))
    performance = SimpleNamespace(series=lambda name: {HOLD: held}[name])
    results = {"performance": performance}
    return cast(
        AnalysisInputs, SimpleNamespace(subject=subject, results=results, need=found.__getitem__)
    )


def test_T19_seeds_that_diverge_are_told_and_stay_in_every_interval() -> None:
    one = measure_seeds(inputs(n_living=1), SETTINGS)
    whole = measure_seeds(inputs(n_living=8), SETTINGS)

    assert len(one.rows) == 8
    assert [bool(row.failed) for row in one.rows] == [False, *[True] * 7]
    assert one.rows[0].net_bps_per_bar > 40.0
    assert one.net_bps_iqm.estimate == 0.0  # the one that lives is an outlier of eight
    assert one.net_bps_iqm.low <= 0.0 <= one.net_bps_iqm.high
    assert one.beats_hold.estimate == 1 / 8  # staying out earns less than holding
    assert one.beats_hold.low < 1 / 8 < one.beats_hold.high < 0.6
    assert whole.net_bps_iqm.low > 40.0
    assert (whole.beats_hold.low, whole.beats_hold.high) == (1.0, 1.0)
