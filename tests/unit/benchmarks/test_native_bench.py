"""The bench of the native step: what is timed comes to the same, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tradingbot.market.compiled import missing_compiler, packed_step
from tradingbot_benchmarks.simulator import native_bench
from tradingbot_benchmarks.simulator.native_bench import measure_native_step

needs_compiler = pytest.mark.skipif(
    missing_compiler(torch.device("cpu")) is not None, reason="no C compiler on this machine"
)


@needs_compiler
def test_record_names_both_steps() -> None:
    record = measure_native_step(n_bars=80)

    assert (record.name, record.unit, record.reference_name) == ("step_as_c", "µs", "tensors")
    assert record.ratio is not None
    assert "10 accounts" in record.note


@needs_compiler
def test_steps_that_differ_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(*place: Any) -> Any:
        step = packed_step(*place)
        return lambda rates, account, action: step(rates * 1.5, account, action)

    monkeypatch.setattr(native_bench, "packed_step", shifted)

    with pytest.raises(RuntimeError, match="differ"):
        measure_native_step(n_bars=80)


def test_machine_without_compiler_has_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_bench, "native_step", lambda *_, **__: None)

    assert "no C compiler" in measure_native_step(n_bars=80).note
