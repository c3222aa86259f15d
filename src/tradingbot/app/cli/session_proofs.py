"""`tradingbot paper replay | report`: what a session decided, proved; what it traded, reported."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import require_picture
from tradingbot.app.cli.session_acts import NameArgument, open_folder
from tradingbot.app.console import print_json, print_note, print_text, show_json

_EXIT_FINDINGS = 1


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

    Reads only, also while the session trades. Exits with 1 and names the first difference where
    there is one.

    Example: [bold]tradingbot paper replay first --verify 2025-12-30[/bold]
    """
    invocation = invocation_of(context)
    folder = open_folder(invocation, name)
    from tradingbot.app.paper.session import read_session
    from tradingbot.runtime.session.verification import verify_day

    day: date = verify.date()
    with read_session(folder, invocation.workspace) as session:
        proved = verify_day(session, day)
    document = {"session": name, "day": day, **proved._asdict()}
    if not show_json(as_json, document):
        if proved.difference is None:
            told = f"{proved.n_decisions} decisions of {day} and their {proved.n_orders} orders"
            print_text(f"{told} come out bit for bit")
        else:
            print_text(f"first difference: {proved.difference}")
    if proved.difference is not None:
        raise typer.Exit(_EXIT_FINDINGS)


def report_session(
    context: typer.Context,
    name: NameArgument,
    out: Annotated[
        Path | None, Option(help="Write a page (.html): figures, charts, trades.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report what a session really traded, by its journal: months, drawdowns, exposure, trades.

    The same report as that of a backtest. Reads the journal alone, also while the session runs.

    Example: [bold]tradingbot paper report first --out first.html[/bold]

    Example: [bold]tradingbot paper report first --json[/bold]
    """
    if out is not None:
        require_picture(out, "--out", (".html",))
    invocation = invocation_of(context)
    open_folder(invocation, name)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.data.atomic import chosen_by
    from tradingbot.facade.session import session_report

    report = session_report(name, workspace=invocation.workspace)
    if out is not None:
        with chosen_by("--out", out):
            report.to_html(out)
    if as_json:
        from tradingbot.evaluation.dossier.codec import to_plain

        print_json(to_plain(report.sheet))
        return
    print_text(report.summary())
    if out is not None:
        print_note(f"drawn: {out}")
