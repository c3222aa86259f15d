"""What learners find on markets with known answers, on a GPU: the table of `bench learning`.

python benchmarks/gpu_learning.py [--device cuda] [--markets noise …] [--learners direct ppo sac]
    [--seeds 0 1 2 3 4] [--agents 143] [--pooling partial] [--compiled] [--seconds 540]
    [--set fold_bars=128 …] [--out learning.json]

Needs torch, NumPy, polars, pydantic, gymnasium and this repository's sources. Markets are
synthetic. Results are written after every run, so that what was done is kept when time is up; runs
that are in the file already are not made again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch

from tradingbot_benchmarks.learning.curve.markets import QUESTIONS
from tradingbot_benchmarks.learning.curve.measure import LearningResult, LearningRun, run_learning
from tradingbot_benchmarks.learning.curve.settings import measured_learners
from tradingbot_benchmarks.learning.known_answers import as_documents, record_of


def main() -> None:
    """Run what is asked for and write it down."""
    options = read_options()
    run = LearningRun(
        n_agents=options.agents,
        device=options.device,
        pooling=options.pooling,
        compiled=options.compiled or None,
        changes={name: json.loads(value) for name, _, value in map(_split, options.set)},
    )
    began, results = time.perf_counter(), read_results(options.out)
    for seed in options.seeds:
        for market in options.markets:
            for learner in options.learners:
                if any((r.market, r.learner, r.seed) == (market, learner, seed) for r in results):
                    continue
                if time.perf_counter() - began > options.seconds:
                    print("time is up", flush=True)
                    return
                results.append(run_learning(market, learner, seed, run))
                last = results[-1]
                print(f"{market}/{learner} seed {seed}: {last.value:.3f}, {last}", flush=True)
                write_results(options.out, results, run)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--markets", nargs="+", default=list(QUESTIONS))
    parser.add_argument("--learners", nargs="+", default=list(measured_learners()))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--agents", type=int, default=143)
    parser.add_argument("--pooling", default="partial")
    parser.add_argument("--compiled", action="store_true", help="on a CPU too")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after this")
    parser.add_argument(
        "--set", nargs="*", default=[], help="FIELD=VALUE of the learner's settings"
    )
    parser.add_argument("--out", type=Path, default=Path("gpu_learning.json"))
    return parser.parse_args()


def _split(setting: str) -> tuple[str, str, str]:
    return setting.partition("=")


def read_results(path: Path) -> list[LearningResult]:
    """Return the runs that a file has."""
    if not path.is_file():
        return []
    return [LearningResult(**run) for run in json.loads(path.read_text())["runs"]]


def write_results(path: Path, results: list[LearningResult], run: LearningRun) -> None:
    """Write all runs, and a record for each market and learner."""
    groups: dict[tuple[str, str], list[LearningResult]] = {}
    for result in results:
        groups.setdefault((result.market, result.learner), []).append(result)
    document = {
        "device": torch.cuda.get_device_name() if run.device.startswith("cuda") else "CPU",
        "torch": torch.__version__,
        "records": as_documents([record_of(group, run) for group in groups.values()]),
        "runs": [asdict(result) for result in results],
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
