"""`benchmarks/gpu_simulator.py` measures the same thing as the benchmark of the CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tradingbot.market.compiled import packed_step
from tradingbot.market.packing import pack_rates
from tradingbot_benchmarks.simulator.bound import bytes_per_step
from tradingbot_benchmarks.simulator.setup import COSTS, EVERY_RULE, bench_world, draw_batch

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gpu_simulator.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_simulator", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rules_costs_and_bytes_are_those_of_the_benchmark(script: ModuleType) -> None:
    lanes = script.Lanes(script.synthetic_bars().to(dtype=torch.float32), 8, packed_step)
    batch = draw_batch(bench_world(2, 900), 8, compiled=False)
    batch.advance()

    assert EVERY_RULE.rules == script.RULES
    assert torch.equal(lanes.rates, pack_rates(COSTS.rates()))
    assert script.bytes_per_step(lanes, lanes.advance()) == bytes_per_step(batch)


def test_check_accepts_equal_steps_and_refuses_others(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    market, cpu = script.synthetic_bars(), torch.device("cpu")
    monkeypatch.setattr(script, "CHECKED_STEPS", 2)
    monkeypatch.setattr(script, "compiled_step", packed_step)
    assert script.require_equal(cpu, market, 8) == 0.0

    def wrong(*where):
        right = packed_step(*where)

        def step(*arguments):
            made = right(*arguments)
            return made._replace(reward=made.reward + 1.0)

        return step

    monkeypatch.setattr(script, "compiled_step", wrong)
    with pytest.raises(SystemExit, match="no speed is measured"):
        script.require_equal(cpu, market, 8)
