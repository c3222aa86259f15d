"""The table of a recovery: what each variant came to on each market, beside the first version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from tradingbot.domain.student_t import student_point
from tradingbot.evaluation.statistics.interval import Interval, Z
from tradingbot_benchmarks.recovery.cell import MARKETS, WITH_ORACLE, CellResult
from tradingbot_benchmarks.recovery.variants import VARIANTS

FIRST = "first_version"
FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Row:
    """One variant on one market."""

    market: str
    variant: str
    seeds: int
    value: Interval
    """Mean over seeds of the share of the oracle, or of alpha in bp per bar."""
    gain: Interval | None
    """That less the first version's with the same seeds; None for itself, or if it lacks one."""
    entropy: float
    trades_per_1000: float
    seconds: float
    """Median over seeds."""
    halted: int

    @property
    def helps(self) -> str:
        """`yes`, `harms` or `not told apart`, by the interval of the gain; `?` of few seeds."""
        if self.gain is None:
            return ""
        if self.seeds < FEWEST_SEEDS:
            return "?"
        if self.gain.low > 0.0:
            return "yes"
        return "harms" if self.gain.high < 0.0 else "not told apart"


def rows_of(results: Sequence[CellResult], market: str) -> list[Row]:
    """Return the rows of one market, in the order of the variants."""
    cells = {(each.variant, each.seed): each for each in results if each.market == market}
    first = {seed: each.value for (name, seed), each in cells.items() if name == FIRST}
    rows = []
    for variant in VARIANTS:
        own = {seed: each for (name, seed), each in cells.items() if name == variant}
        if not own:
            continue
        shared = [own[seed].value - first[seed] for seed in own if seed in first]
        some = list(own.values())
        rows.append(
            Row(
                market,
                variant,
                len(some),
                over_seeds([each.value for each in some]),
                None if variant == FIRST or len(shared) < len(some) else over_seeds(shared),
                mean(each.entropy for each in some),
                mean(each.trades_per_1000 for each in some),
                median(each.seconds for each in some),
                sum(bool(each.halted) for each in some),
            )
        )
    return rows


def over_seeds(values: Sequence[float]) -> Interval:
    """Return the mean over seeds with Student's 95 % interval; one seed has none.

    Each seed has a market of its own. Resampling two or three of them would say far too little: an
    interval of the resampled is never wider than what was seen.
    """
    estimate, count = mean(values), len(values)
    if count == 1:
        return Interval(estimate, estimate, estimate)
    reach = student_point(Z, count - 1.0) * stdev(values) / math.sqrt(count)
    return Interval(estimate, estimate - reach, estimate + reach)


def as_markdown(results: Sequence[CellResult]) -> str:
    """Return a table for each market that has results."""
    parts = []
    for market in MARKETS:
        rows = rows_of(results, market)
        if rows:
            what = "share of the oracle" if market in WITH_ORACLE else "alpha, bp per bar"
            parts.append("\n".join([f"### `{market}`", "", *_lines(rows, what)]))
    return "\n\n".join(parts)


def _lines(rows: Sequence[Row], what: str) -> list[str]:
    head = (what, "less the first version", "helps", "entropy", "trades per 1,000", "s", "seeds")
    lines = ["| variant | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for row in rows:
        gain = "" if row.gain is None else _tell(row.gain)
        figures = (_tell(row.value), gain, row.helps, f"{row.entropy:.2f}")
        more = (f"{row.trades_per_1000:.0f}", f"{row.seconds:.0f}", f"{row.seeds}")
        lines.append("| `" + row.variant + "` | " + " | ".join((*figures, *more)) + " |")
    return lines


def _tell(interval: Interval) -> str:
    ends = (interval.estimate, interval.low, interval.high)
    estimate, low, high = (f"{end:.2f}".replace("-", "−") for end in ends)
    return f"{estimate} [{low}, {high}]"
