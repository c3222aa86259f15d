"""API keys: shown once, stored as hashes in a file that is their owner's, changed with a trace."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from fixtures.model_servers import AT, ServedWorkspace, client_of
from tradingbot.app.cli.application import run
from tradingbot.app.session_desk import WorkspaceSessions
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.runtime.session.folder import SETTINGS_FILE, SessionFolder
from tradingbot.serving.access.audit import AuditTrail
from tradingbot.serving.access.keys import KeyBook, identify
from tradingbot.serving.access.lockouts import Lockouts

DAY = timedelta(days=1)


@pytest.fixture
def book(tmp_path: Path) -> KeyBook:
    return KeyBook(tmp_path)


def test_a_key_is_known_by_its_secret_which_is_stored_nowhere(
    book: KeyBook, tmp_path: Path
) -> None:
    made = book.create("bot", ["predict"], at=AT, lifetime=DAY)
    other = book.create("bot", ["read"], at=AT, lifetime=DAY)

    assert identify(book.read(), made.secret, AT) == (made.key, None)
    assert identify(book.read(), made.secret[:-1] + "!", AT) == (None, "unknown")
    swapped = made.secret.replace(made.key.id, other.key.id)
    assert identify(book.read(), swapped, AT) == (None, "unknown")
    assert identify(book.read(), made.secret, AT + 2 * DAY) == (None, "expired")
    text = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert made.secret.split("_", 2)[2] not in text + repr(made)
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600


def test_C06_a_file_that_others_may_read_is_refused(book: KeyBook) -> None:
    book.create("bot", ["predict"], at=AT, lifetime=DAY)
    book.path.chmod(0o640)

    with pytest.raises(StorageError, match=r"chmod 600"):
        book.read()


def test_a_file_that_was_changed_is_refused(book: KeyBook) -> None:
    book.create("bot", ["predict"], at=AT, lifetime=DAY)
    book.path.write_text(book.path.read_text().replace('"predict"', '"admin"'))

    with pytest.raises(StorageError, match="changed since it was written"):
        book.read()


def test_rotation_ends_the_old_key_after_the_overlap_never_later(book: KeyBook) -> None:
    old = book.create("bot", ["predict"], at=AT, lifetime=DAY)
    book.rotate(old.key.id, at=AT, overlap=DAY / 2, lifetime=DAY)
    again = book.create("bot", ["predict"], at=AT, lifetime=DAY)
    book.rotate(again.key.id, at=AT, overlap=9 * DAY, lifetime=DAY)

    ends = [key.expires_at for key in book.read()]
    assert ends == [AT + DAY / 2, AT + DAY, AT + DAY, AT + DAY]
    book.revoke(old.key.id, at=AT)
    with pytest.raises(ConfigError, match="must be alive to be rotated"):
        book.rotate(old.key.id, at=AT, overlap=DAY, lifetime=DAY)
    with pytest.raises(ConfigError, match="revoked already"):
        book.revoke(old.key.id, at=AT)


def test_every_change_has_a_line_in_the_trail(book: KeyBook, tmp_path: Path) -> None:
    made = book.create("bot", ["read"], at=AT, lifetime=DAY)
    book.rotate(made.key.id, at=AT, overlap=DAY, lifetime=DAY)
    book.revoke(made.key.id, at=AT)
    trail = AuditTrail(tmp_path)

    assert [line.kind for line in trail.lines()] == ["key created", "key rotated", "key revoked"]
    trail.path.write_bytes(trail.path.read_bytes().replace(b"bot", b"bet", 1))
    with pytest.raises(StorageError, match="audit trail"):
        trail.record("key created", at=AT, who="x\ny")


def test_names_of_the_trail_stay_on_one_line(tmp_path: Path) -> None:
    line = AuditTrail(tmp_path).record(
        "access refused", at=AT, who="a\nb\x1b[31m", detail="x" * 999
    )

    assert (line.who, len(line.detail)) == ("a?b?[31m", 200)


def test_commands_make_list_rotate_and_revoke(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*words: str) -> str:
        assert run(["--workspace", str(tmp_path), "keys", *words]) == 0
        return capsys.readouterr().out

    secret = told("create", "bot", "--scope", "read", "--scope", "predict").strip()
    (listed,) = json.loads(told("list", "--json"))
    rotated = json.loads(told("rotate", listed["id"], "--overlap", "0", "--json"))
    told("revoke", rotated["id"])

    assert secret.startswith(f"tb_{listed['id']}_")
    assert secret not in told("list") + told("list", "--json")
    assert listed["scopes"] == ["read", "predict"]
    states = [each["state"] for each in json.loads(told("list", "--json"))]
    assert states[1] == "revoked"


def test_a_secret_is_on_no_command_line(workspace: ServedWorkspace) -> None:
    """A key is made by a process and printed; a server reads hashes: no argument holds a secret."""
    help_of = [sys.executable, "-m", "tradingbot.app.cli", "serve", "--help"]
    text = subprocess.run(help_of, capture_output=True, text=True, check=True).stdout

    assert not {"--key", "--secret", "--token", "--api-key"} & set(text.split())


def test_sessions_are_listed_and_stopped_by_those_who_may(workspace: ServedWorkspace) -> None:
    folder = workspace.folder / "sessions" / "first"
    (folder / "requests").mkdir(parents=True)
    (folder / SETTINGS_FILE).write_text("{}")
    trades, reads = workspace.key("trade"), workspace.key("read")
    with client_of(workspace.parts(desk=WorkspaceSessions(workspace.folder))) as client:
        listed = client.get("/v1/sessions", headers=reads).json()
        body = {"reason": "drill", "flatten": True}
        refused = client.post("/v1/sessions/first/kill", json=body, headers=reads)
        asked = client.post("/v1/sessions/first/kill", json=body, headers=trades)
        unknown = client.post("/v1/sessions/second/kill", json=body, headers=trades)
        odd = client.post("/v1/sessions/..%2ffirst/kill", json=body, headers=trades)
        armed = client.post("/v1/sessions/first/arm", json=body, headers=trades)
        sold = client.post("/v1/sessions/first/stop", json=body, headers=trades)
        idle = client.post("/v1/sessions/first/stop", json={"reason": "drill"}, headers=trades)
        full = StorageError("disk must have room for the file", was="no space")
        with mock.patch.object(SessionFolder, "ask", side_effect=full):
            lost = client.post("/v1/sessions/first/kill", json=body, headers=trades)

    assert listed == {"sessions": [{"name": "first", "is_running": False}]}
    statuses = [each.status_code for each in (refused, asked, unknown, odd, armed)]
    assert statuses[:3] == [403, 202, 404]
    assert statuses[3] in (404, 422)
    assert statuses[4] == 422
    assert (sold.status_code, sold.json()["error"]["field"]) == (422, "flatten")
    assert (idle.status_code, idle.json()["error"]["code"]) == (409, "not_running")
    assert (lost.status_code, lost.json()["error"]["code"]) == (503, "not_asked")
    ((_, request),) = SessionFolder(folder).waiting()
    assert (request.act, request.flatten, request.reason) == ("kill", True, "drill")
    assert request.by.startswith("key ")
    assert AuditTrail(workspace.folder).lines()[-1].kind == "session asked"


def test_a_lockout_ends_and_what_is_remembered_of_wrong_keys_is_bounded() -> None:
    now = [0.0]
    lockouts = Lockouts(lambda: now[0])
    assert [lockouts.fail("10.0.0.1", "a") for _ in range(10)] == [False] * 9 + [True]
    assert lockouts.wait_s("10.0.0.1", "a") == 60.0
    assert lockouts.wait_s("10.0.0.1", "b") == lockouts.wait_s("10.0.0.2", "a") == 0.0

    now[0] = 61.0
    assert lockouts.wait_s("10.0.0.1", "a") == 0.0
    assert not lockouts.fail("10.0.0.1", "a")  # the first of a new count
    assert lockouts.wait_s("10.0.0.1", "a") == 0.0

    for number in range(10_010):
        lockouts.fail("10.0.0.3", str(number))
    assert len(lockouts._failed) == 10_000
