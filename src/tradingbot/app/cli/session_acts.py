"""What persons do to a session on paper: stop, kill, restrict, arm it, change its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.session_options import find_bundle, judge_standing
from tradingbot.app.console import print_text, show_json
from tradingbot.domain.errors import ConfigError, require_known

if TYPE_CHECKING:
    from tradingbot.runtime.session.folder import Request, SessionFolder

NameArgument = Annotated[str, Argument(metavar="NAME", help="Name of a session.")]
ByOption = Annotated[str, Option("--by", metavar="NAME", help="Who asks; journaled.")]
AcceptOption = Annotated[
    str | None,
    Option(metavar="VERDICT", help="Trade with this verdict at Alpaca all the same; journaled."),
]
ReasonOption = Annotated[str, Option(metavar="TEXT", help="Why; journaled.")]


def stop_session(
    context: typer.Context,
    name: NameArgument,
    by: ByOption = "operator",
    reason: ReasonOption = "stop",
    as_json: JsonOption = False,
) -> None:
    """Let a session end after its present turn; open orders stay, `resume` goes on.

    Example: [bold]tradingbot paper stop first[/bold]
    """
    from tradingbot.runtime.session.folder import Request

    folder = open_folder(invocation_of(context), name)
    if not folder.is_running:
        remedy = f"See how it ended: tradingbot paper status {name}"
        rule = "a session must run to be stopped"
        raise ConfigError(rule, was="not running", where=name, remedy=remedy)
    folder.ask(Request("stop", by, reason))
    if not show_json(as_json, {"session": name, "act": "stop", "is_done": False}):
        print_text(f"{name} ends after its present turn")


def kill_session(
    context: typer.Context,
    name: NameArgument,
    by: ByOption = "operator",
    reason: ReasonOption = "kill switch",
    flatten: Annotated[
        bool, Option("--flatten", help="Send orders for the whole of every position first.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Halt a session: every order is cancelled and nothing is sent until it is armed again.

    Works while it runs and while it does not. The same do a file in its folder `requests`, and
    the signal USR1.

    Example: [bold]tradingbot paper kill first --reason "prices look wrong"[/bold]
    """
    from tradingbot.runtime.session.folder import Request

    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    request = Request("kill", by, reason, flatten=flatten)
    _ask(invocation, folder, request, as_json=as_json)


def restrict_session(
    context: typer.Context,
    name: NameArgument,
    state: Annotated[
        str, Argument(metavar="STATE", help="`reducing`: only exits; `halted`: nothing is sent.")
    ],
    by: ByOption = "operator",
    reason: ReasonOption = "restricted by hand",
    as_json: JsonOption = False,
) -> None:
    """Let a session only reduce positions, or send nothing; open orders stay.

    `paper arm` ends it, by one of those that --authorise named.

    Example: [bold]tradingbot paper restrict first reducing --reason "results tonight"[/bold]
    """
    from tradingbot.domain.trading_state import TradingState
    from tradingbot.runtime.session.folder import Request

    tighter = [TradingState.REDUCING.value, TradingState.HALTED.value]
    require_known(state, tighter, "a restriction must be one of two states")
    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    request = Request("restrict", by, reason, state=state)
    _ask(invocation, folder, request, as_json=as_json)


def arm_session(
    context: typer.Context,
    name: NameArgument,
    by: Annotated[str, Option("--by", metavar="NAME", help="One of those that --authorise named.")],
    reason: Annotated[str, Option(metavar="TEXT", help="Why it is safe to go on; journaled.")],
    breaker: Annotated[
        str | None, Option(help="Which; all that tripped if left out.", metavar="NAME")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Arm again what tripped: kill switch, drawdown, daily loss, rejections and others.

    Without --breaker it also ends what `paper restrict` began.

    Example: [bold]tradingbot paper arm first --by ada --reason "feed repaired"[/bold]
    """
    from tradingbot.runtime.breaker import Breaker
    from tradingbot.runtime.rearm import require_authorised
    from tradingbot.runtime.session.folder import Request

    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    if breaker is not None:
        require_known(breaker, list(Breaker), "--breaker must be one that can trip")
    require_authorised(f"arming {name}", by, reason, frozenset(folder.authorised()))
    request = Request("arm", by, reason, breaker=breaker)
    _ask(invocation, folder, request, as_json=as_json)


def swap_model(
    context: typer.Context,
    name: NameArgument,
    model: Annotated[
        str, Argument(metavar="MODEL", help="Version of a model (v3), or a bundle (.zip).")
    ],
    by: ByOption = "operator",
    reason: ReasonOption = "swap",
    accept: AcceptOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let another model decide from the next bar on; the same command goes back to the first.

    It must decide for the same symbols. Bars so far are streamed into it; every decision says which
    model made it.

    Example: [bold]tradingbot paper swap first v2 --reason "v2 passed its gates"[/bold]
    """
    from tradingbot.runtime.session.folder import Request
    from tradingbot.runtime.session.model import ModelReference

    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    bundle = find_bundle(invocation, model)
    standing = judge_standing(invocation, bundle, folder.broker(), accept)
    reference = ModelReference(str(bundle), standing.sha256)
    told = (standing.verdict, standing.words)
    request = Request("swap", by, reason, False, None, reference, *told)
    _ask(invocation, folder, request, as_json=as_json)


def open_folder(invocation: Invocation, name: str) -> SessionFolder:
    """Find a session of the workspace."""
    from tradingbot.runtime.session.folder import SessionFolder

    return SessionFolder.open(invocation.workspace, name)


def _ask(invocation: Invocation, folder: SessionFolder, request: Request, *, as_json: bool) -> None:
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.app.paper.running import ask_session

    is_done = ask_session(invocation.workspace, folder, request, as_json=as_json)
    if not is_done and not as_json:
        invocation.print_hint(f"See what became of it: tradingbot paper status {folder.name}")
