"""`bench serve`: its records, and that answers are compared before they are timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.serving.served_model import ServedModel
from tradingbot_benchmarks.serving.bench import QUICK, measure_serving

TINY = replace(QUICK, n_symbols=3, calls=20, bars=5)


def test_records_have_their_names_units_and_references() -> None:
    found = {record.name: record for record in measure_serving(TINY)}

    assert list(found) == ["predict_one", "vs_torch", "served_bar", "served_windows"]
    assert all(record.value > 0 for record in found.values())
    assert (found["predict_one"].unit, found["predict_one"].reference) == ("s", 0.003)
    assert found["vs_torch"].ratio == found["vs_torch"].value


def test_answers_that_differ_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = ServedModel.decide

    def bent(self: ServedModel, agent, embedding, *more):
        return decide(self, agent, embedding * 1.01, *more)

    monkeypatch.setattr(ServedModel, "decide", bent)

    with pytest.raises(DataError, match="must agree with PyTorch before it is timed"):
        measure_serving(TINY)
