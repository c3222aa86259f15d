"""Write the simulator's section of RESULTS.md, and its picture, from stored records.

python benchmarks/write_results.py simulator.json [--gpu gpu.json] [--figure FILE.png]
Run it on the machine that made the records: the machine is described as found.
"""

from __future__ import annotations

import argparse
import json
import math
from datetime import UTC, datetime
from pathlib import Path

from tradingbot_benchmarks.figures.simulator_speed import draw_simulator_speed
from tradingbot_benchmarks.record import BenchRecord, describe_machine
from tradingbot_benchmarks.simulator.results import (
    replace_section,
    simulator_section,
    speed_curves,
)

PAGE = Path(__file__).resolve().parent / "RESULTS.md"
PICTURE = PAGE.parents[1] / "docs" / "images" / "simulator_speed.png"


def read_records(path: Path) -> list[BenchRecord]:
    """Read what `tradingbot bench simulator --json` wrote; null is NaN again."""
    found = []
    for fields in json.loads(path.read_text(encoding="utf-8")):
        value = math.nan if fields["value"] is None else fields["value"]
        found.append(BenchRecord(**{**fields, "value": value}))
    return found


def main() -> None:
    """Read the records, write the section, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("--gpu", type=Path, help="what gpu_simulator.py wrote")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--figure", type=Path, default=PICTURE)
    given = parser.parse_args()
    records = read_records(given.records)
    gpu = json.loads(given.gpu.read_text(encoding="utf-8")) if given.gpu else None
    today = datetime.now(UTC).date()
    section = simulator_section(records, describe_machine(), measured_on=today, gpu=gpu)
    page = given.page.read_text(encoding="utf-8")
    given.page.write_text(replace_section(page, section), encoding="utf-8")
    draw_simulator_speed(speed_curves(records, gpu)).savefig(given.figure, dpi=110)
    print(f"Wrote {given.page} and {given.figure}")


if __name__ == "__main__":
    main()
