"""`benchmarks/gpu_direct.py` compares before it times, and what it compares is learned."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu_direct.py"
GIVEN = argparse.Namespace(
    device="cpu",
    envs=2,
    chunk=4,
    updates=4,
    compared=2,
    limit=60.0,
    eager_limit=60.0,
    profile=False,
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_direct", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_updates_on_kept_tensors_are_compared_with_plain_ones_and_timed(script: ModuleType) -> None:
    world, expected = script.market(2, 300), []
    for name in ("eager", "graph"):
        found = script.guarded(name, world, GIVEN, expected)
        assert found.get("error") is None
        assert found["comparison"]["differences_from_eager"] == [0.0, 0.0]
        assert found["comparison"]["resumed_difference"] == 0.0
        assert found["complete"]
        assert found["finite"]
    assert script.furthest(expected[0], expected[1]) > 1e-4  # weights moved, so 0 says something


def test_mode_that_fails_leaves_its_error(script: ModuleType) -> None:
    found = script.guarded("graph", script.market(2, 300), GIVEN, [])
    assert "IndexError" in found["error"]
