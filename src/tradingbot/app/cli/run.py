"""`tradingbot run`: every phase from data to verdict on one dataset, in one resumable command."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.executor_options import (
    PROCESSES,
    AddressOption,
    ExecutorOption,
    TokenOption,
    choose_workers,
    usual_count,
)
from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import read_options, split_commas
from tradingbot.app.console import print_note, print_table, print_text, progress_bar, show_json
from tradingbot.domain.errors import ConfigError, InterruptionError, require_known
from tradingbot.executors.workers import workers_by

if TYPE_CHECKING:
    from tradingbot.campaign.request import CampaignRequest
    from tradingbot.campaign.session import WalkedCampaign
    from tradingbot.campaign.status import CampaignStatus, PhaseRecord
    from tradingbot.data.sources.files import FileImport
    from tradingbot.executors.executor import Progress

app = typer.Typer()
_PHASES = ("data", "environment", "architecture", "prototype", "tuning", "full", "master", "final")


@app.command("run")
def run_campaign(  # noqa: PLR0913 - one option for each thing that identifies a campaign
    context: typer.Context,
    subject: Annotated[
        str | None,
        Argument(metavar="DATASET|PRESET", help="A stored dataset, else a training preset."),
    ] = None,
    preset: Annotated[
        str | None,
        Option(help="Training preset or YAML file; by default the one of the dataset's name."),
    ] = None,
    name: Annotated[
        str | None, Option(help="Of the campaign; that of the dataset or preset if left out.")
    ] = None,
    file: Annotated[
        Path | None,
        Option(help="Import this file or folder as the dataset; what is stored must come from it."),
    ] = None,
    calendar: Annotated[
        str | None, Option(help="Of --file: an exchange, or 24/7; XNYS if left out.")
    ] = None,
    grid: Annotated[
        str | None, Option(help="Of --file: session or clock; session if left out.")
    ] = None,
    symbols: Annotated[
        str | None, Option(help="Symbols that get an agent, e.g. SPY,AAPL; else all.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="KEY=VALUE of the training, e.g. budget.n_envs=4."),
    ] = None,
    evaluation: Annotated[
        str, Option(help="Preset or YAML file of the dossier: full, quick or required.")
    ] = "full",
    evaluation_settings: Annotated[
        list[str] | None, Option("--evaluate", help="KEY=VALUE of the evaluation.")
    ] = None,
    accept: Annotated[
        list[str] | None, Option(help="Code of an error in the bars that is no defect.")
    ] = None,
    tune: Annotated[
        int, Option(min=0, help="Trials of tuning on the prototype's symbols; 0: none.")
    ] = 0,
    master: Annotated[str, Option(help="Training preset of the master, or none.")] = "master",
    gates: Annotated[
        str, Option(help="Gates that come with the package, or a YAML file.")
    ] = "product",
    bench: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="JSON of tradingbot bench; may be given again."),
    ] = None,
    device: Annotated[str | None, Option(help="auto, cpu or cuda.")] = None,
    seed: Annotated[
        int | None, Option(min=0, help="Root of all randomness; else the preset's, or 0.")
    ] = None,
    until: Annotated[str, Option(help=f"Last phase: {', '.join(_PHASES)}.")] = "final",
    go_on: Annotated[bool, Option("--go-on", help="Pass over gates that fail.")] = False,
    status: Annotated[
        bool, Option("--status", help="Say where the campaign is, and change nothing.")
    ] = False,
    jobs: Annotated[
        int | None,
        Option(min=1, help="Processes; as many as cores if left out.", show_default=False),
    ] = None,
    executor: ExecutorOption = PROCESSES,
    address: AddressOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Walk the phases on any dataset or market: data, proof, training, dossier, gates, verdict.

    Imports or generates the bars, checks them, builds and proves features, trains a prototype and
    then every symbol, evaluates, judges each phase by its gates, and stops at one that fails
    unless --go-on. The same command goes on after Ctrl-C or a kill. Exits with 0 where every gate
    that was measured holds, with 1 where one fails.

    Needs the extra: plot.

    Example: [bold]tradingbot run quick --evaluation required --go-on[/bold]

    Example: [bold]tradingbot run us143 --device cuda --go-on[/bold]

    Example: [bold]tradingbot run crypto --file crypto.parquet --calendar 24/7 --grid clock
    --preset us143[/bold]

    Example: [bold]tradingbot run us143 --status[/bold]
    """
    invocation = invocation_of(context)
    from tradingbot.campaign.planning import CampaignOptions, plan_campaign
    from tradingbot.campaign.request import require_campaign_name

    chosen = _name(subject, preset, name)
    require_campaign_name(chosen)
    if status:
        _show_status(invocation, chosen, as_json=as_json)
        return
    require_known(until, _PHASES, "--until must be a phase")
    workers = choose_workers(invocation, executor, address, token_file)
    given = {"seed": seed, "device": device}
    options = read_options(settings, "--set")
    options |= {key: value for key, value in given.items() if value is not None}
    if symbols is not None:
        options["symbols"] = split_commas(symbols, "--symbols", "symbols", "SPY,AAPL")
    bars = _bars(file, calendar, grid)
    asked = CampaignOptions(
        name=chosen,
        subject=subject,
        preset=preset,
        bars=bars,
        options=options,
        evaluation=evaluation,
        evaluation_options=read_options(evaluation_settings, "--evaluate"),
        accept=tuple(accept or ()),
        tune_trials=tune,
        master=master,
        gates=gates,
        benches=tuple(bench or ()),
    )
    request = plan_campaign(asked, invocation.workspace)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    with workers_by(workers, lambda text: print_note(f"• {text}")):
        count = jobs or usual_count(workers)
        walked = _walk(request, invocation, count, go_on=go_on, until=until)
    if not show_json(as_json, _document(walked)):
        _print(walked.status)
        print_text(f"Report: {walked.page}")
    failed = any(phase.failed for phase in walked.status.phases)
    raise typer.Exit(int(failed))


