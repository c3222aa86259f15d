"""What `tradingbot train` prints at the end: tables of validation and test, or one line of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradingbot.app.cli.performance_table import print_performance
from tradingbot.app.console import print_note, print_text
from tradingbot.evaluation.performance.table import ALPHA_NOTE, write_interval

if TYPE_CHECKING:
    from tradingbot.evaluation.performance.record import PartPerformance
    from tradingbot.runs import RunDirectory
    from tradingbot.training.action_gate import ActionGate
    from tradingbot.training.result_file import TrainResult


def show_training(run: RunDirectory, result: TrainResult | None, *, as_json: bool) -> None:
    """Print the tables of a run; None: it was interrupted, which only JSON says."""
    if as_json:
        from tradingbot.app.event_lines import write_json_line
        from tradingbot.evaluation.dossier.codec import to_plain

        written = None if result is None else to_plain(result)
        write_json_line({"event": "Result", "run": run.id, "result": written})
        return
    if result is None:
        return
    from tradingbot.training.environment_words import describe_environment

    for part, gate in zip(result.parts, result.gates, strict=True):
        _print_part(part, gate, result)
    print_text(result.figures_note)
    if environment := run.record.config.get("environment"):
        words = describe_environment(environment, result.parts)
        print_text(f"{words[0].upper()}{words[1:]}.")
    if result.caveat:
        print_text(result.caveat)
    print_note(f"Run directory: {run.path}")


def _print_part(part: PartPerformance, gate: ActionGate, result: TrainResult) -> None:
    from tradingbot.evaluation.performance.record import HOLD

    word = "synthetic" if result.synthetic else "observed bars, simulated trading"
    excess = write_interval(part.excess_over_hold_bps)
    own = "Portfolio" if result.is_portfolio else "Agents"
    caption = f"{own} less {HOLD}: {excess} bp/bar."
    if part.share_of_oracle is not None:
        caption += f" Share of the oracle's net return: {part.share_of_oracle.estimate:.0%}."
    caption += f" {gate.words[0].upper()}{gate.words[1:]}."
    caption += f" {ALPHA_NOTE.format(factor=part.factor)}" if part.factor else ""
    policies = result.shown_policies(part)
    print_performance(f"{part.part}: {part.period} ({word}, net of costs)", policies, 6, caption)
