"""`bench serve`: its records, and that answers are compared before they are timed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.serving.served_model import ServedModel
from tradingbot_benchmarks.serving import http
from tradingbot_benchmarks.serving.bench import QUICK, measure_serving

_MAY_BE_0 = ("swap_failures", "overload_shed", "onnx_largest_difference")
HTTP = replace(QUICK.http, n_symbols=3, stretches=1, calls=5, loads=1, load_s=0.05, swaps=2)
TINY = replace(QUICK, n_symbols=3, calls=60, bars=6, http=HTTP)


def test_records_have_their_names_units_and_references() -> None:
    found = {record.name: record for record in measure_serving(TINY)}

    assert list(found) == [
        *("predict_one", "vs_torch", "served_bar", "served_windows"),
        *("onnx_largest_difference", "bar_143", "gate_decision", "predict_http"),
        *("overload_p99", "overload_shed", "swap_failures"),
    ]
    assert all(found[name].value > 0 for name in found if name not in _MAY_BE_0)
    assert (found["swap_failures"].value, found["swap_failures"].reference) == (0.0, 0.0)
    assert [found[name].reference for name in ("bar_143", "predict_http")] == [0.025, 0.006]
    assert found["onnx_largest_difference"].value <= found["onnx_largest_difference"].reference
    gate = found["gate_decision"]
    assert (gate.unit, gate.reference) == ("s", 200e-6)
    assert (found["predict_one"].unit, found["predict_one"].reference) == ("s", 0.003)
    assert found["vs_torch"].ratio == found["vs_torch"].value


def test_answers_that_differ_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = ServedModel.decide

    def bent(self: ServedModel, agent, embedding, *more):
        return decide(self, agent, embedding * 1.01, *more)

    monkeypatch.setattr(ServedModel, "decide", bent)

    with pytest.raises(DataError, match="must agree with PyTorch before it is timed"):
        measure_serving(TINY)


def test_a_server_that_answers_otherwise_is_not_timed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(http, "_wanted", lambda *_: {"0" * 64: 0.0})

    with pytest.raises(DataError, match="must answer as its model does"):
        http.measure_http(tmp_path, HTTP)
