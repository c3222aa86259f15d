"""F9, F10, F11: files without end, numbers and names beyond measure: one line, exit code 2.

Nothing here may wait for a file that never answers: a watchdog ends a test that does.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from acceptance.conftest import HEADER, Outcome, assert_refused, bar_rows, csv_text
from fixtures.small_runs import make_run
from tradingbot.data.memory import available_bytes

LONG = "x" * 300
MANY_DIGITS = str(10**30)
Prepare = Callable[[Path], list[str]]


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """Interrupt what reads on and on."""

    def bark(*_: object) -> None:
        raise TimeoutError("it waits, or reads, without end")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(folder: Path, name: str) -> str:
    os.mkfifo(folder / name)
    return str(folder / name)


def endless(folder: Path, name: str) -> str:
    (folder / name).symlink_to("/dev/zero")
    return str(folder / name)


READERS: dict[str, Callable[[str], list[str]]] = {
    "bars.csv": lambda file: ["data", "import", file, "--name", "bad"],
    "bars.parquet": lambda file: ["data", "import", file, "--name", "bad"],
    "config.yaml": lambda file: ["config", "check", file],
    "train.yaml": lambda file: ["train", "--preset", file],
    "evaluate.yaml": lambda file: ["evaluate", "one", "--preset", file],
    "gates.yaml": lambda file: ["gates", "one", "--gates", file],
    "bench.json": lambda file: ["gates", "one", "--bench", file],
    "universe.csv": lambda file: ["universe", "show", file],
    "members.csv": lambda file: ["data", "generate", "--name", "bad", "--universe", file],
    "plugin.py": lambda file: ["--plugin", file, "data", "list"],
}
"""Name of a file → command that reads it."""


@pytest.mark.parametrize("make", [pipe, endless], ids=["pipe", "device"])
@pytest.mark.parametrize("name", READERS)
def test_special_file_is_refused_without_being_read(
    name: str,
    make: Callable[[Path, str], str],
    tmp_path: Path,
    workspace: Path,
    command: Callable[[list[str]], Outcome],
) -> None:
    make_run(workspace / "runs", "one")

    outcome = command(READERS[name](make(tmp_path, name)))

    assert_refused(outcome, ("a pipe" if make is pipe else "a device", name))


def test_special_file_as_the_name_of_a_dataset_is_passed_over(
    workspace: Path, command: Callable[[list[str]], Outcome]
) -> None:
    pipe(workspace / "names", "pipe")
    endless(workspace / "names", "zero")

    outcome = command(["data", "show", "zero"])

    assert_refused(outcome, ("dataset must be a stored name", "'zero'"))
    assert command(["data", "list"]).code == 0


def test_line_without_end_is_refused_before_it_is_parsed(
    tmp_path: Path, command: Callable[[list[str]], Outcome]
) -> None:
    rows = csv_text(bar_rows())
    (tmp_path / "line.csv").write_text(HEADER + "\n" + "1," * (1 << 20) + "\n" + rows)
    (tmp_path / "head.csv").write_text("a," * (1 << 20))

    for name in ("line.csv", "head.csv"):
        outcome = command(["data", "import", str(tmp_path / name), "--name", "bad"])
        assert_refused(outcome, ("lines must be at most 1,048,576 bytes", name))


@pytest.mark.parametrize("name", ["bars.csv", "bars.parquet"])
def test_file_that_memory_cannot_hold_is_refused_before_it_is_parsed(
    name: str,
    tmp_path: Path,
    command: Callable[[list[str]], Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "bars.csv").write_text(csv_text(bar_rows()))
    pl.read_csv(tmp_path / "bars.csv").write_parquet(tmp_path / "bars.parquet")
    monkeypatch.setattr("tradingbot.data.memory.available_bytes", lambda: 1_000)

    outcome = command(["data", "import", str(tmp_path / name), "--name", "bad"])

    assert_refused(outcome, ("file must fit into memory", "of 0.0 GiB", name, "Split it"))


def test_limits_of_machine_and_process_bound_what_is_available() -> None:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    free = available_bytes()
    assert free is not None
    try:
        resource.setrlimit(resource.RLIMIT_AS, (2**36, limits[1]))
        assert 0 < (available_bytes() or 0) <= 2**36
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


NAMES = (
    ("data", "show", LONG),
    ("features", "show", LONG),
    ("runs", "show", LONG),
    ("runs", "compare", LONG, LONG),
    ("evaluate", LONG),
    ("gates", LONG),
    ("gates", "one", "--gates", LONG),
    ("gates", "one", "--bench", LONG),
    ("backtest", LONG),
    ("backtest", "macd", "--market", LONG),
    ("backtest", "macd", "--market", "noise", "--trades", LONG),
    ("data", "import", LONG, "--name", "bad"),
    ("data", "generate", "--name", LONG),
    ("data", "generate", "--name", "bad", "--universe", f"{LONG}.csv"),
    ("data", "generate", "--name", "bad", "--timeframe", LONG),
    ("universe", "show", LONG),
    ("config", "check", f"{LONG}.yaml"),
    ("--plugin", f"{LONG}.py", "data", "list"),
    ("train", "--preset", LONG),
    ("supervised", "show", LONG),
)


@pytest.mark.parametrize("arguments", NAMES, ids=lambda words: " ".join(words).replace(LONG, "…"))
def test_name_of_300_characters_is_one_short_line(
    arguments: tuple[str, ...], workspace: Path, command: Callable[[list[str]], Outcome]
) -> None:
    make_run(workspace / "runs", "one")

    outcome = command(list(arguments))

    assert_refused(outcome, ())
    assert len(outcome.err) < 800


@pytest.mark.parametrize(
    "arguments",
    [
        ("data", "show", "a\ud800b"),
        ("data", "generate", "--name", "\udcff"),
        ("backtest", "macd", "--trades", "\udc80.csv"),
    ],
)
def test_bytes_that_are_no_text_are_refused(
    arguments: tuple[str, ...], command: Callable[[list[str]], Outcome]
) -> None:
    outcome = command(list(arguments))

    assert_refused(outcome, ("an argument must be text", "\\ud"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("data", "validate", "good", "--trailing-bars", MANY_DIGITS),
        ("data", "generate", "--name", "bad", "--seed", MANY_DIGITS),
        ("data", "generate", "--name", "bad", f"--seed=-{MANY_DIGITS}"),
        ("evaluate", "one", "--set", f"walk_forward.window_days={MANY_DIGITS}"),
        ("backtest", "macd", "--market", "noise", "--delay", MANY_DIGITS),
    ],
)
def test_number_beyond_64_bits_is_refused_by_its_option(
    arguments: tuple[str, ...], command: Callable[[list[str]], Outcome]
) -> None:
    outcome = command(list(arguments))

    where = arguments[-1].partition("=")[0] if "=" in arguments[-1] else arguments[-2]
    assert_refused(outcome, ("a whole number must be below 2^63", where))


def test_largest_seed_is_none(command: Callable[[list[str]], Outcome]) -> None:
    outcome = command(["data", "show", "gone", "--seed", str(2**63 - 1)])

    assert_refused(outcome, ("No such option",))


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        (json.dumps([{"name": "x", "value": 10**400}]), "as the value of 'x'"),
        ('[{"name": "x", "value": ' + "9" * 5_000 + "}]", "4300"),
        ('[{"name": "x", "value": "much"}]', "'much' as the value"),
        ("{bad", "no JSON in line 1"),
    ],
    ids=["deep", "400 digits", "5000 digits", "text", "damaged"],
)
def test_benchmarks_that_no_machine_wrote_are_refused(
    content: str,
    fragment: str,
    tmp_path: Path,
    workspace: Path,
    command: Callable[[list[str]], Outcome],
) -> None:
    make_run(workspace / "runs", "one")
    (tmp_path / "bench.json").write_text(content)

    outcome = command(["gates", "one", "--bench", str(tmp_path / "bench.json")])

    assert_refused(outcome, ("benchmarks must be the JSON", fragment, "bench.json"))


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        (f"quality:\n  trailing_bars: {MANY_DIGITS}\n", (":2", "below 2^63")),
        (f"proof:\n  seed: {'9' * 5_000}\n", (":2", "fewer digits")),
        ("[" * 200 + "]" * 200, ("nested at most 20 deep",)),
        ("- a\n- b\n", ("a mapping of keys to values, was a list",)),
        ("demo\n", ("a mapping of keys to values, was a single value",)),
        ("", ("was nothing",)),
    ],
    ids=["10^30", "5000 digits", "deep", "list", "value", "empty"],
)
def test_configuration_beyond_measure_is_refused_by_line(
    text: str,
    fragments: tuple[str, ...],
    tmp_path: Path,
    command: Callable[[list[str]], Outcome],
) -> None:
    (tmp_path / "case.yaml").write_text(text)

    assert_refused(command(["config", "check", str(tmp_path / "case.yaml")]), fragments)
