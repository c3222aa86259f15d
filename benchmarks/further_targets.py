"""Further targets of the plan: the last table of docs/results/recovery.md.

python benchmarks/further_targets.py [--only exploration objectives actors] [--seeds 1 2 3]
    [--updates 48] [--out FILE]

Exploration of PPO with curiosity and with shaping beside PPO alone, weights of objectives over
1,000 updates, and V-trace with eight actors, each with a few seconds of one core. One JSON line per
figure, to stdout or a file. Needs torch, NumPy, Polars, Pydantic, Gymnasium, exchange_calendars and
this repository's sources.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tradingbot_benchmarks.recovery.further_targets import (
    Figure,
    eight_actors,
    exploration,
    objectives,
)

PARTS = ("exploration", "objectives", "actors")
EXPLORING = ("first_version", "curiosity", "shaping")
SETTLE, WINDOW, ACTING = 1_000, 200, 100
"""Updates after which weights of objectives should stand still, those compared before and after,
and those of V-trace."""


def main() -> None:
    """Measure, and write each figure down as it is known."""
    options = read_options()
    out = options.out.open("a", encoding="utf-8") if options.out else sys.stdout
    for figure in figures_of(options):
        print(json.dumps(figure._asdict(), ensure_ascii=False), file=out, flush=True)


def figures_of(options: argparse.Namespace) -> Iterator[Figure]:
    """Yield the figures of all parts, seed by seed."""
    for seed in options.seeds:
        if "exploration" in options.only:
            for variant in EXPLORING:
                yield from exploration(variant, seed, options.updates)
        if "actors" in options.only:
            yield from eight_actors(seed, ACTING)
        if "objectives" in options.only:
            yield from objectives(seed, SETTLE, WINDOW)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--updates", type=int, default=48, help="of exploration")
    parser.add_argument("--out", type=Path, help="file that lines are added to")
    return parser.parse_args()


if __name__ == "__main__":
    main()
