"""`tradingbot bench encoder`, with the real measurement at a small size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot_benchmarks.learning import encoder as encoder_bench


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = {"encoder": ENCODER_PRESETS["tiny"], "preset": "tiny", "bars": 3528}
    less = {"compared_bars": 30, "calls": 2, "seconds": 0.001}
    for name, symbols in (("FULL", 2), ("QUICK", 1)):
        scale = replace(getattr(encoder_bench, name), symbols=symbols, **tiny, **less)
        monkeypatch.setattr(encoder_bench, name, scale)


def test_json_is_a_list_of_records(call) -> None:
    records = {record["name"]: record for record in call("bench", "encoder", "--json").document}

    assert {"history_bars", "window_p95_b32", "activations_b32", "embed_2x2y"} <= set(records)
    assert set(records["embed_2x2y"]) >= {"name", "value", "unit", "reference", "ratio"}


def test_quick_embeds_fewer_symbols_and_says_so_by_name(call) -> None:
    shown = call("bench", "encoder", "--quick").out

    assert "embed_1x2y" in shown
    assert "windows/s" in shown
