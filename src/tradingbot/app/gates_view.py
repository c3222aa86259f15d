"""How a memo and its gates are shown in a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tradingbot.app.console import print_table, print_text
from tradingbot.evaluation.gates.result import GateResult, Memo


def print_memo(memo: Memo, *, label: str) -> None:
    """Write the memo for people: verdict first."""
    print_text(f"{memo.verdict}: {memo.headline}")
    print_text(f"Data: {label}.")
    for title, lines in (
        ("Why", memo.reasons),
        ("What speaks against it", memo.counter_evidence),
        ("What would change it", memo.would_change),
    ):
        if lines:
            print_text(f"{title}:")
        for line in lines:
            print_text(f"  - {line}")
    print_gates(memo.gates)


def print_gates(gates: Sequence[GateResult]) -> None:
    """Write every gate, and below why some were not measured."""
    rows = [
        (
            f"{each.gate}{' *' if each.is_required else ''}\n{each.words}",
            re.sub(r" at the (low|high) end$", r" (\1)", each.wanted),
            each.found or "–",
            f"{each.outcome}\n{each.evidence}",
        )
        for each in gates
    ]
    print_table(
        "Gates",
        ["gate", "target", "measured [95 %]", "outcome, evidence"],
        rows,
        caption="* required for GO; (low), (high): end of the interval; test part, net of costs",
        unbroken=["target", "outcome, evidence"],
    )
    reasons: dict[str, list[str]] = {}
    for each in gates:
        if each.reason:
            reasons.setdefault(each.reason, []).append(each.gate)
    if reasons:
        print_text("Not measured:")
    for reason, names in reasons.items():
        print_text(f"  - {', '.join(names)}: {reason}")
