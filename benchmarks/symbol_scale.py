"""From 10 to 1,000 symbols: processor time and memory of data, training and judging. Synthetic.

    .venv/bin/python benchmarks/symbol_scale.py [--device cuda] [--sizes 10,100,143,300,1000]
    .venv/bin/python benchmarks/symbol_scale.py --draw    # docs/images, from the recorded table

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
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
PICTURE = RESULTS.parents[1] / "docs" / "images" / "symbol_scale.svg"
COLUMNS = ("symbols", "data_s", "setup_s", "updates_s", "steps_per_s", "validation_s", "peak_mb")
"""Of the table in `RESULTS.md`, and of what is printed."""
STAGES = {
    "data_s": "bars and features",
    "setup_s": "set-up",
    "updates_s": f"{UPDATES} updates",
    "validation_s": "one validation",
}
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


def recorded_rows(text: str) -> list[dict[str, float]]:
    """Return the rows that `RESULTS.md` keeps."""
    table = text.partition("| symbols | bars and features |")[2].partition("\n\n")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return [
        {
            name: float(cell.removesuffix(" s").removesuffix(" MB").replace(",", ""))
            for name, cell in zip(COLUMNS, line, strict=True)
        }
        for line in lines
    ]


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Draw seconds of each stage and the peak memory against symbols; the rows are its caption."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    sizes = [row["symbols"] for row in rows]
    style = {"svg.fonttype": "none", "svg.hashsalt": "symbols", "font.family": "sans-serif"}
    with plt.rc_context(style):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
        for name, label in STAGES.items():
            left.plot(sizes, [row[name] for row in rows], marker="o", label=label)
        left.set(xscale="log", yscale="log", ylabel="seconds of one core", title="Time by stage")
        left.set_yticks([0.1, 0.3, 1.0, 3.0, 10.0], ["0.1", "0.3", "1", "3", "10"])
        left.legend(frameon=False, fontsize="small")
        right.plot(sizes, [row["peak_mb"] / 1e3 for row in rows], marker="o", color="black")
        right.set(ylabel="GB", title="Peak memory of the process", ylim=0.0)
        for axes in (left, right):
            axes.set_xlabel("symbols")
            axes.set_xticks(sizes if axes is left else [10, 300, 1000])
            axes.set_xticklabels([f"{size:,.0f}" for size in axes.get_xticks()], fontsize="small")
            axes.minorticks_off()
            axes.grid(alpha=0.3)
        figure.suptitle("Two years of hourly bars, direct gradients; synthetic", fontsize="medium")
        about = {"Date": None, "Creator": None, "Description": json.dumps(rows)}
        figure.savefig(path, format="svg", metadata=about)
        plt.close(figure)


def main() -> None:
    """Measure each size in a process of its own and print one JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--one", type=int, help="measure this size here")
    parser.add_argument("--draw", action="store_true", help="draw the recorded table instead")
    asked = parser.parse_args()
    if asked.draw:
        draw(recorded_rows(RESULTS.read_text(encoding="utf-8")), PICTURE)
        return
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
