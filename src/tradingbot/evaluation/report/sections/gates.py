"""Which demands are met? Every gate with its target and evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from tradingbot.evaluation.gates.idleness import passes_idly
from tradingbot.evaluation.gates.result import GateResult, Memo
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.numbers import format_interval, percent, plain
from tradingbot.evaluation.report.sections.scope import plain_name
from tradingbot.evaluation.report.table import Cell, Column, Table, Tone, text

_COLUMNS = (
    Column("Gate", is_number=False),
    Column("What is asked", is_number=False),
    Column("Target", is_number=False),
    Column("Measured", "with 95 % interval"),
    Column("Evidence", "section of this page", is_number=False),
    Column("Outcome", is_number=False),
)
_FRACTIONS = frozenset(["fraction", "probability"])
_RATIOS = frozenset(["ratio", "0 … 1", "0 or 1", "per year"])
_MARKS: dict[str, tuple[str, Tone, float]] = {
    "fail": ("✗ fail", "bad", 0.0),
    "not measured": ("– not measured", "soft", 1.0),
    "pass": ("✓ pass", "good", 2.0),
}


def gates_section(memo: Memo, titles: Mapping[str, str], *, is_idle: bool = False) -> Section:
    """Show every gate.

    Args:
        memo: With the gates.
        titles: By id, those of sections that evidence can link to.
        is_idle: No agent trades: what passes for that reason alone is no merit.
    """
    counts = {name: len(memo.outcomes(name)) for name in ("pass", "fail", "not measured")}
    required = [gate for gate in memo.gates if gate.is_required]
    met = sum(gate.outcome == "pass" for gate in required)
    finding = (
        f"{counts['pass']} gates pass, {counts['fail']} fail, {counts['not measured']} were not "
        f"measured. Of the {len(required)} that a GO requires, {met} pass."
    )
    idly = sum(passes_idly(gate) for gate in memo.gates) if is_idle else 0
    if idly:
        finding += (
            f" {idly} of the {counts['pass']} passes are those of cash, because no agent trades, "
            "and say nothing of the agents."
        )
    rows = [_row(gate, titles, is_idle=is_idle) for gate in memo.gates]
    caption = "A gate that was not measured does not pass. Required gates are in bold."
    table = Table(_COLUMNS, rows, caption)
    return Section("gates", "Gates", finding, (table,) if memo.gates else ())


def _row(gate: GateResult, titles: Mapping[str, str], *, is_idle: bool) -> list[Cell]:
    mark, tone, order = _MARKS[gate.outcome]
    anchor = plain_name(gate.evidence)
    outcome = Cell(mark, order, tone=tone, note=gate.reason)
    if is_idle and passes_idly(gate):
        outcome = Cell("pass", order, tone="soft", note="no agent trades")
    return [
        text(gate.gate, tone="strong" if gate.is_required else ""),
        text(gate.words),
        text(_target(gate)),
        Cell(_measured(gate), gate.measured, note=_interval(gate)),
        Cell(titles.get(anchor, gate.evidence), anchor, link=anchor if anchor in titles else ""),
        outcome,
    ]


def _target(gate: GateResult) -> str:
    """Write a target as the measured figure is written."""
    if not _is_fraction(gate):
        return gate.target
    return re.sub(r"-?\d+(\.\d+)?", lambda found: percent(float(found[0]), 0), gate.target, count=1)


def _is_fraction(gate: GateResult) -> bool:
    yearly = gate.unit == "per year" and gate.metric.endswith("_frac")
    return yearly or gate.unit in _FRACTIONS


def _measured(gate: GateResult) -> str:
    if gate.measured is None or math.isnan(gate.measured):
        return plain(None)
    if gate.in_words:
        return gate.in_words
    if _is_fraction(gate):
        return percent(gate.measured)
    digits = 0 if float(gate.measured).is_integer() and gate.unit not in _RATIOS else 2
    unit = "" if gate.unit in _RATIOS else gate.unit
    if gate.measured == 1:
        unit = unit.removesuffix("s")
    return f"{plain(gate.measured, digits)} {unit}".rstrip()


def _interval(gate: GateResult) -> str:
    if gate.interval is None or not _is_fraction(gate):
        return format_interval(gate.interval)
    return format_interval(gate.interval.scaled(100), 1)
