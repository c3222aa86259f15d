"""What the tools of the recovery bring: the table of docs/results/recovery.md.

python benchmarks/recovery.py [--jobs 14] [--out recovery.jsonl] [--seeds 1 2 3] [--seconds 480]
    [--markets planted hidden_trend regimes] [--variants first_version sac …] [--share 0.1]
    [--workspace FOLDER --dataset NAME] [--table]

A cell is a variant of the preset `first_version` on one market with one seed, trained and judged as
`tradingbot train` does it, on one core: some twenty seconds. One JSON line per cell is written as
it is done; cells that are in the file already are not made again. The first seed of everything
comes first. `--table` prints what the file has as tables, and runs nothing. `observed` is the
market of a certified dataset of a workspace; the others are synthetic. Needs torch, NumPy, Polars,
Pydantic, Gymnasium, exchange_calendars and this repository's sources.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tradingbot_benchmarks.recovery.cell import (
    MARKETS,
    OBSERVED,
    Cell,
    CellResult,
    missing_cells,
    read_results,
    run_cell,
)
from tradingbot_benchmarks.recovery.table import as_markdown
from tradingbot_benchmarks.recovery.variants import VARIANTS


def main() -> None:
    """Run the cells that are missing and write each down."""
    options = read_options()
    if options.table:
        print(as_markdown(read_results(options.out)))
        return
    cells = missing_cells(
        options.markets, options.variants, options.seeds, read_results(options.out)
    )
    began = time.perf_counter()
    run = partial(work, options.workspace, options.dataset, options.share)
    with options.out.open("a", encoding="utf-8") as file:
        for done, result in enumerate(results_of(run, cells, options.jobs, options.seconds), 1):
            file.write(json.dumps(asdict(result)) + "\n")
            file.flush()
            elapsed = time.perf_counter() - began
            left = elapsed / done * (len(cells) - done)
            print(
                f"{done}/{len(cells)}, {elapsed:.0f} s, {left:.0f} s left: {words(result)}",
                flush=True,
            )


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    synthetic = [name for name in MARKETS if name != OBSERVED]
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("recovery.jsonl"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--markets", nargs="+", default=synthetic, choices=list(MARKETS))
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no cell after this")
    parser.add_argument("--share", type=float, default=1.0, help="of the budget, for a trial")
    parser.add_argument("--workspace", type=Path, help="of the dataset of the market observed")
    parser.add_argument("--dataset", help="its name")
    parser.add_argument("--table", action="store_true", help="print the tables of the file")
    given = parser.parse_args()
    if OBSERVED in given.markets and (given.workspace is None or given.dataset is None):
        parser.error("the market observed needs --workspace and --dataset")
    return given


def results_of(
    run: partial[CellResult], cells: Sequence[Cell], jobs: int, seconds: float
) -> Iterator[CellResult]:
    """Yield results as they are done; none is begun after so many seconds."""
    began = time.perf_counter()

    def in_time() -> Iterator[Cell]:
        for cell in cells:
            if time.perf_counter() - began > seconds:
                return
            yield cell

    if jobs == 1:
        yield from map(run, in_time())
        return
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=16) as pool:
        waiting = in_time()
        under_way = [pool.apply_async(run, (cell,)) for cell in islice(waiting, jobs)]
        while under_way:
            ready = [each for each in under_way if each.ready()]
            for each in ready:
                under_way.remove(each)
                under_way += [pool.apply_async(run, (cell,)) for cell in islice(waiting, 1)]
                yield each.get()
            if not ready:
                under_way[0].wait(0.05)


def work(workspace: Path | None, dataset: str | None, share: float, cell: Cell) -> CellResult:
    """Run one cell on one thread."""
    import torch

    torch.set_num_threads(1)
    return run_cell(cell, workspace, dataset, share)


def words(result: CellResult) -> str:
    """Say what came out in one line."""
    unit = "of the oracle" if result.oracle_bps else "bp of alpha"
    return (
        f"{result.market}/{result.variant} seed {result.seed}: {result.value:.2f} {unit}, "
        f"entropy {result.entropy:.2f}, {result.trades_per_1000:.0f} trades per 1,000, "
        f"{result.seconds:.0f} s {result.halted[:60]}"
    )


if __name__ == "__main__":
    main()
