"""From 10 to 1,000 symbols: processor time and memory of data, training and judging. Synthetic.

    .venv/bin/python benchmarks/symbol_scale.py [--device cuda] [--sizes 10,100,143,300,1000]

Every size is a process of its own: a synthetic market of two years of hourly bars, 23 features and
10 regimes per bar, a pooled head with deviations per agent, direct gradients in 8 environments of
each agent. Seconds are processor time on a CPU, wall time with `--device cuda`; memory is the
process's highest resident set, and the highest allocation on the device.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

SIZES = (10, 100, 143, 300, 1000)
UPDATES = 3
_HEAD = "# name: scale\n# calendar: XNYS\nsymbol,kind,sector,joined_on,left_on\n"


def measure(n_symbols: int, device: str) -> dict[str, float]:
    """Return seconds of each stage and the highest memory, for so many symbols."""
    import torch

    from tradingbot.training.agent_scores import choosing_bars, scores_on
    from tradingbot.training.config_files import load_train_config
    from tradingbot.training.data import open_data
    from tradingbot.training.setup import build_training_setup

    clock = time.perf_counter if device == "cuda" else time.process_time
    found: dict[str, float] = {"symbols": n_symbols}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        began = clock()
        yield
        if device == "cuda":
            torch.cuda.synchronize()
        found[f"{name}_s"] = clock() - began

    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        rows = (f"S{number:04d},stock,technology,,\n" for number in range(n_symbols))
        universe = Path(folder) / "scale.csv"
        universe.write_text(_HEAD + "".join(rows))
        options = {
            "market.universe": str(universe),
            "market.start": "2023-10-02",
            "symbols": [],
            "splits.train": 0.7,
            "splits.validation": 0.15,
            "splits.test": 0.15,
            "budget.n_envs": 8,
            "device": device,
        }
        config = load_train_config("quick", options)
        with stage("data"):
            data = open_data(config, Path(folder))
        with stage("setup"):
            setup = build_training_setup(config, data, seed=0)
        setup.learner.update()  # compiles, captures, fills caches
        with stage("updates"):
            for _ in range(UPDATES):
                setup.learner.update()
        with stage("validation"):
            scores_on(choosing_bars(data), setup, data)
    steps = UPDATES * config.learner.settings.chunk_bars * 8 * n_symbols
    found["steps_per_s"] = steps / found["updates_s"]
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    if device == "cuda":
        found["device_mb"] = torch.cuda.max_memory_allocated() / 1e6
    return found


def main() -> None:
    """Measure each size in a process of its own and print one JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--one", type=int, help="measure this size here")
    asked = parser.parse_args()
    if asked.one is not None:
        print(json.dumps(measure(asked.one, asked.device)))
        return
    for size in map(int, asked.sizes.split(",")):
        own = [sys.executable, __file__, "--one", str(size), "--device", asked.device]
        done = subprocess.run(own, capture_output=True, text=True, check=False)
        print(done.stdout.strip() or json.dumps({"symbols": size, "failed": done.stderr[-400:]}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
