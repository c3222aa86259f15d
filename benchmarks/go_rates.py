"""How often the verdict is GO on noise, and on markets with a planted signal (κ = 0.10). Synthetic.

python benchmarks/go_rates.py [--noise 100] [--planted 40] [--demo 0] [--jobs 2] [--out x.json]
    [--kappa 0.06] [--correlation 0.4] [--premium 0.05]

`--demo 20`: the demo's own path with 20 training seeds, `train --preset prototype10` and `evaluate
--preset quick`. About 40 s of one core per noise market, 100 s per planted one and five minutes per
seed of the demo. Results are written as they come;
markets that are in the file already are not judged again. Many processes on one machine spend their
time on giving memory back; MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_=10000000000 keep it.
A file that --seconds cut short has too few markets that take long, which are those not NO-GO.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tradingbot_benchmarks.evaluation.go_rates import (
    DEMO,
    FIRST_SEED,
    NOISE,
    PLANTED,
    GoResult,
    judge_markets,
    rate_record,
    settings,
)


def main() -> None:
    """Judge what is missing and write it down."""
    options = read_options()
    params = read_params(options)
    results = read_results(options.out, params)
    known = {(each.market, each.seed) for each in results}
    counts = {DEMO: options.demo, PLANTED: options.planted, NOISE: options.noise}
    wanted = [
        (market, FIRST_SEED + index)
        for market, count in counts.items()
        for index in range(count)
        if (market, FIRST_SEED + index) not in known
    ]
    began = time.perf_counter()
    found = judge_markets(wanted, jobs=options.jobs, progress=lambda *_: None, params=params)
    for result in found:
        results.append(result)
        print(f"{time.perf_counter() - began:6.0f} s {result}", flush=True)
        write_results(options.out, results, params)
        if time.perf_counter() - began > options.seconds:
            print("time is up", flush=True)
            os._exit(0)  # workers in the middle of a market are not waited for


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise", type=int, default=100)
    parser.add_argument("--planted", type=int, default=40)
    parser.add_argument("--demo", type=int, default=0, help="training seeds of the demo")
    parser.add_argument("--kappa", type=float, help="strength of the planted signal")
    parser.add_argument("--correlation", type=float, help="of the noise between any two symbols")
    parser.add_argument("--premium", type=float, help="what holding earns per year, e.g. 0.05")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9, help="leave after this")
    parser.add_argument("--out", type=Path, default=Path("go_rates.json"))
    return parser.parse_args()


def read_params(options: argparse.Namespace) -> dict[str, float]:
    """Return the market's parameters that were given."""
    names = {"kappa": "kappa", "correlation": "correlation", "premium": "premium_annual_frac"}
    given = {name: getattr(options, option) for option, name in names.items()}
    return {name: value for name, value in given.items() if value is not None}


def read_results(path: Path, params: dict[str, float]) -> list[GoResult]:
    """Return what a file has."""
    if not path.is_file():
        return []
    document = json.loads(path.read_text())
    if document["settings"] != settings(params):
        sys.exit(f"error: {path} has results of other settings. Give another file with --out.")
    runs = document["runs"]
    return [GoResult(**{**run, "missed": tuple(run["missed"])}) for run in runs]


def write_results(path: Path, results: list[GoResult], params: dict[str, float]) -> None:
    """Write all results, and a record for each kind of market."""
    kinds = dict.fromkeys(each.market for each in results)
    records = [asdict(rate_record(market, results)) for market in kinds]
    runs = [asdict(each) for each in results]
    document = {"settings": settings(params), "records": records, "runs": runs}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
