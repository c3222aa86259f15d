"""The encoder's benchmark: checks first, then records, with the real passes at a small size."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tradingbot.domain.errors import TradingBotError
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.networks.encoders.transformer import TransformerEncoder
from tradingbot_benchmarks.learning.encoder import FULL, QUICK, measure_encoder
from tradingbot_benchmarks.record import BenchRecord

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu_encoder.py"
SMALL = replace(
    QUICK,
    encoder=ENCODER_PRESETS["tiny"],
    preset="tiny",
    symbols=2,
    bars=1764,
    compared_bars=40,
    calls=2,
    seconds=0.001,
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_encoder", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_records_say_what_was_measured() -> None:
    found = {record.name: record for record in measure_encoder(SMALL)}

    assert set(found) == {
        *("history_bars", "windows_b256", "window_p95_b32", "stream_p95_143"),
        *("activations_b32", "embed_2x1y"),
    }
    assert found["embed_2x1y"].note.startswith("2 × 1,764 bars, tiny encoder")
    for record in found.values():
        assert record.value > 0.0
        assert record.ratio == pytest.approx(_better_by(record))


def _better_by(record: BenchRecord) -> float:
    assert record.reference is not None
    speed = record.unit.endswith("/s")
    return record.value / record.reference if speed else record.reference / record.value


def test_activations_are_at_least_what_layers_must_keep() -> None:
    found = {record.name: record for record in measure_encoder(SMALL)}

    # The second layer's inner activations, of the last bar alone, before and after GELU.
    least = 32 * 4 * 32 * 4
    weights = 4 * sum(p.numel() for p in _tiny().parameters())
    assert least < found["activations_b32"].value < 100 * weights


def _tiny() -> TransformerEncoder:
    return TransformerEncoder(ENCODER_PRESETS["tiny"], 33, torch.Generator().manual_seed(0))


def test_nothing_is_timed_where_passes_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TransformerEncoder.stream

    def wrong(self: TransformerEncoder, memory: tuple[Tensor, ...], row: Tensor):
        memory, embedding = right(self, memory, row)
        return memory, embedding + 1e-3

    monkeypatch.setattr(TransformerEncoder, "stream", wrong)
    with pytest.raises(TradingBotError, match="nothing is timed"):
        measure_encoder(SMALL)


def test_long_record_is_of_the_whole_population() -> None:
    assert (FULL.symbols, FULL.bars, FULL.encoder) == (143, 3528, ENCODER_PRESETS["full"])


def test_script_refuses_to_time_passes_that_differ(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = torch.device("cpu")
    assert script.require_equal("tiny", cpu)["cpu_float32"] == 0.0
    right = TransformerEncoder.window

    monkeypatch.setattr(
        TransformerEncoder, "window", lambda self, window: right(self, window) + 1e-6
    )
    with pytest.raises(SystemExit, match="no speed is measured"):
        script.require_equal("tiny", cpu)
