"""`tradingbot paper start | status | stop | resume | kill | arm | replay`: sessions on paper."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import read_options, require_order
from tradingbot.app.console import print_table, print_text, show_json
from tradingbot.domain.errors import ConfigError, require_known

if TYPE_CHECKING:
    from tradingbot.runtime.session.folder import SessionFolder

app = typer.Typer(help="Trade models on paper: start, watch, stop, resume, kill, arm, prove.")

NameArgument = Annotated[str, Argument(metavar="NAME", help="Name of a session.")]
ByOption = Annotated[str, Option("--by", metavar="NAME", help="Who asks; journaled.")]
ReasonOption = Annotated[str, Option(metavar="TEXT", help="Why; journaled.")]
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
        Option("--limit", help="LIMIT=VALUE of the session, e.g. max_trades=20.", metavar="TEXT"),
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
    parts: Annotated[int, Option(min=1, help="Executions that a fill comes in.")] = 1,
    latency: Annotated[
        float, Option(min=0.0, help="Seconds that orders and messages are under way.")
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Trade stored bars on the built-in paper broker, every decision, order and fill journaled.

    The replayed bar is now: decisions at its close fill at the open of the next one, at the
    simulator's prices and costs. A session that was killed goes on with `paper resume`.

    Example: [bold]tradingbot paper start v1 --name first[/bold]

    Example: [bold]tradingbot paper start v1 --name compared --from 2025-12-01 --unlimited[/bold]
    """
    from tradingbot.data.store import BarStore
    from tradingbot.runtime.session.folder import SessionFolder, require_new_session

    invocation = invocation_of(context)
    workspace = invocation.workspace
    require_new_session(workspace, name)
    require_order(start, end)
    given = read_options(limits, "--limit")
    _require_limits(given)
    if dataset is not None:
        BarStore(workspace).open(dataset)
    bundles = [_find_model(invocation, each) for each in (model, shadow) if each is not None]
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.app.paper.running import trade_session
    from tradingbot.app.paper.session import SessionRequest, plan_session

    settings = plan_session(
        SessionRequest(
            name,
            bundles[0],
            dataset,
            None if start is None else start.date(),
            None if end is None else end.date(),
            given,
            unlimited,
            tuple(authorise or ()),
            speed,
            parts,
            latency,
            bundles[1] if shadow is not None else None,
        ),
        workspace,
    )
    folder = SessionFolder.create(workspace, settings)
    trade_session(invocation.workspace, folder, as_json=as_json)


