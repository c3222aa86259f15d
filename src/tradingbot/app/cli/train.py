"""`tradingbot train`: train a population of agents, or go on with a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from tradingbot.app.cli.executor_options import (
    PROCESSES,
    AddressOption,
    ExecutorOption,
    TokenOption,
    choose_workers,
)
from tradingbot.app.cli.invocation import invocation_of
from tradingbot.app.cli.options import (
    MarketOption,
    look_up_run,
    read_options,
    require_one_market,
    spell_options,
    split_commas,
)
from tradingbot.app.cli.train_on_node import (
    OnNodeOption,
    order_training,
    require_node,
    train_on_node,
)
from tradingbot.app.cli.train_tables import show_training
from tradingbot.app.console import print_note, progress_bar
from tradingbot.domain.errors import ConfigError, InterruptionError, join_choices
from tradingbot.executors.workers import workers_by
from tradingbot.learning.catalogue import known_learners

if TYPE_CHECKING:
    from tradingbot.app.signals import StopRequest
    from tradingbot.domain.events.event import EventCallback
    from tradingbot.runs import RunDirectory
    from tradingbot.training.config import TrainConfig
    from tradingbot.training.session import SessionCallbacks

app = typer.Typer()

Options = dict[str, object]
"""Dotted key of the configuration → value."""
_OPTION_OF = {
    "dataset": "--dataset",
    "market.name": "--market",
    "symbols": "--symbols",
    "learner.name": "--learner",
    "device": "--device",
    "seed": "--seed",
}


@app.command("train")
def train_agents(  # noqa: PLR0913 - one option for each thing that identifies a run
    context: typer.Context,
    preset: Annotated[
        str | None,
        Option(
            help="Preset or YAML file: quick, prototype10 (if left out), us143 …",
            show_default=False,
        ),
    ] = None,
    dataset: Annotated[str | None, Option(help="A dataset whose panel is proved causal.")] = None,
    market: MarketOption = None,
    symbols: Annotated[
        str | None, Option(help="Symbols that get an agent, e.g. SPY,AAPL; else all.")
    ] = None,
    learner: Annotated[str | None, Option(help=f"{join_choices(known_learners())}.")] = None,
    device: Annotated[str | None, Option(help="auto, cpu or cuda.")] = None,
    seed: Annotated[
        int | None, Option(min=0, help="Root of all randomness; drawn if left out.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="KEY=VALUE of the configuration, e.g. budget.n_envs=4."),
    ] = None,
    name: Annotated[str | None, Option(help="Id of the new run.")] = None,
    resume: Annotated[
        str | None, Option(help="Go on with this run instead; options must not change it.")
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Resume although something differs; it is recorded.")
    ] = False,
    executor: ExecutorOption = PROCESSES,
    address: AddressOption = None,
    token_file: TokenOption = None,
    on_node: OnNodeOption = False,
    as_json: Annotated[
        bool,
        Option(
            "--json", help="Print every event as one line of JSON, the result last, and no tables."
        ),
    ] = False,
) -> None:
    """Train one agent per symbol; pre-train, train, checkpoint, judge on validation and test.

    Ctrl-C or SIGTERM saves and exits (130 or 143); [bold]--resume[/bold] is bit-identical.
    Results are in the run directory below the workspace. With --json every event is one line.
    With [bold]--on-node[/bold] only the result is, and Ctrl-C keeps the newest checkpoint.
    Without it a cluster takes IMPALA's actors and parts of pre-training, and nothing else.

    Example: [bold]tradingbot train --preset prototype10[/bold]

    Example: [bold]tradingbot train --preset us143 --dataset us143 --device cuda --seed 7[/bold]

    Example: [bold]tradingbot train --learner impala --executor ray[/bold]

    Example: [bold]tradingbot train --learner impala --executor ray --on-node[/bold]

    Example: [bold]tradingbot train --resume 20260105-101500-ppo-1a2b3c[/bold]
    """
    require_one_market(dataset, market, "Leave one of them out")
    names = None if symbols is None else split_commas(symbols, "--symbols", "symbols", "SPY,AAPL")
    named = {
        "dataset": dataset,
        "market.name": market,
        "symbols": names,
        "learner.name": learner,
        "device": device,
        "seed": seed,
    }
    given: Options = {key: value for key, value in named.items() if value is not None}
    given |= {} if market is None else {"dataset": None}
    options = read_options(settings, "--set") | given
    own = {key: _OPTION_OF[key] for key in given} | ({"dataset": "--market"} if market else {})
    spelled = spell_options(options, own)
    invocation = invocation_of(context)
    workspace = invocation.workspace
    workers = choose_workers(invocation, executor, address, token_file)
    _require_possible(resume, preset, name, force=force)
    run = None if resume is None else look_up_run(invocation, resume)
    node = require_node(invocation, workers, run) if on_node else None
    if run is None:
        config = _read(preset, options, spelled, workspace, name)
    else:
        change = _changed_by(options, spelled)
        config = _refuse_to_resume(run, change)
    if node is not None:
        order = order_training(config, workspace, name, run, force=force)
        train_on_node(invocation, order, node, as_json=as_json)
        return
    if workers is not None:
        from tradingbot.training.divided_work import require_divided

        require_divided(config, begins=run is None)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.app.signals import stop_on_signals
    from tradingbot.training.session import begin_run, resume_session

    with stop_on_signals() as stop, ExitStack() as stack, workers_by(workers, _note):
        callbacks = _listeners(stack, stop, as_json=as_json)
        try:
            if resume is not None:
                session = resume_session(resume, workspace, callbacks, change=change, force=force)
            else:
                session = begin_run(config, workspace, callbacks, name=name)
        except InterruptionError:
            invocation.print_hint("Interrupted before the run began: nothing was stored")
            raise typer.Exit(stop.exit_code) from None
    show_training(session.run, session.result, as_json=as_json)
    if session.result is None:
        invocation.print_hint(
            f"Interrupted; go on with: tradingbot train --resume {session.run.id}"
        )
        raise typer.Exit(stop.exit_code)


def _require_possible(
    resume: str | None, preset: str | None, name: str | None, *, force: bool
) -> None:
    if resume is not None and (preset is not None or name is not None):
        rule = "--resume must stand without --preset and --name: a run has its own"
        raise ConfigError(rule, was="both", remedy="Leave --preset and --name out")
    if force and resume is None:
        rule = "--force must stand with --resume: a new run differs from nothing"
        remedy = "Leave --force out, or name a run with --resume"
        raise ConfigError(rule, was="--force alone", remedy=remedy)


def _read(
    preset: str | None,
    options: Options,
    spelled: Mapping[str, str],
    workspace: Path,
    name: str | None,
) -> TrainConfig:
    from tradingbot.training.config_files import DEFAULT_PRESET
    from tradingbot.training.sleeve_settings import load_over_sleeves

    chosen = DEFAULT_PRESET if preset is None else preset
    config = load_over_sleeves(chosen, options, spelled, workspace=workspace)
    from tradingbot.training.early_refusals import refuse_early

    said = "" if "symbols" in options else chosen
    refuse_early(config, workspace, name, symbols_of=said and f"--preset {said}")
    return config


def _refuse_to_resume(
    run: RunDirectory, change: Callable[[TrainConfig], TrainConfig]
) -> TrainConfig:
    """Refuse a run that another process trains, and options that no run can have."""
    from tradingbot.training.config_files import config_of_mapping

    with run.hold():
        return change(config_of_mapping(run.record.config, run.record.tracking))


def _changed_by(
    options: Options, spelled: Mapping[str, str]
) -> Callable[[TrainConfig], TrainConfig]:
    from tradingbot.training.budget import check_budget
    from tradingbot.training.config_files import override_config
    from tradingbot.training.tracking import require_trackers

    def change(config: TrainConfig) -> TrainConfig:
        if not options:
            return config
        other = override_config(config, options, spelled)
        check_budget(other)
        require_trackers(other)
        return other

    return change


def _note(text: str) -> None:
    print_note(f"• {text}")


def _listeners(stack: ExitStack, stop: StopRequest, *, as_json: bool) -> SessionCallbacks:
    from tradingbot.training.session import SessionCallbacks
    from tradingbot.training.tracking import log_artifacts

    bar = ExitStack()
    stack.enter_context(bar)
    report: dict[str, Callable[[int, int, str], None]] = {}

    def preparing(stage: str, done: int, total: int) -> None:
        if stage not in report:
            bar.close()
            report[stage] = bar.enter_context(progress_bar(stage))
        report[stage](done, total, "updates")

    def event_callbacks(run: RunDirectory, config: TrainConfig) -> Sequence[EventCallback]:
        bar.close()
        return _sinks(run, config, as_json=as_json)

    return SessionCallbacks(
        event_callbacks=event_callbacks,
        note=_note,
        preparing=preparing,
        interrupted=stop,
        at_once=stop.at_once,
        finished=lambda run, config: log_artifacts(run, config, note=print_note),
    )


def _sinks(run: RunDirectory, config: TrainConfig, *, as_json: bool) -> Sequence[EventCallback]:
    from tradingbot.app.event_lines import EventLines, LogLines
    from tradingbot.app.live_dashboard import open_dashboard
    from tradingbot.training.tracking import tracking_callbacks

    trackers = tracking_callbacks(run, config, note=print_note)
    if as_json:
        return (EventLines(), *trackers)
    if sys.stderr.isatty():
        return (open_dashboard(f"{run.id} · {config.learner.name}"), *trackers)
    return (LogLines(), *trackers)
