"""`train --on-node`: the learner is a worker of a cluster; this process waits, tells and shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from tradingbot.app.cli.executor_options import RAY
from tradingbot.app.cli.invocation import Invocation
from tradingbot.app.cli.options import runs_root
from tradingbot.app.cli.train_tables import show_training
from tradingbot.app.console import print_note, progress_bar
from tradingbot.domain.errors import ConfigError, InterruptionError

if TYPE_CHECKING:
    from tradingbot.app.signals import StopRequest
    from tradingbot.executors.executor import Progress
    from tradingbot.executors.workers import StartWorkers
    from tradingbot.runs import RunDirectory
    from tradingbot.training.config import TrainConfig
    from tradingbot.training.training_item import TrainingOrder

OnNodeOption = Annotated[
    bool,
    Option("--on-node", help=f"The learner too runs on a node, with --executor {RAY}."),
]


def require_node(
    invocation: Invocation, workers: StartWorkers | None, run: RunDirectory | None
) -> StartWorkers:
    """Return what starts workers on nodes, all of which see the run.

    Raises:
        ConfigError: If there is no cluster, or the run is where nodes do not look.
    """
    if workers is None:
        rule = f"--on-node must stand with --executor {RAY}"
        raise ConfigError(rule, was="--on-node alone", remedy=f"Add --executor {RAY}")
    if invocation.mirror is not None:
        raise ConfigError(
            "--on-node must have a workspace that every node writes to",
            was="an object store, of which each machine has a mirror of its own",
            remedy="Use a folder that all machines see, or leave --on-node out",
        )
    if run is not None and run.path.absolute().parent != runs_root(invocation).absolute():
        rule = "--on-node must resume a run of the workspace"
        raise ConfigError(rule, was=str(run.path), remedy="Give its --workspace")
    return workers


def order_training(
    config: TrainConfig, workspace: Path, name: str | None, run: RunDirectory | None, *, force: bool
) -> TrainingOrder:
    """Return the training of a new run, under a name that every worker of it is told.

    Args:
        config: Of it.
        workspace: Where it will be.
        name: That was asked for; None: one is made.
        run: That is gone on with instead.
        force: Accept what differs from it.
    """
    from datetime import UTC, datetime

    from tradingbot.runs.names import automatic_name, free_name
    from tradingbot.training.plugins import with_plugins
    from tradingbot.training.session import RUNS_FOLDER
    from tradingbot.training.training_item import TrainingOrder

    if run is not None:
        return TrainingOrder(run.id, config, begins=False, force=force)
    config, now = with_plugins(config), datetime.now(UTC)
    if name is None:
        made = automatic_name(config.learner.name, config.as_mapping(), now)
        name = free_name(workspace / RUNS_FOLDER, made)
    return TrainingOrder(name, config, begins=True)


def train_on_node(
    invocation: Invocation, order: TrainingOrder, workers: StartWorkers, *, as_json: bool
) -> None:
    """Have it trained, and show its result.

    Raises:
        UserError: If anything about it is not as it must be.
        Exit: With 130 or 143 where it was interrupted.
    """
    from tradingbot.app.signals import stop_on_signals
    from tradingbot.training.result_file import read_result
    from tradingbot.training.training_item import train_by_worker

    with stop_on_signals() as stop, progress_bar(order.name) as bar:
        try:
            run = train_by_worker(order, invocation.workspace, workers, _told(stop, bar))
        except InterruptionError:
            _hint(invocation, order.name)
            raise typer.Exit(stop.exit_code) from None
    show_training(run, read_result(run.path), as_json=as_json)


def _told(stop: StopRequest, bar: Progress) -> Progress:
    """Return what hears a worker every second: steps move the bar, news are told once."""
    seen: list[str] = []

    def tell(done: int, total: int, label: str) -> None:
        if stop():
            raise InterruptionError("training")
        if total:
            bar(done, total, label)
        elif [label] != seen[-1:]:
            seen.append(label)
            print_note(f"• {label}")

    return tell


def _hint(invocation: Invocation, name: str) -> None:
    if (runs_root(invocation) / name).exists():
        words = f"Interrupted; go on with: tradingbot train --resume {name}"
    else:
        words = "Interrupted before the run began: nothing was stored"
    invocation.print_hint(words)
