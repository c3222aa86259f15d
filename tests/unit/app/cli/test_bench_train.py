"""`tradingbot bench train`: records are told and kept one by one, with the machine's load."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tradingbot_benchmarks.learning import train as train_bench
from tradingbot_benchmarks.record import BenchRecord


def test_record_is_in_the_file_before_the_next_one_is_measured(
    call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "records.json"
    kept: list[str] = []

    def measured(_: int) -> Iterator[BenchRecord]:
        yield BenchRecord("icm_overhead", 0.06, "fraction of time", note="two agents")
        kept.extend(each["name"] for each in json.loads(file.read_text(encoding="utf-8")))
        yield BenchRecord("icm_overhead_sac", 0.12, "fraction of time")

    monkeypatch.setattr(train_bench, "icm_overhead", measured)

    answer = call("bench", "train", "--json", "--only", "icm_overhead", "--out", str(file))

    assert kept == ["icm_overhead"]
    names = ["icm_overhead", "icm_overhead_sac", "peak_memory"]
    assert [each["name"] for each in answer.document] == names
    assert json.loads(file.read_text(encoding="utf-8")) == answer.document
    assert "two agents; load " in answer.document[0]["note"]
    assert answer.document[1]["note"].startswith("load ")
    assert "icm_overhead: 0.06 fraction of time" in answer.err


@pytest.mark.parametrize("bench", ["train", "portfolio", "cluster"])
def test_file_that_cannot_be_is_refused_before_anything_is_measured(
    call, bench: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"tradingbot_benchmarks.cli.{bench}.keep_records", None)  # never called

    answer = call("bench", bench, "--out", str(tmp_path))

    assert answer.code == 2
    assert "--out must name a file" in answer.err
