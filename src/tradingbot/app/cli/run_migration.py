"""`tradingbot runs migrate`: a continuous run of a discrete one."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer
from typer import Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import RunArgument, look_up_run, require_run_name
from tradingbot.app.console import print_table, print_text, show_json
from tradingbot.domain.errors import require_known
from tradingbot.evaluation.performance.table import write_interval
from tradingbot.learning.catalogue import known_learners

_DIGITS = 3


def migrate_run(
    context: typer.Context,
    reference: RunArgument,
    to: Annotated[Literal["continuous"], Option("--to", help="Kind of actions the new run has.")],
    name: Annotated[
        str | None, Option(help="Id of the new run; by default RUN-continuous.")
    ] = None,
    learner: Annotated[
        str | None, Option(help="Learner that goes on with it; by default the run's own.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a continuous run of a discrete one: what it learned is kept, and proved to be.

    The old run is only read. Go on with the new one by: tradingbot train --resume

    Example: [bold]tradingbot runs migrate us143-first --to continuous[/bold]
    """
    invocation = invocation_of(context)
    found = look_up_run(invocation, reference)
    require_run_name(invocation, f"{found.id}-continuous" if name is None else name)
    if learner is not None:
        require_known(learner, known_learners(), "learner must be a known one")
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.training import run_migration

    made = run_migration.migrate_run(
        reference, invocation.workspace, at=datetime.now(UTC), name=name, learner=learner
    )
    document = {"run": made.run.id, "source": made.source, "checkpoint": made.checkpoint, "to": to}
    figures = {"proof": made.proof, "factor": made.factor, "cost": made.cost}
    if show_json(as_json, document | figures):
        return
    print_text(f"{made.run.id} was made of {made.source}, checkpoint {made.checkpoint}")
    for title, record in (
        ("Proof", made.proof),
        ("Factor of the mean", made.factor),
        ("What it costs", made.cost),
    ):
        fields = (field.name for field in dataclasses.fields(record))
        rows = [(field, _written(getattr(record, field))) for field in fields]
        print_table(title, ["figure", "value"], rows)
    invocation.print_hint(f"go on with: tradingbot train --resume {made.run.id}")


def _written(value: Any) -> Any:
    """Write a figure: an interval with its ends, figures by number in one line."""
    if isinstance(value, tuple):
        return write_interval(value, _DIGITS)
    if isinstance(value, dict):
        return ", ".join(f"{number:g}: {each:.{_DIGITS}f}" for number, each in value.items())
    return f"{value:.{_DIGITS}f}" if isinstance(value, float) else value
