"""`tradingbot journal verify | show | backup | restore | migrate`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import require_file
from tradingbot.app.console import print_note, print_table, print_text, show_json
from tradingbot.domain.errors import ConfigError, require_known

if TYPE_CHECKING:
    from tradingbot.runtime.journal.address import JournalAddress
    from tradingbot.runtime.journal.verification import VerifiedJournal

app = typer.Typer(help="Verify, show, back up, restore and migrate the journal of sessions.")

JOURNAL_VARIABLE = "TRADINGBOT_JOURNAL"
_FILE, _SESSIONS = "journal.sqlite", "sessions"
_NAME = re.compile(r"[\w-]+")
_SHA256 = re.compile("[0-9a-f]{64}")
_EXIT_FINDINGS, _LONGEST = 1, 400

JournalOption = Annotated[
    str | None,
    Option(
        "--journal",
        help="A session's name, a file, or postgresql://USER@HOST/DATABASE with the password in "
        f"PGPASSWORD or a password file. [dim]Default: ${JOURNAL_VARIABLE}, else {_FILE} in the "
        "workspace, else that of the only session[/dim]",
        show_default=False,
        metavar="ADDRESS",
    ),
]


def find_journal(
    invocation: Invocation, option: str | None, environment: Mapping[str, str] = os.environ
) -> JournalAddress:
    """Return where the journal is: the option, else the variable, else the only one there is.

    Raises:
        ConfigError: If it names no place, a password stands on the command line, or there are
            several sessions and none is named.
    """
    from tradingbot.runtime.journal.address import read_address
    from tradingbot.runtime.session.folder import SessionFolder

    sessions = invocation.workspace / _SESSIONS
    text = (environment.get(JOURNAL_VARIABLE) or None) if option is None else option
    if text is None:
        return _only_journal(invocation.workspace)
    if _NAME.fullmatch(text) and (sessions / text).is_dir():
        return SessionFolder(sessions / text).journal_address
    if option is None:
        return read_address(text)
    return require_no_password(text, f"put the address in {JOURNAL_VARIABLE}")


def require_no_password(text: str, otherwise: str) -> JournalAddress:
    """Read an address of a command line, which other users of the machine see.

    Raises:
        ConfigError: If it names no place, or a password stands in it.
    """
    from tradingbot.runtime.journal.address import read_address

    address = read_address(text)
    if address.secrets:
        raise ConfigError(
            "--journal must not hold a password: other users of this machine see it",
            was=str(address),
            remedy=f"Set PGPASSWORD, use a password file, or {otherwise}",
        )
    return address


def _only_journal(workspace: Path) -> JournalAddress:
    """Return the workspace's own journal, else that of its only session."""
    from tradingbot.runtime.journal.address import read_address
    from tradingbot.runtime.session.folder import SessionFolder

    paths = sorted(path for path in (workspace / _SESSIONS).glob("*") if path.is_dir())
    found = [each for each in map(SessionFolder, paths) if each.has_journal]
    if (workspace / _FILE).exists() or not found:
        return read_address(workspace / _FILE)
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        rule = "--journal must name a session where there are several"
        raise ConfigError(rule, was="none", remedy=f"Name one of: {names}")
    return found[0].journal_address


