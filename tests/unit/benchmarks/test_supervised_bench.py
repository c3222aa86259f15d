"""The supervised benchmark: every classifier is checked first, then timed."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.supervised import CLASSIFIERS, build_classifier
from tradingbot_benchmarks import supervised as supervised_bench
from tradingbot_benchmarks.supervised import SupervisedScale, measure_supervised

TINY = SupervisedScale(n_symbols=2, n_bars=500, single_calls=3, batch_runs=1)


@pytest.fixture(autouse=True)
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    network = {"max_updates": 20, "width": 8}
    settings = {"lightgbm": {"max_rounds": 3, "min_leaf_bars": 20}}
    monkeypatch.setattr(
        supervised_bench,
        "build_classifier",
        lambda name: build_classifier(name, settings.get(name, network)),
    )


def test_every_classifier_has_its_three_records() -> None:
    records = measure_supervised(TINY, lambda *_: None)

    kinds = ("single", "batched", "vs_plain")
    assert [r.name for r in records] == [f"{n}_{kind}" for n in CLASSIFIERS for kind in kinds]
    assert all(r.unit == "ms" and r.value > 0.0 and r.ratio for r in records)
    assert {r.reference for r in records if r.name.endswith("_single")} == {1.0}
    assert {r.reference for r in records if r.name.endswith("_batched")} == {0.1}


def test_ways_of_asking_that_disagree_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        supervised_bench, "_plain", lambda model: lambda window: np.array([0.2, 0.3, 0.5])
    )

    with pytest.raises(DataError, match="agree"):
        measure_supervised(TINY, lambda *_: None)
