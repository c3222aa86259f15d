"""The training benchmark at a size where figures mean nothing: records and what they say."""

from __future__ import annotations

import math

import pytest

from tradingbot.domain.errors import MissingExtraError
from tradingbot_benchmarks.learning import train as train_bench
from tradingbot_benchmarks.record import BenchRecord


@pytest.mark.slow
def test_every_promised_record_is_there() -> None:
    found = {record.name: record for record in train_bench.measure_training(train_bench.TINY)}

    assert {
        *("ppo_vs_sb3", "ppo_vs_sb3_to_quality", "sac_vs_sb3", "sac_vs_sb3_to_quality"),
        *("ppo_3x1k", "growth_agents_1", "growth_agents_2", "peak_memory"),
        *("icm_overhead", "icm_overhead_sac"),
    } <= set(found)
    assert any(name.startswith("embed_") for name in found)
    assert found["ppo_vs_sb3"].ratio is not None
    assert math.isnan(found["ppo_vs_sb3_to_quality"].value)  # no time to get anywhere
    assert "gave up" in found["ppo_vs_sb3_to_quality"].note


def test_training_beyond_its_limit_is_labelled_as_extrapolated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(train_bench, "_train", lambda *_: (10.0, 25_000))

    record = train_bench.ppo_whole(train_bench.FULL)

    assert (record.name, record.value, record.unit) == ("ppo_143x100k", 40.0, "s")
    assert "EXTRAPOLATED from 25,000 steps" in record.note


def test_record_that_lacks_a_package_says_so_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> BenchRecord:
        raise MissingExtraError("train", package="stable_baselines3")

    monkeypatch.setattr(train_bench, "ppo_vs_sb3", fail)
    monkeypatch.setattr(train_bench, "_train", lambda *_: (1.0, 2_048))
    monkeypatch.setattr(
        train_bench, "embedding_record", lambda _: BenchRecord("embed_143x2y", 1.0, "s")
    )

    asked = ("ppo_vs_sb3", "embed_143x2y", "growth")
    measured = train_bench.measure_training(train_bench.FULL, only=asked)
    found = {record.name: record for record in measured}

    assert math.isnan(found["ppo_vs_sb3"].value)
    assert "stable_baselines3" in found["ppo_vs_sb3"].note
    assert found["embed_143x2y"].value == 1.0
    assert found["growth_agents_1000"].value == 2_048_000.0


def test_records_come_as_they_are_measured_and_only_those_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ppo_to_quality", "sac_to_quality", "sac_vs_sb3", "ppo_whole"):
        monkeypatch.setattr(train_bench, name, None)  # never called
    measured: list[str] = []

    def record(name: str) -> BenchRecord:
        measured.append(name)
        return BenchRecord(name, 1.0, "s")

    monkeypatch.setattr(train_bench, "ppo_vs_sb3", lambda _: record("ppo_vs_sb3"))
    monkeypatch.setattr(train_bench, "embedding_record", lambda _: record("embed_143x2y"))
    found = train_bench.measure_training(train_bench.TINY, only=("embed_143x2y", "ppo_vs_sb3"))

    assert next(found).name == "ppo_vs_sb3"
    assert measured == ["ppo_vs_sb3"]  # the other is not measured yet: what is there can be told
    assert [each.name for each in found] == ["embed_143x2y", "peak_memory"]
