"""`tradingbot journal`: verified, shown, backed up, restored, migrated; passwords stay hidden."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fixtures.journals import decision, round_trip
from tradingbot.app.cli.application import run
from tradingbot.app.cli.journal import JOURNAL_VARIABLE
from tradingbot.runtime.journal.journal import SessionJournal

PASSWORD = "pa55w0rd-Ü/x"
ADDRESS = (
    f"postgresql://ada:{quote(PASSWORD, safe='')}@127.0.0.1:1/journal?sslpassword=hidden-too-1"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    with SessionJournal.open(tmp_path / "journal.sqlite", create=True) as journal:
        journal.record(*round_trip(), session="one")
        journal.record(decision(), session="two")
    return tmp_path


@pytest.fixture
def call(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Run `journal` with `--json` and return the exit code and the document, or the error."""

    def run_command(*arguments: str) -> tuple[int, Any]:
        code = run(["--workspace", str(workspace), "journal", *arguments, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out or said.err)

    return run_command


def test_verify_tells_head_and_rows(call: Callable[..., tuple[int, Any]]) -> None:
    code, whole = call("verify")

    assert (code, whole["is_whole"], whole["head"]["seq"]) == (0, True, 16)
    assert whole["rows"]["fills"] == 3
    assert call("verify", "--head", whole["head"]["sha256"])[0] == 0
    code, cut = call("verify", "--head", "0" * 64)
    assert code == 1
    assert "16 entries without it: it was cut off" in cut["problem"]


def test_verify_names_the_first_broken_row(
    call: Callable[..., tuple[int, Any]], workspace: Path
) -> None:
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as connection:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE name='entries_no_update'")
        (sql,) = found.fetchone()
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("UPDATE entries SET session = 'three' WHERE seq = 7")
        connection.execute(sql)
        connection.commit()

    code, broken = call("verify")

    assert (code, broken["is_whole"]) == (1, False)
    assert "first in entries 7: its content is not what was hashed" in broken["problem"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "was no journal"),
        (b"hello", "was a file that begins with b'hello'"),
        (bytes(range(256)), "was a file that begins with"),
        ("CREATE TABLE theirs (x INTEGER)", "was no journal"),
        ("UPDATE alembic_version SET version_num = '0099'", "was 0099"),
    ],
)
def test_what_is_no_journal_of_this_program_is_a_mistake_and_left_as_it_is(
    call: Callable[..., tuple[int, Any]], workspace: Path, content: bytes | str, words: str
) -> None:
    other = workspace / "other.sqlite"
    if isinstance(content, bytes):
        other.write_bytes(content)
    else:
        if "alembic" in content:
            call("backup", str(other))
        with closing(sqlite3.connect(other)) as connection:
            connection.execute(content)
            connection.commit()
    before = other.read_bytes()

    for verb in (["verify"], ["show"], ["backup", str(workspace / "new.sqlite")], ["migrate"]):
        code, told = call(*verb, "--journal", str(other))
        assert code == 2, told
        assert words in told["error"]
        assert str(other) in told["error"]
        assert "journal migrate" not in told["error"]  # it would not help
    code, told = call("restore", str(other), "--journal", str(workspace / "new.sqlite"))
    assert (code, words in told["error"]) == (2, True)
    assert other.read_bytes() == before


def test_damaged_database_is_a_finding_and_an_unreadable_file_is_not(
    call: Callable[..., tuple[int, Any]], workspace: Path
) -> None:
    path = workspace / "journal.sqlite"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xaa" * (len(content) - 4096))
    code, broken = call("verify")
    assert code == 1
    assert f"tradingbot --workspace {workspace} journal restore" in broken["problem"]

    code, told = call("verify", "--journal", "/proc/self/mem")  # as where there is no permission

    assert (code, "journal must be readable" in told["error"]) == (2, True)
    assert call("verify", "--journal", "")[0] == 2
    for verb in ("backup", "restore"):
        code, told = call(verb, "postgresql://ada:s3cret@db/journal")
        assert (code, "s3cret" in told["error"]) == (2, False)


def test_show_lists_sessions_and_entries(call: Callable[..., tuple[int, Any]]) -> None:
    assert call("show")[1]["sessions"] == {
        "one": {"entries": 15, "decisions": 2, "orders": 3, "fills": 3},
        "two": {"entries": 1, "decisions": 1, "orders": 0, "fills": 0},
    }
    _, fills = call("show", "one", "--kind", "OrderFilled", "--last", "2")
    assert [each["fill"]["fill_id"] for each in fills] == ["f2", "f3"]
    assert fills[1]["fill"]["price"] == "101"
    code, error = call("show", "on")
    assert (code, "Did you mean 'one'?" in error["error"]) == (2, True)


def test_backup_and_restore_have_one_head(
    call: Callable[..., tuple[int, Any]], workspace: Path
) -> None:
    backup = str(workspace / "monday.sqlite")
    _, made = call("backup", backup)
    (workspace / "journal.sqlite").rename(workspace / "evidence.sqlite")

    code, restored = call("restore", backup)

    assert code == 0
    assert restored["head"] == made["head"]
    assert restored["rows"] == made["rows"]
    assert call("restore", backup)[0] == 2  # there is one now
    _, part = call("restore", backup, "--journal", str(workspace / "part.sqlite"), "--until", "3")
    assert part["head"]["seq"] == 3


def test_journal_of_a_session_is_found_by_its_name(
    call: Callable[..., tuple[int, Any]], workspace: Path
) -> None:
    for name in ("first", "second"):
        (workspace / "sessions" / name).mkdir(parents=True)
        shutil.copy(workspace / "journal.sqlite", workspace / "sessions" / name)
    (workspace / "journal.sqlite").unlink()

    code, error = call("verify")

    assert code == 2
    assert "must name a session where there are several, was none" in error["error"]
    assert "Name one of: first, second" in error["error"]
    second = str(workspace / "sessions" / "second" / "journal.sqlite")
    assert call("verify", "--journal", "second")[1]["journal"] == second
    (workspace / "sessions" / "first" / "journal.sqlite").unlink()
    assert call("verify")[1]["journal"] == second  # the only one


def test_migrate_says_both_revisions(call: Callable[..., tuple[int, Any]]) -> None:
    code, done = call("migrate")

    assert (code, done["before"], done["after"]) == (0, "0002", "0002")


def test_tables_for_people(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["verify"], ["show"], ["show", "one", "--last", "3"], ["migrate"]):
        assert run(["--workspace", str(workspace), "journal", *words]) == 0
    out = capsys.readouterr().out

    assert "every entry is as it was written" in out
    assert "SessionStateSaved" in out
    assert "revision 0002 → 0002" in out


@pytest.mark.parametrize("words", [["verify"], ["show", "one"], ["migrate"], ["backup", "x"]])
def test_password_appears_in_no_output_C11(
    words: list[str],
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(workspace)
    refused = run(["--debug", "journal", *words, "--journal", ADDRESS])
    monkeypatch.setenv(JOURNAL_VARIABLE, ADDRESS)
    unreachable = run(["--debug", "journal", *words])
    said = capsys.readouterr()

    assert (refused, unreachable) == (2, 2)
    assert "--journal must not hold a password" in said.err
    assert "journal must be writable and reachable" in said.err
    for secret in (PASSWORD, "pa55w0rd", "hidden-too-1"):
        assert secret not in said.out + said.err