@app.command("verify")
def verify_journal(
    context: typer.Context,
    journal: JournalOption = None,
    head: Annotated[
        str | None,
        Option(help="Hash of an entry that was noted before; it must still be in the chain."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute every hash again and compare every row with its entry.

    Exits with 0 where all is as it was written, with 1 where it is not, and names the first row
    that is wrong; with 2 where there is no journal. Entries that were cut off at the end are found
    by a hash noted earlier: --head.

    Example: [bold]tradingbot journal verify[/bold]
    """
    if head is not None and not _SHA256.fullmatch(head):
        rule, remedy = (
            "--head must be 64 hexadecimal digits",
            "Copy it from: tradingbot journal verify",
        )
        raise ConfigError(rule, was=repr(head[:80]), remedy=remedy)
    from tradingbot.runtime.journal.failures import JournalDamagedError, NoJournalError
    from tradingbot.runtime.journal.reading import JournalReader
    from tradingbot.runtime.journal.verification import require_entry, verify

    invocation = invocation_of(context)
    address = find_journal(invocation, journal)
    problem, found = None, None
    try:
        with JournalReader(address) as reader:
            found = verify(reader)
            if head is not None:
                require_entry(reader, head)
    except NoJournalError:
        raise  # there is nothing to verify
    except JournalDamagedError as e:
        problem = invocation.with_workspace(str(e))
    document = {"journal": str(address), "is_whole": problem is None, "problem": problem}
    if not show_json(as_json, {**document, **_facts(found)}):
        if found is not None:
            _print_verified(f"Journal {address}", found)
        print_text(problem or "every entry is as it was written")
    if problem is not None:
        raise typer.Exit(_EXIT_FINDINGS)


@app.command("show")
def show_journal(
    context: typer.Context,
    session: Annotated[
        str | None, Argument(metavar="SESSION", help="Of which; without it all are listed.")
    ] = None,
    journal: JournalOption = None,
    kind: Annotated[
        str | None, Option(help="One kind of event alone, e.g. OrderFilled.", metavar="KIND")
    ] = None,
    last: Annotated[int, Option(min=1, max=100_000, help="How many entries, the newest.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List sessions, or show the newest entries of one.

    Example: [bold]tradingbot journal show[/bold]

    Example: [bold]tradingbot journal show paper-1 --kind OrderFilled --json[/bold]
    """
    from tradingbot.domain.events.catalogue import EVENTS

    chosen = None if kind is None else EVENTS[require_known(kind, EVENTS, "--kind must be known")]
    from tradingbot.runtime.journal.reading import JournalReader

    with JournalReader(find_journal(invocation_of(context), journal)) as reader:
        if session is None:
            counts = reader.counts()
            rows = [(name, *counts[name].values()) for name in counts]
            if not show_json(as_json, {"head": reader.head()._asdict(), "sessions": counts}):
                columns = ["session", "entries", "decisions", "orders", "fills"]
                print_table(f"Sessions of {reader.address}", columns, rows)
            return
        require_known(session, reader.sessions(), "session must be in the journal")
        entries = reader.newest(session, limit=last, kind=chosen)
    if show_json(as_json, [{"seq": each.seq, **each.values} for each in entries]):
        return
    lines = [(each.seq, each.event.kind, _shortened(each.summary)) for each in entries]
    print_table(f"Session {session}", ["entry", "kind", "what"], lines, unbroken=("kind",))
    if n_cut := sum(len(each.summary) > _LONGEST for each in entries):
        print_note(f"{n_cut} entries are cut, at …; --json shows them whole")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@app.command("backup")
def back_up_journal(
    context: typer.Context,
    file: Annotated[Path, Argument(metavar="FILE", help="New file that the backup becomes.")],
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the journal into one file and verify the copy; sessions may go on writing.

    Example: [bold]tradingbot journal backup monday.sqlite[/bold]
    """
    require_file(file, "FILE", "backup.sqlite")
    from tradingbot.runtime.journal.copying import back_up
    from tradingbot.runtime.journal.reading import JournalReader

    with JournalReader(find_journal(invocation_of(context), journal)) as reader:
        made = back_up(reader, file)
    if not show_json(as_json, {"backup": str(file), **_facts(made)}):
        _print_verified(f"Backup {file}, verified", made)


@app.command("restore")
def restore_journal(
    context: typer.Context,
    file: Annotated[Path, Argument(metavar="FILE", help="A backup.")],
    journal: JournalOption = None,
    until: Annotated[
        int | None, Option(min=1, help="Number of the last entry to take; all by default.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Copy a backup to where no journal is, and verify what was restored.

    The place is a file that does not exist yet, or a database of PostgreSQL without entries.

    Example: [bold]tradingbot journal restore monday.sqlite[/bold]
    """
    require_file(file, "FILE", "backup.sqlite")
    from tradingbot.runtime.journal.copying import restore
    from tradingbot.runtime.journal.reading import JournalReader

    address = find_journal(invocation_of(context), journal)
    with JournalReader.at(file) as backup:
        made = restore(backup, address, until=until)
    if not show_json(as_json, {"journal": str(address), **_facts(made)}):
        _print_verified(f"Journal {address}, restored and verified", made)


@app.command("migrate")
def migrate_journal(
    context: typer.Context, journal: JournalOption = None, as_json: JsonOption = False
) -> None:
    """Bring the schema of a journal to the one of this program, in one transaction.

    No session may be writing. Back it up first.

    Example: [bold]tradingbot journal migrate[/bold]
    """
    from tradingbot.runtime.journal.database import migrate_schema

    address = find_journal(invocation_of(context), journal)
    before, after = migrate_schema(address)
    if not show_json(as_json, {"journal": str(address), "before": before, "after": after}):
        print_text(f"{address}: revision {before} → {after}")


def _facts(found: VerifiedJournal | None) -> dict[str, object]:
    return {} if found is None else {"head": found.head._asdict(), "rows": asdict(found)["counts"]}


def _print_verified(title: str, found: VerifiedJournal) -> None:
    caption = f"head: entry {found.head.seq}, {found.head.sha256}"
    print_table(title, ["table", "rows"], [*found.counts.items()], caption=caption)
