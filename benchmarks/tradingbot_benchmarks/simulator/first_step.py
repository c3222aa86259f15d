"""How long the first step of a fresh process takes, with an empty cache and with a filled one.

Run as `python -m tradingbot_benchmarks.simulator.first_step N` it prints the seconds from making N
environments to the end of their first step; importing and building the market come before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from tradingbot.market.program_cache import CACHE_VARIABLE


def first_steps(n_environments: int) -> dict[str, float]:
    """Measure in two processes one after another: `cold` and `warm` → seconds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {CACHE_VARIABLE: folder}
        return {cache: _in_process(n_environments, environment) for cache in ("cold", "warm")}


def _in_process(n_environments: int, environment: dict[str, str]) -> float:
    command = [sys.executable, "-m", __name__, str(n_environments)]
    finished = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(json.loads(finished.stdout.splitlines()[-1]))


def time_first_step(n_environments: int) -> float:
    """Return the seconds from making environments to the end of their first step."""
    import torch

    from tradingbot.envs.batch import BatchSimulator
    from tradingbot_benchmarks.simulator.setup import DEFAULT, bench_world

    world = bench_world(8, 1500)
    began_s = time.perf_counter()
    simulator = BatchSimulator(world, DEFAULT, n_environments)
    simulator.reset(seed=1)
    simulator.step(torch.zeros(n_environments))
    return time.perf_counter() - began_s


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(time_first_step(int(sys.argv[1])))}\n")
