"""The simulator's records as a section of `benchmarks/RESULTS.md`, and as curves to draw.

Everything is read from the records (and those of a GPU run), so a stored JSON file is enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date

from tradingbot_benchmarks.figures.simulator_speed import Curve, SpeedCurves
from tradingbot_benchmarks.record import BenchRecord

HEADING = "## Simulator: environments, peers, growth"
PICTURE = "../docs/images/simulator_speed.png"
_PEER_NAMES = {
    "peer_gym_anytrading": "gym-anytrading",
    "peer_gym_trading_env": "gym-trading-env",
    "peer_finrl": "FinRL",
}
_REMARKS = """\
* Rules and reward are the defaults (long-only, loss limits, every risk rule, all of `v31`), costs
  with spread and impact, actions continuous, random and drawn within the timed loop; accounts are
  float32. "Every rule on" adds stop-loss, take-profit, holding limit, reserve and shorts with
  margin. Native lanes are compared with eager tensors, and so is the lone environment, before
  anything is timed.
* `batch_…` makes what our learners take: the private observation, and the row of the market
  window, which stays in one tensor. `…_window24` also writes the flat observation (24 × 23 window
  and the rest). Peers return views of arrays, or rows, that they made before.
* Peers run unmodified in a process of their own in the same run, their actions drawn 4,096 at a
  time, resets included. Per symbol-step: FinRL steps 143 symbols at once. FinRL searches its whole
  frame at every step, so its speed depends on how many bars it is given: 3,528, as ours, and 300.
* *memory bound*: bytes that a step must read and write (sizes of the real tensors, each once) ÷
  bandwidth of copying tensors as large as the step's. The part of a step that is neither the call
  nor this is arithmetic.
* `growth_symbols_…`: episodes drawn from so many symbols. `growth_rules_…`: with every rule on,
  and with the loss limits off and one reward term; the state is the same.
* `growth_symbols_143` is the program of `batch_4096` measured again later: how far they lie apart
  is how steady the machine was.
