"""The error boundary: what leaves the process, with which code and how many lines."""

from __future__ import annotations

import base64
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import typer

from tradingbot import __version__
from tradingbot.app.cli import application
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.domain.errors import DataError

ENTRY_POINT = Path(sys.executable).parent / "tradingbot"

PLANTED = '''
import os, signal, sys, time
import typer
from tradingbot.app.cli import application
from tradingbot.app.console import print_json, print_note, print_table

app = typer.Typer()

@app.command("long")
def long_output():
    """Print a lot."""
    for number in range(200_000):
        print(number)

@app.command("table")
def long_table():
    """Print a long table."""
    print_table("t", ["n"], [("x" * 90,) for n in range(3_000)])

@app.command("document")
def long_document():
    """Print a long document."""
    print_json(list(range(200_000)))

@app.command("wait")
def wait():
    """Wait to be interrupted."""
    print_note("ready")
    time.sleep(30)

application.COMMAND_MODULES = ((None, __name__),)
application.main()
'''


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch):
    """Return a function that makes `tradingbot fail` raise what it is given."""

    def install(error: BaseException) -> None:
        commands = typer.Typer()

        @commands.command("fail")
        def fail(context: typer.Context, as_json: JsonOption = False) -> None:
            """Raise."""
            invocation_of(context)
            raise error

        name = f"planted_commands_{uuid4().hex}"  # commands of a module are assembled once
        monkeypatch.setitem(sys.modules, name, type(sys)(name))
        monkeypatch.setattr(sys.modules[name], "app", commands, raising=False)
        modules = (*application.COMMAND_MODULES, (None, name))
        monkeypatch.setattr(application, "COMMAND_MODULES", modules)

    return install


def test_user_error_gives_one_line_and_2(plant, capsys: pytest.CaptureFixture[str]) -> None:
    plant(DataError("price must be positive", was=-1, where="a.csv:3", remedy="Mend it"))

    assert application.run(["fail"]) == 2

    captured = capsys.readouterr()
    assert captured.err == "error: price must be positive, was -1 (a.csv:3). Mend it.\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            DataError("price must be positive", was=-1, where="a.csv:3", remedy="Mend it"),
            2,
            {
                "rule": "price must be positive",
                "was": "-1",
                "where": "a.csv:3",
                "remedy": "Mend it",
            },
        ),
        (KeyError("oops"), 70, {}),
    ],
)
def test_error_is_a_json_document_where_that_is_asked_for(
    plant, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: object
) -> None:
    plant(error)

    assert application.run(["fail", "--json"]) == code

    captured = capsys.readouterr()
    document = json.loads(captured.err)
    assert isinstance(document.pop("error"), str)
    assert (document, captured.out) == (said, "")


def test_remedy_of_a_json_document_names_the_workspace_that_was_given(
    plant, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(DataError("bars must be there", remedy="Make them: tradingbot data generate"))

    assert application.run(["--workspace", "my bars", "fail", "--json"]) == 2

    remedy = json.loads(capsys.readouterr().err)["remedy"]
    assert remedy == "Make them: tradingbot --workspace 'my bars' data generate"


def test_usage_error_is_a_json_document_where_that_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert application.run(["doctr", "--json"]) == 2
    assert "Did you mean 'doctor'?" in json.loads(capsys.readouterr().err)["error"]


@pytest.mark.parametrize("words", [["-h"], ["data", "-h"], ["data", "list", "-h"]])
def test_short_option_shows_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert application.run(words) == 0
    shown = capsys.readouterr().out
    assert "Usage: tradingbot" in shown
    assert "<bool>" not in shown


def test_bug_gives_70_and_how_to_report(plant, capsys: pytest.CaptureFixture[str]) -> None:
    plant(KeyError("oops\nsecond line"))

    assert application.run(["fail"]) == 70

    error = capsys.readouterr().err
    assert error.startswith(f"error: this is a bug in tradingbot {__version__}: KeyError")
    assert "--debug" in error
    assert error.count("\n") == 1
    assert "Traceback" not in error


EXHAUSTED = {
    "memory": (MemoryError(), "the work must fit into memory, was more."),
    "array": (MemoryError("Unable to allocate 7 TiB"), "was Unable to allocate 7 TiB. Take fewer"),
    "tensor": (
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 8 bytes"),
        "the work must fit into memory",
    ),
    "shape": (RuntimeError("Storage size calculation overflowed"), "must fit into memory"),
    "depth": (RecursionError("maximum recursion depth"), "must not be nested so deeply"),
    "number": (OverflowError("int too large to convert"), "a number must be of a size"),
    "long name": (
        OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300),
        "a name must be short enough for the disk, was 300 characters (xxxx",
    ),
    "permission": (
        PermissionError(errno.EACCES, "Permission denied", "/etc/shadow"),
        "a file must be usable, was permission denied (/etc/shadow). See that",
    ),
}


