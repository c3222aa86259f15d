"""A stored dossier judged again by gates, and how the memo is shown in a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tradingbot.app.console import print_table, print_text
from tradingbot.app.gates_file import foreign_source, load_gates, read_benches
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.evaluation.dossier.codec import from_plain
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.gates.result import GateResult, Memo

EVALUATION_FOLDER, DOSSIER_FILE = "evaluation", "dossier.json"


def read_dossier(run: Path) -> Dossier:
    """Read the dossier that `tradingbot evaluate` left in a run's folder.

    Raises:
        ConfigError: If the run was not evaluated.
        StorageError: If the file is damaged.
    """
    path = run / EVALUATION_FOLDER / DOSSIER_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as e:
        raise ConfigError(
            "a run must be evaluated before its gates are judged",
            was="no dossier",
            where=str(run),
            remedy=f"Run: tradingbot evaluate {run.name}",
        ) from e
    except (OSError, ValueError) as e:
        raise StorageError(
            "a dossier must be readable JSON",
            was=type(e).__name__,
            where=str(path),
            remedy=f"Make it again: tradingbot evaluate {run.name}",
        ) from e
    return from_plain(Dossier, content, name=DOSSIER_FILE)


def judge_run(run: Path, gates: str | Path, benches: Sequence[Path] = ()) -> Memo:
    """Judge the stored dossier of a run.

    Raises:
        UserError: If there is no dossier, or the gates or benchmarks cannot be read.
    """
    return write_memo(
        read_dossier(run), load_gates(gates), read_benches(benches), source=foreign_source(gates)
    )


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
    """Write one line per gate."""
    rows = [
        (
            each.gate + (" *" if each.is_required else ""),
            each.words,
            each.target,
            _measured(each),
            each.evidence,
            each.outcome if not each.reason else f"{each.outcome}: {each.reason}",
        )
        for each in gates
    ]
    columns = ["gate", "what", "target", "measured", "evidence", "outcome"]
    print_table("Gates", columns, rows, caption="* required for GO; test part, net of costs")


def _measured(each: GateResult) -> str:
    if each.measured is None:
        return "–"
    interval = each.interval
    ends = "" if interval is None else f" [{interval.low:.3g}, {interval.high:.3g}]"
    return f"{each.measured:.4g}{ends} {each.unit}"