* `memory_growth_1e6_steps`: resident memory of the process before and after; the number of steps
  is in its note."""


def simulator_section(
    records: Sequence[BenchRecord],
    machine: Mapping[str, str],
    *,
    measured_on: date,
    gpu: Mapping[str, object] | None = None,
) -> str:
    """Write the section: table of all records, remarks, and what a GPU reached."""
    where = ", ".join((machine["processor"], f"{machine['cores']} cores", machine["memory"]))
    versions = f"{machine['system']} · Python {machine['python']}, {machine['packages']}"
    lines = [
        HEADING,
        "",
        f"{measured_on.isoformat()} · {where}, {versions}",
        "",
        "Command: `tradingbot bench simulator --json > simulator.json`, then "
        "`python benchmarks/write_results.py simulator.json`. Medians of repeats in one process.",
        "",
        "| record | measured | reference | what the reference is | better by | note |",
        "|---|---|---|---|---|---|",
        *(_row(record) for record in records),
        "",
        _REMARKS,
        *([f"* What limits: {say_limits(records)}"] if limits_of(records) else []),
        *(_gpu_lines(gpu) if gpu else []),
        "",
        f"![Steps per second against environments]({PICTURE})",
    ]
    return "\n".join(lines) + "\n"


def replace_section(page: str, section: str) -> str:
    """Put the section in place of the one with its heading, or at the end."""
    start = page.find(HEADING)
    if start < 0:
        return page.rstrip("\n") + "\n\n" + section
    following = re.search(r"^## ", page[start + len(HEADING) :], flags=re.MULTILINE)
    if following is None:
        return page[:start] + section
    return page[:start] + section + "\n" + page[start + len(HEADING) + following.start() :]


def _row(record: BenchRecord) -> str:
    measured, reference = _number(record.value, record.unit), ""
    if record.reference is not None:
        reference = _number(record.reference, record.unit)
    ratio = "" if record.ratio is None else f"{record.ratio:.3g}"
    cells = (f"`{record.name}`", measured, reference, record.reference_name, ratio, record.note)
    return f"| {' | '.join(cells)} |"


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "–"
    if unit in ("steps/s", "bytes/s") and value >= 1e5:
        size, letter = (1e9, "G") if value >= 1e9 else (1e6, "M")
        return f"{value / size:,.3g} {letter}{'B/s' if unit == 'bytes/s' else '/s'}"
    if unit == "s":
        return f"{value * 1e6:,.0f} µs"
    return f"{value:,.4g} {unit}" if abs(value) < 1e4 else f"{value:,.0f} {unit}"


def _gpu_lines(gpu: Mapping[str, object]) -> list[str]:
    command = "`python benchmarks/gpu_simulator.py`; every rule on."
    head = f"GPU: {gpu['device']}, {gpu['versions']}; command: {command}"
    lines = ["", head, "", "| record | steps/s | memory bound | share of it |", "|---|---|---|---|"]
    for point in _gpu_points(gpu):
        speed, bound = float(point["steps_per_s"]), float(point["bound_steps_per_s"])
        share = f"{speed / bound:.0%}"
        cells = (f"`{point['name']}`", _number(speed, "steps/s"), _number(bound, "steps/s"), share)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _gpu_points(gpu: Mapping[str, object]) -> list[dict[str, str]]:
    points = gpu["points"]
    assert isinstance(points, list)
    return points


def limits_of(records: Sequence[BenchRecord]) -> dict[int, dict[str, float]]:
    """Split the time of a step into calling, moving bytes and the rest, as shares of the whole.

    Calling is what a step of no environments would take, moving bytes the memory bound; the rest is
    arithmetic, by elimination. Empty where the records hold fewer than two sizes.

    Returns:
        Environments → shares, which sum to 1.
    """
    by_name = {record.name: record for record in records}
    if "call_overhead" not in by_name:
        return {}
    found = {}
    for lanes, speed in _curve(by_name, "growth_environments_"):
        calling = min(1.0, by_name["call_overhead"].value * speed / lanes)
        share_of_bound = by_name[f"growth_environments_{lanes:.0f}"].ratio or 0.0
        moving = min(1.0 - calling, share_of_bound)
        rest = 1.0 - calling - moving
        found[int(lanes)] = {"calling": calling, "moving bytes": moving, "arithmetic": rest}
    return found


def say_limits(records: Sequence[BenchRecord]) -> str:
    """Say, a sentence per number of environments, what takes most of a step."""
    sentences = []
    for lanes, shares in limits_of(records).items():
        largest = max(shares, key=lambda name: shares[name])
        parts = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        sentences.append(f"At {lanes:,} environments {largest} takes most of a step ({parts}).")
    return " ".join(sentences)


def speed_curves(
    records: Sequence[BenchRecord], gpu: Mapping[str, object] | None = None
) -> SpeedCurves:
    """Read the curves out of records."""
    by_name = {record.name: record for record in records if math.isfinite(record.value)}
    compiled = _curve(by_name, "growth_environments_")
    curves = {"compiled": compiled, "eager": _curve(by_name, "eager_growth_environments_")}
    if gpu is not None:
        graphs = [p for p in _gpu_points(gpu) if p["program"] == "graph"]
        curves["GPU"] = sorted((float(p["lanes"]), float(p["steps_per_s"])) for p in graphs)
    bound = [
        (lanes, by_name[f"growth_environments_{lanes:.0f}"].reference or math.nan)
        for lanes, _ in compiled
    ]
    peers = {_PEER_NAMES[name]: r.value for name, r in by_name.items() if name in _PEER_NAMES}
    return SpeedCurves(
        {name: curve for name, curve in curves.items() if curve},
        bound,
        peers,
        _curve(by_name, "growth_window_"),
        _curve(by_name, "growth_symbols_"),
    )


def _curve(by_name: Mapping[str, BenchRecord], prefix: str) -> Curve:
    return sorted(
        (float(name.removeprefix(prefix)), record.value)
        for name, record in by_name.items()
        if name.startswith(prefix)
    )
