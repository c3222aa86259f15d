"""Malformed inputs through the real command line: one clear line, exit code 2, nothing lost."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from acceptance.conftest import (
    HEADER,
    Outcome,
    assert_refused,
    bar_rows,
    csv_text,
    listing,
    run_process,
)

ROWS = bar_rows()
Prepare = Callable[[Path, Path], list[str]]
"""Makes the bad thing in a folder (or damages the workspace) and returns the arguments."""


@dataclass(frozen=True)
class Case:
    """A malformed input and what its message must name: the value, the place or the rule."""

    prepare: Prepare
    fragments: tuple[str, ...]


def importing(
    content: str | bytes, *options: str, name: str = "bad.csv", fragments: tuple[str, ...]
) -> Case:
    """Import a file of this content."""

    def prepare(folder: Path, workspace: Path) -> list[str]:
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
        return ["data", "import", str(folder / name), "--name", "bad", *options]

    return Case(prepare, fragments)


def calling(*arguments: str, fragments: tuple[str, ...]) -> Case:
    """Call a command that needs no file."""
    return Case(lambda folder, workspace: list(arguments), fragments)


def configured(text: str, *fragments: str, verb: str = "check") -> Case:
    """Read a configuration of this text."""

    def prepare(folder: Path, workspace: Path) -> list[str]:
        (folder / "case.yaml").write_text(text)
        return ["config", verb, str(folder / "case.yaml")]

    return Case(prepare, ("case.yaml", *fragments))


def parquet_bytes() -> bytes:
    frame = pl.DataFrame(ROWS, schema=HEADER.split(","), orient="row")
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return bytes(buffer.getvalue())


def mixed_folder(folder: Path, workspace: Path) -> list[str]:
    mixed = folder / "mixed"
    mixed.mkdir()
    (mixed / "AAPL.csv").write_text(csv_text(ROWS))
    (mixed / "MSFT.parquet").write_bytes(parquet_bytes())
    return ["data", "import", str(mixed), "--name", "bad"]


def moved(hours: int) -> str:
    """The good bars, stamped some hours later."""
    step = timedelta(hours=hours)
    stamps = [datetime.fromisoformat(row[0]) + step for row in ROWS]
    rows = zip(stamps, ROWS, strict=True)
    return csv_text([[f"{at:%Y-%m-%dT%H:%M:%SZ}", *row[1:]] for at, row in rows])


def clock_bars() -> str:
    """Hourly bars of four whole days, stamped at their start."""
    stamps = [datetime(2024, 6, 1) + timedelta(hours=hour) for hour in range(96)]  # noqa: DTZ001
    return csv_text([[f"{at:%Y-%m-%dT%H:%M:%SZ}", *ROWS[0][1:]] for at in stamps])


def with_sentiment(content: str | bytes | None, *options: str) -> Prepare:
    """Import good bars with a sentiment file of this content; None for none."""

    def prepare(folder: Path, workspace: Path) -> list[str]:
        (folder / "bars.csv").write_text(csv_text(ROWS))
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            (folder / "mood.csv").write_bytes(data)
        bars, mood = str(folder / "bars.csv"), str(folder / "mood.csv")
        return ["data", "import", bars, "--name", "bad", "--sentiment", mood, *options]

    return prepare


def damage(file: str, content: bytes | None, *arguments: str) -> Prepare:
    """Overwrite (or cut short) a file of the stored dataset, then call a command."""

    def prepare(folder: Path, workspace: Path) -> list[str]:
        (path,) = (workspace / "datasets").glob(f"*/{file}")
        path.write_bytes(path.read_bytes()[:-20] if content is None else content)
        return list(arguments)

    return prepare


def split_beyond_data(folder: Path, workspace: Path) -> list[str]:
    config = folder / "case.yaml"
    config.write_text(
        "extends: demo\nsplits:\n  train: 2023-12-31\n  validation: 2024-03-31\n"
        "  test: 2024-04-30\n"
    )
    return ["data", "split", "good", "--config", str(config)]


def file_as_workspace(folder: Path, workspace: Path) -> list[str]:
    (folder / "a-file").write_text("not a folder")
    return ["--workspace", str(folder / "a-file"), "data", "list"]


BACKWARDS = csv_text([ROWS[1], ROWS[0], *ROWS[2:]])
TWICE = csv_text([ROWS[0], [*ROWS[0][:5], "100.05", "7"], *ROWS[1:]])
NAIVE = csv_text([[row[0].rstrip("Z"), *row[1:]] for row in ROWS])
DAILY_MOOD = "date,symbol,sentiment\n2024-06-24,AAPL,0.1\n2024-06-25,AAPL,0\n"
SECRET = "PKABCDEF123456"

CASES: dict[str, Case] = {
    # The workspace
    "workspace_is_a_file": Case(file_as_workspace, ("must be a folder", "a-file")),
    "uncertified_panel": calling(
        "features", "show", "good", fragments=("manifest", "features build")
    ),
    # The file
    "missing_file": calling(
        "data", "import", "gone.csv", "--name", "bad", fragments=("must exist", "gone.csv")
    ),
    "empty_file": importing("", fragments=("must not be empty", "0 bytes", "bad.csv")),
    "header_only": importing(HEADER + "\n", fragments=("at least 2 rows", "was 0", "bad.csv")),
    "one_row": importing(csv_text(ROWS[:1]), fragments=("at least 2 rows", "was 1")),
    "wrong_columns": importing(
        csv_text(ROWS, header="a,b,c,d,e,f,g"), fragments=("'timestamp'", "a, b, c", "bad.csv")
    ),
    "missing_column": importing(
        csv_text(ROWS, header=HEADER.replace("close", "last")), fragments=("'close'", "last")
    ),
    "repeated_column": importing(
        csv_text(ROWS, header=HEADER.replace("open", "close")), fragments=("must differ", "close")
    ),
    "wrong_delimiter": importing(
        csv_text(ROWS).replace(",", ";"), fragments=("--delimiter ';'", "bad.csv")
    ),
    "long_delimiter": importing(
        csv_text(ROWS), "--delimiter", ";;", fragments=("one character", "';;'")
    ),
    "ragged_line": importing(
        csv_text(ROWS) + "2024-07-01,AAPL\n", fragments=("7 cells", "bad.csv")
    ),
    "not_utf8": importing(
        csv_text(ROWS).replace("AAPL", "\xc4APL").encode("latin-1"), fragments=("bad.csv",)
    ),
    "truncated_parquet": importing(
        parquet_bytes()[:-100], name="bad.parquet", fragments=("to its end", "bad.parquet")
    ),
    "text_called_parquet": importing(
        csv_text(ROWS), name="bad.parquet", fragments=("to its end", "bad.parquet")
    ),
    "truncated_gz": importing(
        gzip.compress(csv_text(ROWS).encode())[:-40],
        name="bad.csv.gz",
        fragments=("to its end", "bad.csv.gz"),
    ),
    "unknown_kind": importing("x", name="bad.xlsx", fragments=("one kind", ".parquet", "bad.xlsx")),
    "mixed_folder": Case(mixed_folder, ("one kind", "AAPL.csv", "MSFT.parquet")),
    # What stands in it
    "naive_times": importing(NAIVE, fragments=("zone", "2024-06-24", "bad.csv")),
    "impossible_time": importing(
        csv_text(ROWS, cell=(3, "timestamp", "2024-06-31T13:30:00Z")), fragments=("2024-06-31",)
    ),
    "unsorted": importing(BACKWARDS, fragments=("in order of time", "row 2", "AAPL", "--sort")),
    "duplicate_other_values": importing(TWICE, fragments=("AAPL", "2024-06-24")),
    "negative_price": importing(
        csv_text(ROWS, cell=(3, "low", "-1.5")), fragments=("-1.5", "AAPL", "2024-06-24")
    ),
    "text_in_numbers": importing(
        csv_text(ROWS, cell=(4, "close", "n/a")), fragments=("a number", "n/a", "row 5")
    ),
    "nan_close_strict": importing(
        csv_text(ROWS, cell=(3, "close", "nan")), "--strict", fragments=("AAPL", "2024-06-24")
    ),
    "infinite_close_strict": importing(
        csv_text(ROWS, cell=(3, "close", "inf")), "--strict", fragments=("AAPL", "2024-06-24")
    ),
    "formula_symbol": importing(
        csv_text(ROWS, cell=(0, "symbol", "=cmd()")), fragments=("symbol must be", "'=cmd()'")
    ),
    "path_symbol": importing(
        csv_text(ROWS, cell=(0, "symbol", "../../etc")), fragments=("symbol must be", "'../../etc'")
    ),
    "foreign_symbol": importing(
        csv_text(bar_rows(["AAPL", "ZZZQ"])),
        "--universe",
        "us143",
        fragments=("universe us143", "ZZZQ"),
    ),
    "wanted_symbol_absent": importing(
        csv_text(ROWS), "--symbols", "AAPL,MSTF", fragments=("'MSTF'", "Did you mean 'MSFT'?")
    ),
    "sentiment_of_the_day": Case(
        with_sentiment(DAILY_MOOD), ("available_at", "mood.csv", "look-ahead")
    ),
    "sentiment_minutes_after_midnight": Case(
        with_sentiment(DAILY_MOOD, "--sentiment-delay", "5m"),
        ("mood.csv", "2024-06-24 00:05", "--sentiment-delay 1d"),
    ),
    "sentiment_missing": Case(with_sentiment(None), ("must exist", "mood.csv")),
    "sentiment_utf16": Case(
        with_sentiment(DAILY_MOOD.encode("utf-16")), ("must be UTF-8 text", "mood.csv")
    ),
    "sentiment_parquet_called_csv": Case(
        with_sentiment(parquet_bytes()), ("This is a Parquet file", "mood.csv")
    ),
    "bars_an_hour_early": importing(
        moved(-1), fragments=("when its session opens", "AAPL in 4 of 4", "--time-zone")
    ),
    "openings_called_closes": importing(
        csv_text(ROWS), "--stamps", "close", fragments=("AAPL in 4 of 4", "--stamps open")
    ),
    "openings_called_closes_24_7": importing(
        clock_bars(),
        "--stamps",
        "close",
        "--calendar",
        "24/7",
        fragments=("2024-06-01 00:00Z to 2024-06-04 23:00Z", "--stamps open"),
    ),
    "crypto_without_calendar": importing(clock_bars(), fragments=("--calendar 24/7", "bad.csv")),
    "repeated_row_strict": importing(
        csv_text([ROWS[0], *ROWS]), "--strict", fragments=("DUPLICATE_ROW", "AAPL", "2024-06-24")
    ),
    "bars_utf16": importing(
        csv_text(ROWS).encode("utf-16"), fragments=("must be UTF-8 text", "bad.csv")
    ),
    "parquet_called_csv": importing(
        parquet_bytes(), fragments=("This is a Parquet file", "bad.csv")
    ),
    # How it was asked for
    "unknown_universe": importing(
        csv_text(ROWS), "--universe", "us134", fragments=("us134", "Did you mean 'us143'?")
    ),
    "bad_timeframe": importing(csv_text(ROWS), "--timeframe", "hourly", fragments=("'hourly'",)),
    "bad_grid": importing(csv_text(ROWS), "--grid", "sesion", fragments=("--grid", "'sesion'")),
    "bad_stamps": importing(csv_text(ROWS), "--stamps", "end", fragments=("--stamps", "'end'")),
    "bad_adjustment": importing(
        csv_text(ROWS), "--adjustment", "splits", fragments=("--adjustment", "'splits'")
    ),
    "bad_map": importing(csv_text(ROWS), "--map", "close", fragments=("--map", "'close'")),
    "map_unknown_field": importing(csv_text(ROWS), "--map", "clse=close", fragments=("'clse'",)),
    "map_unknown_column": importing(csv_text(ROWS), "--map", "close=adj", fragments=("'adj'",)),
    "bad_zone": importing(NAIVE, "--time-zone", "Mars/Base", fragments=("Mars/Base",)),
    "bad_zone_beside_stamps_with_one": importing(
        csv_text(ROWS), "--time-zone", "Amerca/New_York", fragments=("'America/New_York'?",)
    ),
    "bad_calendar": importing(csv_text(ROWS), "--calendar", "XNYX", fragments=("XNYX",)),
    "wrong_grid": importing(
        csv_text(ROWS), "--grid", "clock", fragments=("clock grid", "--grid session")
    ),
    "bad_name": importing(csv_text(ROWS), "--name", "../up", fragments=("dataset name", "'../up'")),
    # Markets
    "unknown_market": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--market",
        "noize",
        fragments=("noize", "Did you mean 'noise'?"),
    ),
    "unknown_parameter": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--market",
        "planted",
        "--set",
        "kapa=0.1",
        fragments=("kapa", "Did you mean 'kappa'?"),
    ),
    "nan_parameter": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--market",
        "planted",
        "--set",
        "kappa=nan",
        fragments=("kappa", "nan"),
    ),
    "parameter_out_of_range": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--market",
        "planted",
        "--set",
        "phi=2",
        fragments=("phi", "2"),
    ),
    "text_parameter": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--market",
        "planted",
        "--set",
        "phi=much",
        fragments=("phi", "much"),
    ),
    "end_before_start": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--start",
        "2024-06-03",
        "--end",
        "2024-06-01",
        fragments=("2024-06-03", "2024-06-01"),
    ),
    "impossible_day": calling(
        "data", "generate", "--name", "bad", "--start", "2024-02-30", fragments=("2024-02-30",)
    ),
    "negative_seed": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--universe",
        "prototype10",
        "--seed",
        "-1",
        fragments=("seed", "-1"),
    ),
    "no_session": calling(
        "data",
        "generate",
        "--name",
        "bad",
        "--universe",
        "prototype10",
        "--start",
        "2024-06-01",
        "--end",
        "2024-06-02",
        fragments=("trading session",),
    ),
    "oracle_of_real_bars": calling("market", "oracle", "good", fragments=("synthetic", "csv")),
    "oracle_unknown_rule": calling(
        "market", "oracle", "--rule", "long", fragments=("--rule", "'long'")
    ),
    "oracle_negative_cost": calling("market", "oracle", "--cost-bps=-1", fragments=("--cost-bps",)),
    # What is stored
    "dataset_unknown": calling("data", "validate", "god", fragments=("'god'", "'good'")),
    "dataset_malformed": calling("data", "show", "../good", fragments=("'../good'",)),
    "dataset_empty": calling("features", "build", "", fragments=("dataset must be",)),
    "damaged_manifest": Case(
        damage("manifest.json", b"{", "data", "list"), ("manifest must be readable", "datasets")
    ),
    "manifest_not_text": Case(
        damage("manifest.json", b"\xff\xfe", "data", "show", "good"), ("manifest must be readable",)
    ),
    "damaged_bars": Case(
        damage("bars.parquet", None, "data", "validate", "good"),
        ("match its manifest", "bars.parquet"),
    ),
    "replaced_bars": Case(
        damage("bars.parquet", parquet_bytes(), "features", "build", "good"),
        ("match its manifest", "bars.parquet"),
    ),
    "data_too_short": calling("features", "build", "good", fragments=("must",)),
    "split_beyond_data": Case(split_beyond_data, ("2024",)),
    "universe_day": calling("universe", "show", "us143", "--as-of", "now", fragments=("now",)),
    # Configurations
    "config_missing": calling(
        "features", "build", "good", "--config", "gone.yaml", fragments=("gone.yaml",)
    ),
    "config_unknown_preset": calling(
        "demo", "--config", "dmo", fragments=("'dmo'", "Did you mean 'demo'?")
    ),
    "config_bad_yaml": configured("market: {name: noise\nproof: 3\n", ":2", "valid YAML"),
    "config_tab": configured("market:\n\tname: noise\n", ":2", "tab"),
    "config_duplicate_key": configured("proof:\n  seed: 3\n  seed: 4\n", ":3", "'seed'"),
    "config_typo": configured(
        "costs:\n  slipage_frac: 0.1\n", ":2", "Did you mean 'slippage_frac'?"
    ),
    "config_unit": configured("costs:\n  slippage_frac: 20\n", ":2", "20", "fraction"),
    "config_yes_is_no_bool": configured("quality:\n  strict: yes\n", ":2", "'yes'"),
    "config_nan": configured("costs:\n  slippage_frac: .nan\n", ":2", "nan"),
    "config_end_before_start": configured("market:\n  start: 2026-01-01\n", "end must be after"),
    "config_window_beyond_data": configured(
        "market:\n  name: noise\n  start: 2025-09-01\nquality:\n  trailing_bars: 9000\n",
        ":5",
        "9000",
    ),
    "config_python_object": configured("proof: !!python/object:os.system {}\n", ":1", "tags"),
    "config_secret": configured(
        f"market:\n  params:\n    api_key: {SECRET}\n", ":3", "'api_key'", verb="show"
    ),
    "config_is_a_folder": calling("config", "check", "/tmp/", fragments=("/tmp",)),
    # The command line itself
    "workspace_empty": Case(
        lambda folder, workspace: ["--workspace", "", "data", "list"], ("--workspace", "empty")
    ),
    "missing_option": calling("data", "import", "good.csv", fragments=("--name",)),
    "trailing_bars_zero": calling(
        "data", "validate", "good", "--trailing-bars", "0", fragments=("--trailing-bars",)
    ),
    "unknown_vendor": calling(
        "data",
        "download",
        "--source",
        "alpac",
        "--name",
        "bad",
        "--start",
        "2024-06-03",
        "--end",
        "2024-06-04",
        fragments=("'alpac'", "Did you mean 'alpaca'?"),
    ),
    "download_end_before_start": calling(
        "data",
        "download",
        "--source",
        "yfinance",
        "--name",
        "bad",
        "--start",
        "2024-06-05",
        "--end",
        "2024-06-04",
        fragments=("2024-06-04",),
    ),
}


def selected(workspace: Path) -> dict[str, bytes]:
    """Every file but panels: a panel is whole or absent, and may be kept for later."""
    found = listing(workspace).items()
    return {name: content for name, content in found if not name.startswith("panels")}


def test_cases_are_many_and_differ() -> None:
    assert len(CASES) >= 80
    assert all(any(case.fragments) for case in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_malformed_input_is_refused_in_one_line_and_nothing_is_lost(
    name: str, tmp_path: Path, workspace: Path, command: Callable[[list[str]], Outcome]
) -> None:
    arguments = CASES[name].prepare(tmp_path, workspace)
    before = selected(workspace)

    outcome = command(arguments)

    assert_refused(outcome, CASES[name].fragments)
    assert SECRET not in outcome.err
    assert selected(workspace) == before


PROCESS_CASES = (
    "empty_file", "truncated_parquet", "naive_times", "damaged_bars", "config_python_object",
)  # fmt: skip


@pytest.mark.parametrize("name", PROCESS_CASES)
def test_installed_command_refuses_in_one_line(name: str, tmp_path: Path, workspace: Path) -> None:
    arguments = CASES[name].prepare(tmp_path, workspace)
    before = selected(workspace)

    outcome = run_process(arguments, workspace=workspace)

    assert_refused(outcome, CASES[name].fragments)
    assert selected(workspace) == before


@pytest.mark.parametrize("keys", [{}, {"APCA_API_KEY_ID": "", "APCA_API_SECRET_KEY": SECRET}])
def test_alpaca_without_keys_is_refused_before_anything_is_written(
    keys: dict[str, str], workspace: Path, command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("APCA_API_KEY_ID", "APCA_API_SECRET_KEY"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in keys.items():
        monkeypatch.setenv(variable, value)
    before = listing(workspace)

    outcome = command(
        [
            "data",
            "download",
            "--source",
            "alpaca",
            "--name",
            "bad",
            "--start",
            "2024-06-03",
            "--end",
            "2024-06-04",
        ]
    )

    assert_refused(outcome, ("APCA_API_KEY_ID",))
    assert SECRET not in outcome.err
    assert listing(workspace) == before
