"""`bench cluster`: items that are timed mean the same everywhere; its records (slow)."""

from __future__ import annotations

import json

import pytest

from tradingbot.app.cli.application import run
from tradingbot.executors.executor import InlineExecutor, WorkItem, ignore_progress, run_items
from tradingbot_benchmarks.cluster.items import open_products


def test_timed_items_depend_on_their_payload_alone() -> None:
    items = [WorkItem(f"{n}", (n, 2)) for n in range(3)]
    first, second = (
        {each.item.name: each.result() for each in run_items(InlineExecutor(open_products()), some)}
        for some in (items, items[::-1])
    )

    assert first == second
    assert len({*first.values()}) == 3
    assert open_products()((0, 2), ignore_progress) == first["0"]


@pytest.mark.slow
def test_bench_cluster_prints_its_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "cluster", "--quick", "--json"]) == 0

    found = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)}

    assert set(found) >= {"ray_overhead", "kill_recovery_s", "bitwise_equal_after_kills"}
    assert found["bitwise_equal_after_kills"] == 1.0