@pytest.mark.parametrize("name", EXHAUSTED)
def test_machine_that_has_no_more_to_give_is_one_line_and_2(
    name: str, plant, capsys: pytest.CaptureFixture[str]
) -> None:
    error, message = EXHAUSTED[name]
    plant(error)

    assert application.run(["fail"]) == 2

    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert "this is a bug" not in said


def test_error_without_a_file_is_still_a_bug(plant) -> None:
    plant(ConnectionResetError("peer"))

    assert application.run(["fail"]) == 70


@pytest.mark.parametrize("options", [[], ["--debug"]])
def test_secret_of_the_environment_is_in_no_error_and_no_traceback(
    options: list[str], plant, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C11: whatever raises, in whatever encoding."""
    monkeypatch.setenv("APCA_API_SECRET_KEY", "s3cr3t-KEY/0987")
    encoded = base64.b64encode(b"me:s3cr3t-KEY/0987").decode()
    plant(KeyError(f"s3cr3t-KEY/0987 S3CR3T-key%2F0987 {encoded} http://me:pa55@host"))

    assert application.run([*options, "fail"]) == 70

    said = capsys.readouterr().err
    assert said.count("***") >= 4
    for shown in ("0987", "s3cr3t", encoded[:12], "pa55"):
        assert shown not in said


@pytest.mark.parametrize("way", ["option", "variable"])
def test_debug_shows_the_traceback(
    way: str, plant, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(ZeroDivisionError("x"))
    if way == "variable":
        monkeypatch.setenv("TRADINGBOT_DEBUG", "1")

    assert application.run(["--debug", "fail"] if way == "option" else ["fail"]) == 70

    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_interrupt_gives_130(
    error: BaseException, plant, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(error)

    assert application.run(["fail"]) == 130

    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 1, 2])
def test_exit_code_of_a_command_is_kept(code: int, plant) -> None:
    plant(typer.Exit(code))

    assert application.run(["fail"]) == code


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["doctr"], "Did you mean 'doctor'?"),
        (["doctor", "--jsn"], "--json"),
        (["config", "shw"], "Did you mean 'show'?"),
        (["config", "check"], "Missing argument"),
        (["doctor", "surplus"], "surplus"),
        (["--workspace"], "--workspace"),
        (["--workspace", "", "doctor"], "must name a folder"),
    ],
)
def test_usage_error_gives_one_line_and_2(
    arguments: list[str], fragment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert application.run(arguments) == 2

    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert fragment in error


def test_no_arguments_shows_help_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert application.run([]) == 2

    captured = capsys.readouterr()
    assert "Usage: tradingbot" in captured.out
    assert captured.err == ""


def test_version_option_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert application.run(["--version"]) == 0

    assert capsys.readouterr().out == f"tradingbot {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tradingbot.app.cli import application; "
        "assert application.run(['--help']) == 0; "
        "heavy = {'torch', 'polars', 'pandas', 'pydantic', 'pyarrow', 'numpy', 'matplotlib'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_has_help_with_an_example() -> None:
    without = [path for path, text in command_helps() if f"tradingbot {path}" not in text]

    assert without == []


def command_helps() -> Iterator[tuple[str, str]]:
    """Every command as typed, and its help text."""
    root = typer.main.get_command(application.build_application())
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        verbs = getattr(command, "commands", None)
        if verbs is None:
            yield name, command.help or ""
        else:
            yield from ((f"{name} {verb}", below.help or "") for verb, below in verbs.items())


@pytest.mark.parametrize("command", ["long", "table", "document"])
def test_reader_that_leaves_is_no_error(command: str, tmp_path: Path) -> None:
    script = tmp_path / "planted.py"
    script.write_text(PLANTED)

    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" {script} {command} | head -1; echo ${{PIPESTATUS[0]}}'],
        # Unbuffered, Python itself loses what a short write leaves over, and sees no error.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "141"


def test_interrupt_signal_gives_130_without_traceback(tmp_path: Path) -> None:
    script = tmp_path / "planted.py"
    script.write_text(PLANTED)
    with subprocess.Popen(
        [sys.executable, str(script), "wait"],
        stderr=subprocess.PIPE,
        text=True,
        # A suite in the background of a shell ignores the signal, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        rest = process.stderr.read()

    assert process.returncode == 130
    assert "Traceback" not in rest
    assert rest.count("\n") <= 1


def test_installed_entry_point_answers() -> None:
    done = subprocess.run([ENTRY_POINT, "--version"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, f"tradingbot {__version__}\n")


@pytest.mark.parametrize("form", [["--workspace", "{}"], ["--workspace={}"]])
def test_workspace_may_stand_after_the_noun(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [each.format(tmp_path / "mine") for each in form]

    assert application.run(["runs", "list", *words, "--debug"]) == 0

    assert f"no run in {tmp_path / 'mine' / 'runs'}" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_output_to_a_full_disk_is_one_line_and_2() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tradingbot.app.cli", "universe", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: output must fit on its disk")


def test_closed_output_is_no_bug() -> None:
    command = f"{sys.executable} -m tradingbot.app.cli universe list --json >&- 2>&-"

    assert subprocess.run(command, shell=True, check=False).returncode == 0
