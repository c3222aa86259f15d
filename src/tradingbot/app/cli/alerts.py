"""`tradingbot alerts list | test | silence | ack | watch | guard`."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_note, print_table, print_text, show_json

app = typer.Typer(help="Watch by rules, and tell over channels what needs attention.")

RulesOption = Annotated[
    str | None,
    Option(
        "--rules",
        metavar="FILE",
        help="Rules and channels: a .yaml file or a preset. "
        "[dim]Default: alerts.yaml of the workspace, else default[/dim]",
        show_default=False,
    ),
]
ByOption = Annotated[
    str | None, Option("--by", metavar="NAME", help="Who; audited. [dim]Default: the user[/dim]")
]
ReasonOption = Annotated[str, Option(metavar="TEXT", help="Why; audited.")]


@app.command("list")
def list_alerts(
    context: typer.Context,
    all_of_them: Annotated[bool, Option("--all", help="Resolved ones too, and notices.")] = False,
    only_rules: Annotated[
        bool, Option("--show-rules", help="The rules, their metrics and sources instead.")
    ] = False,
    rules: RulesOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what fires or is pending, who watches, and which silences last.

    Example: [bold]tradingbot alerts list --all[/bold]

    Example: [bold]tradingbot alerts list --show-rules --rules mine.yaml[/bold]
    """
    from tradingbot.app.alerts.showing import alerts_document, rules_document, show_alerts
    from tradingbot.app.alerts.showing import show_rules as show_table
    from tradingbot.monitoring.alerts.settings import load_settings

    invocation = invocation_of(context)
    workspace, written = invocation.workspace, invocation.with_workspace
    settings = load_settings(rules, workspace=workspace)
    if only_rules:
        if not show_json(as_json, rules_document(settings)):
            show_table(settings)
        return
    now = datetime.now(UTC)
    document = alerts_document(workspace, now, with_past=all_of_them, written=written)
    if not show_json(as_json, document):
        show_alerts(document, written)


