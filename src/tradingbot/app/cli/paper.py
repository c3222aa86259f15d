"""`tradingbot paper start | list | status | stop | resume | kill | …`: sessions on paper."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli import session_acts, session_folders, session_proofs
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import require_order
from tradingbot.app.cli.session_acts import AcceptOption, NameArgument, open_folder
from tradingbot.app.cli.session_options import (
    ask_cash,
    find_bundle,
    judge_standing,
    read_limits,
    require_apt,
    require_journal,
    require_names,
    require_others,
    require_source,
    require_splits,
)
from tradingbot.app.console import print_note, print_table, show_json

app = typer.Typer(help="Trade models on paper: start, watch, stop, resume, kill, arm, prove.")

_EXIT_FINDINGS = 1


@app.command("start")
def start_session(  # noqa: PLR0913 - one option for each thing that a session is held to
    context: typer.Context,
    model: Annotated[
        str,
        Argument(metavar="MODEL", help="Version of a model (v3), or a bundle (.zip)."),
    ],
    name: Annotated[str, Option(help="Name of the session.")],
    dataset: Annotated[
        str | None,
        Option(help="Dataset that is replayed; that of the model's run if left out."),
    ] = None,
    start: Annotated[
        datetime | None,
        Option("--from", formats=["%Y-%m-%d"], help="First day; a week before the last."),
    ] = None,
    end: Annotated[
        datetime | None, Option("--to", formats=["%Y-%m-%d"], help="Last day, included.")
    ] = None,
    limits: Annotated[
        list[str] | None,
        Option(
            "--limit",
            help="LIMIT=VALUE of the session or of one order, e.g. max_trades=20.",
            metavar="TEXT",
        ),
    ] = None,
    unlimited: Annotated[
        bool,
        Option(
            "--unlimited",
            help="Session limits as wide as they go: orders are those of a backtest.",
        ),
    ] = False,
    authorise: Annotated[
        list[str] | None,
        Option("--authorise", metavar="NAME", help="Who may arm breakers again."),
    ] = None,
    shadow: Annotated[
        str | None,
        Option(metavar="MODEL", help="A model that decides beside it; no order follows."),
    ] = None,
    speed: Annotated[
        float, Option(min=0.0, help="Times faster than real time; 0: as fast as it goes.")
    ] = 0.0,
    parts: Annotated[int, Option(min=1, max=1000, help="Executions that a fill comes in.")] = 1,
    latency: Annotated[
        float,
        Option(min=0.0, max=86_400.0, help="Seconds that orders and messages are under way."),
    ] = 0.0,
    broker: Annotated[
        str,
        Option(help="paper: the built-in one; alpaca: Alpaca's paper account.", metavar="NAME"),
    ] = "paper",
    bars: Annotated[
        str | None,
        Option(
            help="replay of stored bars; or live: alpaca, or folder:PATH that files appear in. "
            "replay if left out, alpaca with --broker alpaca.",
            metavar="SOURCE",
        ),
    ] = None,
    adopt: Annotated[
        str | None,
        Option(metavar="NAME", help="Who says that positions found at the venue are not ours."),
    ] = None,
    accept: AcceptOption = None,
    splits: Annotated[
        Path | None,
        Option(metavar="FILE", help="Splits announced to --broker paper: symbol,ex_date,new,old."),
    ] = None,
    journal: Annotated[
        str | None,
        Option(
            help="postgresql://USER@HOST/DATABASE, with the password in PGPASSWORD or a password "
            "file; a file in the session's folder if left out.",
            metavar="ADDRESS",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Trade bars on paper, every decision, order and fill journaled.

    Replayed, the bar is now: decisions at its close fill at the open of the next one, at the
    simulator's prices and costs. Live, the stored bars are history, bars are taken as they close by
    the exchange's calendar, and what was slept through is not traded on. Alpaca's key pair of a
    paper account is read from APCA_API_KEY_ID and APCA_API_SECRET_KEY; only a model that was
    promoted to paper trades there, or one whose verdict --accept names. A session that was killed
    goes on with `paper resume`.

    Example: [bold]tradingbot paper start v1 --name first[/bold]

    Example: [bold]tradingbot paper start v1 --name compared --from 2025-12-01 --unlimited[/bold]

    Example: [bold]tradingbot paper start v1 --name live --broker alpaca --dataset us143[/bold]

    Example: [bold]tradingbot paper start v1 --name fed --bars folder:/srv/bars[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.runtime.session.folder import SessionFolder, require_new_session

    invocation = invocation_of(context)
    workspace = invocation.workspace
    require_new_session(workspace, name)
    require_order(start, end)
    given, authorised = read_limits(limits), require_names(authorise)
    bars = require_source(broker, bars or ("alpaca" if broker == "alpaca" else "replay"))
    require_apt(
        broker,
        bars,
        {"--from": start, "--to": end, "--speed": speed},
        {"--parts": parts - 1, "--latency": latency, "--splits": splits},
        adopt,
    )
    announced = require_splits(splits)
    if dataset is not None:
        BarStore(workspace).open(dataset)
    bundles = [find_bundle(invocation, each) for each in (model, shadow) if each is not None]
    standing = judge_standing(invocation, bundles[0], broker, accept)
    address = require_journal(journal, name)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.app.paper.planning import SessionRequest, plan_session
    from tradingbot.app.paper.running import trade_session
    from tradingbot.app.paper.signals import CLOCK

    settings = plan_session(
        SessionRequest(
            name,
            bundles[0],
            dataset,
            None if start is None else start.date(),
            None if end is None else end.date(),
            given,
            unlimited,
            authorised,
            speed,
            parts,
            latency,
            bundles[1] if shadow is not None else None,
            broker,
            bars,
            ask_cash() if broker == "alpaca" else None,
            announced,
            address,
            standing.words,
        ),
        workspace,
        clock=CLOCK,
        told=invocation.print_hint,
    )
    folder = SessionFolder.create(workspace, settings)
    if not authorised:
        print_note("a breaker that trips, a kill too, stays so: --authorise names who may arm it")
    ending = trade_session(workspace, folder, as_json=as_json, adopted_by=adopt)
    if ending == "stopped" and not as_json:
        invocation.print_hint(f"Go on with: tradingbot paper resume {name}")


@app.command("resume")
def resume_session(
    context: typer.Context,
    name: NameArgument,
    adopt: Annotated[
        str | None,
        Option(metavar="NAME", help="Who says that positions found at the venue are not ours."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a session that was stopped or killed, from the last turn that it journaled.

    Orders of that turn are looked up at the venue; none is sent twice.

    Example: [bold]tradingbot paper resume first[/bold]
    """
    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    if adopt is not None:
        require_others(folder.broker())
    from tradingbot.app.paper.status import has_ended, tell_ending

    if has_ended(folder) and not folder.is_running:  # every bar would be streamed for nothing
        tell_ending(folder, "finished", as_json=as_json)
        return
    from tradingbot.app.paper.running import trade_session

    workspace = invocation.workspace
    ending = trade_session(workspace, folder, as_json=as_json, adopted_by=adopt)
    if ending == "stopped" and not as_json:
        invocation.print_hint(f"Go on with: tradingbot paper resume {name}")


@app.command("status")
def show_status(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show a session: state, money, positions, orders, breakers, alerts.

    Example: [bold]tradingbot paper status first[/bold]
    """
    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    from tradingbot.app.paper.status import status_of

    document = status_of(folder)
    if show_json(as_json, document):
        return
    rows = [(key.replace("_", " "), _shown(value)) for key, value in document.items()]
    print_table(f"Session {name}", ["what", "value"], rows, unbroken=("what",))


app.command("list")(session_folders.list_folders)
app.command("remove")(session_folders.remove_session)
app.command("stop")(session_acts.stop_session)
app.command("kill")(session_acts.kill_session)
app.command("restrict")(session_acts.restrict_session)
app.command("arm")(session_acts.arm_session)
app.command("swap")(session_acts.swap_model)


app.command("replay")(session_proofs.replay_session)
app.command("report")(session_proofs.report_session)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return str(value)
