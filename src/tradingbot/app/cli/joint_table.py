"""The table of agents that learned with a master, each beside its frozen self."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradingbot.app.console import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tradingbot.evaluation.statistics.interval import Interval
    from tradingbot.training.result_file import JointAgent, TrainResult


def print_beneath(result: TrainResult) -> None:
    """Write what figures of a run are of, and agents beside their frozen selves, if there are."""
    print_text(result.figures_note)
    if result.joint:
        _print_joint(result.joint)


def _print_joint(agents: Sequence[JointAgent]) -> None:
    rows = [
        (
            *(row.agent, row.frozen_bps, row.joint_bps, _interval(row.difference_bps)),
            *("kept" if row.kept else "rolled back", _interval(row.later_bps)),
        )
        for row in agents
    ]
    columns = ["agent", "frozen", "joint", "difference", "decision", "second half"]
    caption = (
        "Mean alpha net of costs, bp per bar, paired, with 95 % intervals. The first half of "
        "validation decides; the second half shows what the portfolio trades with, less frozen."
    )
    print_table("Agents of the sleeves, learned with the master", columns, rows, caption=caption)


def _interval(found: Interval) -> str:
    return f"{found.estimate:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