@app.command("test")
def try_channels(
    context: typer.Context,
    channels: Annotated[
        list[str] | None, Argument(metavar="[CHANNEL]...", help="Names; all if left out.")
    ] = None,
    by: ByOption = None,
    rules: RulesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a test over channels and say what became of it; exits with 1 where one failed.

    Example: [bold]tradingbot alerts test pager[/bold]
    """
    from tradingbot.app.alerts.trying import try_each
    from tradingbot.domain.errors import require_known
    from tradingbot.monitoring.alerts.settings import load_settings

    workspace = invocation_of(context).workspace
    settings = load_settings(rules, workspace=workspace)
    for name in channels or ():
        require_known(name, settings.channels, "channel must be one of the settings")
    chosen = tuple(channels or settings.channels)
    found = try_each(workspace, settings, chosen, by=by or getpass.getuser())
    if not show_json(as_json, found):
        rows = [
            (each["channel"], each["leads_to"], each["is_sent"], each["seconds"], each["problem"])
            for each in found
        ]
        print_table("Test", ["channel", "leads to", "sent", "seconds", "problem"], rows)
    if not all(each["is_sent"] for each in found):
        raise typer.Exit(1)


@app.command("silence")
def silence_alerts(  # noqa: PLR0913 - whom, how long, and what the trail asks for
    context: typer.Context,
    rule: Annotated[
        str, Argument(metavar="RULE", help="Name or pattern (*) of rules; with --end an id.")
    ],
    reason: ReasonOption,
    subject: Annotated[
        str, Option(metavar="PATTERN", help="Of which subjects, e.g. 'session first'.")
    ] = "*",
    minutes: Annotated[float, Option(min=0.1, max=43200.0, help="For how long.")] = 60.0,
    end: Annotated[bool, Option("--end", help="End the silence of this id now.")] = False,
    by: ByOption = None,
    rules: RulesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold notices of rules back for a while; incidents are watched all the same.

    Example: [bold]tradingbot alerts silence stale_data --minutes 30 --reason "vendor works"[/bold]

    Example: [bold]tradingbot alerts silence 3f9a01c2 --end --reason done[/bold]
    """
    from tradingbot.app.alerts.showing import silence_document
    from tradingbot.domain.errors import require_known
    from tradingbot.monitoring.alerts.acts import AlertActs
    from tradingbot.monitoring.alerts.settings import load_settings

    workspace = invocation_of(context).workspace
    acts, now, who = AlertActs(workspace), datetime.now(UTC), by or getpass.getuser()
    if end:
        made = acts.end_silence(rule, by=who, reason=reason, now=now)
    else:
        if not set(rule) & set("*?["):
            known = load_settings(rules, workspace=workspace).rules
            require_known(rule, known, "rule must be one of the settings")
        lasts = timedelta(minutes=minutes)
        made = acts.silence(rule, subject, lasts, by=who, reason=reason, now=now)
    if not show_json(as_json, {**silence_document(made), "is_ended": end}):
        told = "ended" if end else f"until {made.until.isoformat(timespec='seconds')}"
        print_text(f"silence {made.id}: {made.rule} of {made.subject}, {told}")


@app.command("ack")
def acknowledge_alert(
    context: typer.Context,
    identity: Annotated[
        str, Argument(metavar="ID", help="Of an incident, as `alerts list` shows it.")
    ],
    reason: ReasonOption,
    by: ByOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an incident on: it is not escalated any more.

    Example: [bold]tradingbot alerts ack 3f9a01c2 --reason "looking at it"[/bold]
    """
    from tradingbot.app.alerts.showing import incident_document
    from tradingbot.monitoring.alerts.acts import AlertActs

    acts = AlertActs(invocation_of(context).workspace)
    who = by or getpass.getuser()
    found = acts.acknowledge(identity, by=who, reason=reason, now=datetime.now(UTC))
    if not show_json(as_json, {**incident_document(found), "acknowledged_by": who}):
        print_text(f"{found.id} ({found.rule}, {found.subject}) is taken on by {who}")


@app.command("watch")
def watch_alerts(
    context: typer.Context,
    rules: RulesOption = None,
    once: Annotated[
        bool, Option("--once", help="Look once; exits with 1 where something fires.")
    ] = False,
    with_guard: Annotated[
        bool, Option("--guard/--no-guard", help="Start the process that tells when this one dies.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Watch sessions, runs, servers and the disk, and tell over the channels; Ctrl-C ends it.

    Example: [bold]tradingbot alerts watch[/bold]

    Example: [bold]tradingbot alerts watch --once --json[/bold]
    """
    from tradingbot.app.alerts.showing import alerts_document, show_alerts
    from tradingbot.app.alerts.watching import GuardProcess, now_utc, open_watcher, watch
    from tradingbot.app.signals import stop_on_signals
    from tradingbot.monitoring.alerts.settings import load_settings

    invocation = invocation_of(context)
    workspace, written = invocation.workspace, invocation.with_workspace
    settings = load_settings(rules, workspace=workspace)
    with open_watcher(workspace, settings, written) as watcher:
        if not once:
            arguments = ["--workspace", str(workspace), "alerts", "guard", "--follow"]
            guard = GuardProcess([*arguments, *(["--rules", rules] if rules else [])])
            watcher.own_samples = guard.samples if with_guard else watcher.own_samples
            print_note(f"watching {workspace} by {len(settings.rules)} rules; Ctrl-C ends it")
            try:
                with stop_on_signals() as stop:
                    watch(watcher, stop)
            finally:
                guard.close()
            return
        watcher.look(now_utc())
        document = alerts_document(workspace, now_utc(), with_past=False, written=written)
        firing = watcher.firing
    if not show_json(as_json, document):
        show_alerts(document, written)
    if firing:
        raise typer.Exit(1)


@app.command("guard")
def guard_alerter(
    context: typer.Context,
    once: Annotated[
        bool, Option("--once", help="Look once; exits with 1 where the alerter is dead.")
    ] = False,
    follow: Annotated[
        bool, Option("--follow", help="End with the alerter; `watch` starts it so.")
    ] = False,
    rules: RulesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at the alerter's heartbeat from another process, and tell when it ends.

    Example: [bold]tradingbot alerts guard[/bold]

    Example: [bold]tradingbot alerts guard --once --json[/bold]
    """
    from tradingbot.app.alerts.guarding import guard
    from tradingbot.app.signals import stop_on_signals
    from tradingbot.monitoring.alerts.dead_man import AlerterLife
    from tradingbot.monitoring.alerts.settings import load_settings

    invocation = invocation_of(context)
    workspace, written = invocation.workspace, invocation.with_workspace
    settings = load_settings(rules, workspace=workspace)
    with stop_on_signals() as stop:
        life = guard(workspace, settings, stop, follows=follow, once=once, written=written)
    if not show_json(as_json, {"alerter": life.value}):
        print_text(f"the alerter is {life.value}")
    if life is AlerterLife.DEAD:
        raise typer.Exit(1)