def _name(subject: str | None, preset: str | None, name: str | None) -> str:
    chosen = name or subject or (None if preset is None else Path(preset).stem)
    if chosen is None:
        raise ConfigError(
            "a dataset or a preset must be given",
            was="none",
            remedy="Write e.g.: tradingbot run quick",
        )
    return chosen


def _bars(file: Path | None, calendar: str | None, grid: str | None) -> FileImport | None:
    if file is None:
        for option, value in (("--calendar", calendar), ("--grid", grid)):
            if value is not None:
                remedy = f"Leave it out, or write: --file FILE {option} {value}"
                raise ConfigError(f"{option} must stand with --file", was=value, remedy=remedy)
        return None
    calendar, grid = calendar or "XNYS", grid or "session"
    from tradingbot.data.calendar import time_zone_of
    from tradingbot.data.sources.files import FileImport
    from tradingbot.domain.timeframe import BarGrid

    require_known(grid, [each.value for each in BarGrid], "--grid must be one of them")
    if not file.exists():
        rule = "file to import must exist"
        raise ConfigError(rule, was=str(file), remedy="Name a .parquet or .csv file, or a folder")
    time_zone_of(calendar)  # refused where it is unknown
    return FileImport(path=file.absolute(), calendar=calendar, grid=BarGrid(grid))


def _walk(
    request: CampaignRequest, invocation: Invocation, jobs: int, *, go_on: bool, until: str
) -> WalkedCampaign:
    from tradingbot.app.signals import stop_on_signals
    from tradingbot.campaign.session import CampaignCallbacks, walk_campaign

    with stop_on_signals() as stop, ExitStack() as stack:
        bar = stack.enter_context(ExitStack())

        def progress(phase: str) -> Progress:
            bar.close()
            return bar.enter_context(progress_bar(phase))

        def ended(record: PhaseRecord) -> None:
            print_note(f"{record.name}: {record.state} in {record.took_s:.1f} s. {record.words}")

        callbacks = CampaignCallbacks(
            progress, lambda text: print_note(f"• {text}"), ended, interrupted=stop
        )
        try:
            return walk_campaign(
                *(request, invocation.workspace),
                jobs=jobs,
                go_on=go_on,
                until=until,
                callbacks=callbacks,
            )
        except InterruptionError:
            print_note("Interrupted; what is finished is kept, and the same command goes on")
            raise typer.Exit(stop.exit_code) from None


def _show_status(invocation: Invocation, name: str, *, as_json: bool) -> None:
    from tradingbot.campaign.request import CAMPAIGNS_FOLDER
    from tradingbot.campaign.status import LOCK_FILE, as_it_stands, read_status
    from tradingbot.data.atomic import is_locked

    folder = invocation.workspace / CAMPAIGNS_FOLDER / name
    alive = is_locked(folder / LOCK_FILE)
    found = as_it_stands(read_status(folder), alive=alive)
    if show_json(as_json, {"is_running": alive, "status": found}):
        return
    _print(found)
    if found.state == "refused":
        print_text(f"Refused: {found.refusal}")
    elif found.state == "interrupted":
        print_text("No process walks it: what is finished is kept, and the same command goes on")
    elif found.running is not None:
        left = "" if found.phase_left_s is None else f", about {found.phase_left_s:.0f} s left"
        print_text(f"{found.running.name}: {found.doing} {found.done}/{found.total}{left}")


def _document(walked: WalkedCampaign) -> dict[str, object]:
    return {"folder": walked.folder, "page": walked.page, "status": walked.status}


def _print(status: CampaignStatus) -> None:
    if status.verdict:
        print_text(f"{status.verdict}: {status.headline}")
    rows = [
        (
            phase.name,
            phase.state,
            f"{phase.took_s:.1f}",
            _gates(phase),
            phase.words,
        )
        for phase in status.phases
    ]
    columns = ["phase", "state", "seconds", "gates: hold/fail/not measured", "finding"]
    caption = "Gates of prototype, full and final: test part, net of costs"
    terms = f". {status.terms}" if status.terms else ""
    title = f"Campaign {status.name}: {status.state}. {status.label}{terms}"
    print_table(title, columns, rows, caption=caption)
    for phase in status.phases:
        for gate in phase.failed:
            print_text(f"FAIL {gate.gate}: {gate.words}: {gate.found}, asked {gate.wanted}")


def _gates(phase: PhaseRecord) -> str:
    count = [gate.outcome for gate in phase.gates]
    return "/".join(str(count.count(each)) for each in ("pass", "fail", "not measured"))