@app.command("resume")
def resume_session(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Go on with a session that was stopped or killed, from the last turn that it journaled.

    Orders of that turn are looked up at the venue; none is sent twice.

    Example: [bold]tradingbot paper resume first[/bold]
    """
    invocation = invocation_of(context)
    folder = _open_folder(invocation, name)
    from tradingbot.app.paper.running import trade_session

    trade_session(invocation.workspace, folder, as_json=as_json)


@app.command("status")
def show_status(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show a session: state, money, positions, orders, breakers, alerts.

    Example: [bold]tradingbot paper status first[/bold]
    """
    invocation = invocation_of(context)
    folder = _open_folder(invocation, name)
    from tradingbot.app.paper.status import status_of

    document = status_of(folder)
    if show_json(as_json, document):
        return
    rows = [(key.replace("_", " "), _shown(value)) for key, value in document.items()]
    print_table(f"Session {name}", ["what", "value"], rows, unbroken=("what",))


@app.command("stop")
def stop_session(
    context: typer.Context,
    name: NameArgument,
    by: ByOption = "operator",
    reason: ReasonOption = "stop",
) -> None:
    """Let a session end after its present turn; open orders stay, `resume` goes on.

    Example: [bold]tradingbot paper stop first[/bold]
    """
    from tradingbot.runtime.session.folder import Request

    folder = _open_folder(invocation_of(context), name)
    if not folder.is_running:
        raise ConfigError("a session must run to be stopped", was="not running", where=name)
    folder.ask(Request("stop", by, reason))
    print_text(f"{name} ends after its present turn")


@app.command("kill")
def kill_session(
    context: typer.Context,
    name: NameArgument,
    by: ByOption = "operator",
    reason: ReasonOption = "kill switch",
    flatten: Annotated[
        bool, Option("--flatten", help="Send orders for the whole of every position first.")
    ] = False,
) -> None:
    """Halt a session: every order is cancelled and nothing is sent until it is armed again.

    Works while it runs and while it does not. The same do a file in its folder `requests`, and
    the signal USR1.

    Example: [bold]tradingbot paper kill first --reason "prices look wrong"[/bold]
    """
    from tradingbot.runtime.session.folder import Request

    invocation = invocation_of(context)
    folder = _open_folder(invocation, name)
    from tradingbot.app.paper.running import ask_session

    ask_session(invocation.workspace, folder, Request("kill", by, reason, flatten=flatten))


@app.command("arm")
def arm_session(
    context: typer.Context,
    name: NameArgument,
    by: Annotated[str, Option("--by", metavar="NAME", help="One of those that --authorise named.")],
    reason: Annotated[str, Option(metavar="TEXT", help="Why it is safe to go on; journaled.")],
    breaker: Annotated[
        str | None, Option(help="Which; all that tripped if left out.", metavar="NAME")
    ] = None,
) -> None:
    """Arm again what tripped: kill switch, drawdown, daily loss, repeated executions and others.

    Example: [bold]tradingbot paper arm first --by ada --reason "feed repaired"[/bold]
    """
    from tradingbot.runtime.breaker import Breaker
    from tradingbot.runtime.rearm import require_authorised
    from tradingbot.runtime.session.folder import Request

    invocation = invocation_of(context)
    folder = _open_folder(invocation, name)
    if breaker is not None:
        require_known(breaker, list(Breaker), "--breaker must be one that can trip")
    require_authorised(f"arming {name}", by, reason, frozenset(folder.authorised()))
    from tradingbot.app.paper.running import ask_session

    ask_session(invocation.workspace, folder, Request("arm", by, reason, breaker=breaker))


@app.command("replay")
def replay_session(
    context: typer.Context,
    name: NameArgument,
    verify: Annotated[
        datetime,
        Option("--verify", formats=["%Y-%m-%d"], help="Day (UTC) whose decisions are proved."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Prove a day: decide it again from bars and journaled accounts, and compare bit for bit.

    Exits with 1 and names the first difference where there is one.

    Example: [bold]tradingbot paper replay first --verify 2025-12-30[/bold]
    """
    invocation = invocation_of(context)
    folder = _open_folder(invocation, name)
    from tradingbot.app.paper.session import open_session
    from tradingbot.runtime.session.verification import verify_day

    day: date = verify.date()
    with open_session(folder, invocation.workspace) as session:
        proved = verify_day(session, day)
    document = {"session": name, "day": day, **proved._asdict()}
    if not show_json(as_json, document):
        if proved.difference is None:
            print_text(f"{proved.n_decisions} decisions of {day} come out bit for bit")
        else:
            print_text(f"first difference: {proved.difference}")
    if proved.difference is not None:
        raise typer.Exit(_EXIT_FINDINGS)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return str(value)


def _open_folder(invocation: Invocation, name: str) -> SessionFolder:
    from tradingbot.runtime.session.folder import SessionFolder

    return SessionFolder.open(invocation.workspace, name)


def _find_model(invocation: Invocation, reference: str) -> Any:
    """Find a bundle without opening it."""
    from pathlib import Path

    from tradingbot.serving.registry import ModelRegistry

    path = Path(reference)
    if path.suffix == ".zip":
        if not path.is_file():
            rule = "a bundle must exist"
            raise ConfigError(rule, was="no file", where=reference, remedy="tradingbot export RUN")
        return path.resolve()
    registry = ModelRegistry(invocation.workspace)
    return registry.bundle_path(registry.version(reference)).resolve()


def _require_limits(given: dict[str, object]) -> None:
    from tradingbot.domain.plain_values import read_record
    from tradingbot.risk.limits import SessionLimits

    read_record(SessionLimits, given, name="--limit")
