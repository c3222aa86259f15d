"""Datasets on disk: identity, names, damage, kill and a full disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fixtures.killed_writes import kill_at_every_write
from tradingbot.data.atomic import file_sha256
from tradingbot.data.manifest import Provenance
from tradingbot.data.schema import BAR_COLUMNS, COVARIATE_COLUMNS
from tradingbot.data.store import BarStore, content_hash, verify_dataset
from tradingbot.domain.errors import DataError, SchemaError, StorageError
from tradingbot.domain.seeding import stream

PROVENANCE = Provenance(provider="synthetic", detail={"seed": 1}, synthetic=True)
START = datetime(2024, 1, 2, 15, 30, tzinfo=UTC)


def make_bars(rows: int = 40, seed: int = 0, symbols: tuple[str, ...] = ("A", "B")) -> pl.DataFrame:
    rng = stream(seed, "store-tests")
    times = [START + timedelta(hours=hour) for hour in range(rows)]
    parts = []
    for symbol in symbols:
        close = 100 * np.exp(np.cumsum(rng.normal(0, 0.01, rows)))
        prices = {"open": close, "high": close * 1.01, "low": close * 0.99, "close": close}
        parts.append(
            pl.DataFrame(
                {"symbol": [symbol] * rows, "closed_at": times, "known_at": times, **prices,
                 "volume": rng.random(rows), "vwap": close}, schema=BAR_COLUMNS,
            )
        )  # fmt: skip
    return pl.concat(parts)


def make_covariates() -> pl.DataFrame:
    return pl.DataFrame(
        {"symbol": ["A"], "name": ["sentiment"], "available_at": [START], "value": [0.25]},
        schema=COVARIATE_COLUMNS,
    )


@pytest.fixture
def store(tmp_path):
    return BarStore(tmp_path / "workspace")


def test_save_and_open_by_name_and_hash_gives_the_same_values(store):
    quarantine = make_bars(2).with_columns(code=pl.lit("X"), reason=pl.lit("bad"))
    saved = store.save(make_bars(), PROVENANCE, name="mine", covariates=make_covariates(),
                       quarantine=quarantine)  # fmt: skip
    for reference in ("mine", saved.id, saved.id[:6]):
        opened = store.open(reference)
        assert opened.load_bars().equals(make_bars())
        assert opened.load_covariates().equals(make_covariates())
        assert opened.load_quarantine().equals(quarantine)
    manifest = saved.manifest
    assert (manifest.rows, manifest.quarantined_rows) == (80, 4)
    assert (manifest.symbols, manifest.covariates) == (("A", "B"), ("sentiment",))
    assert manifest.first_closed_at == START
    assert manifest.provenance == PROVENANCE


def test_save_same_content_twice_is_one_dataset(store):
    first = store.save(make_bars(), PROVENANCE, name="one")
    second = store.save(make_bars(), PROVENANCE, name="two")
    assert first.id == second.id
    assert len(store.datasets()) == 1
    assert store.names() == {"one": first.id, "two": first.id}


def test_save_revised_bars_keeps_the_old_dataset(store):
    old = store.save(make_bars(seed=0), PROVENANCE, name="mine")
    new = store.save(make_bars(seed=1), PROVENANCE, name="mine")
    assert store.open("mine").id == new.id != old.id
    assert store.open(old.id).load_bars().equals(make_bars(seed=0))


@pytest.mark.parametrize(
    "change",
    [
        lambda b, c, p: (b.with_columns(close=pl.col("close").round(3)), c, p),
        lambda b, c, p: (b.with_columns(pl.col("symbol").replace({"B": "C"})), c, p),
        lambda b, c, p: (b.with_columns(pl.col("known_at") + timedelta(seconds=1)), c, p),
        lambda b, c, p: (b.head(-1), c, p),
        lambda b, c, p: (b, c.with_columns(value=pl.lit(0.5)), p),
        lambda b, c, p: (b, c.head(0), p),
        lambda b, c, p: (b, c, p.model_copy(update={"adjustment": "none"})),
        lambda b, c, p: (b, c, p.model_copy(update={"detail": {"seed": 2}})),
    ],
)
def test_content_hash_changes_with_every_part_of_the_content(change):
    original = (make_bars(), make_covariates(), PROVENANCE)
    assert content_hash(*original) == content_hash(make_bars(), make_covariates(), PROVENANCE)
    assert content_hash(*change(*original)) != content_hash(*original)


def nudged(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The frame with one cell of a column changed a little."""
    by_kind = {
        pl.String: pl.col(column) + "X",
        pl.Datetime: pl.col(column).cast(pl.Int64).add(1).cast(frame.schema[column]),
        pl.Float64: pl.col(column) + 1e-9,
    }
    new = by_kind[frame.schema[column].base_type()]
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    return frame.with_columns(pl.when(is_last).then(new).otherwise(pl.col(column)).alias(column))


@pytest.mark.parametrize("column", BAR_COLUMNS)
def test_content_hash_covers_every_column_of_the_bars(column):
    args = (make_covariates(), PROVENANCE)
    assert content_hash(nudged(make_bars(), column), *args) != content_hash(make_bars(), *args)


@pytest.mark.parametrize("column", COVARIATE_COLUMNS)
def test_content_hash_covers_every_column_of_the_covariates(column):
    original = content_hash(make_bars(), make_covariates(), PROVENANCE)
    assert content_hash(make_bars(), nudged(make_covariates(), column), PROVENANCE) != original


def test_content_hash_does_not_depend_on_chunks():
    bars = make_bars()
    chunked = pl.concat([bars.head(3), bars.tail(-3)], rechunk=False)
    args = (make_covariates(), PROVENANCE)
    assert content_hash(chunked, *args) == content_hash(bars, *args)


def test_save_refuses_frames_that_break_the_schema(store):
    bars = make_bars()
    broken = [
        bars.reverse(),
        pl.concat([bars, bars]).sort("symbol", "closed_at"),
        bars.drop("vwap"),
        bars.with_columns(pl.col("volume").cast(pl.Float32)),
        bars.with_columns(close=pl.lit(None, dtype=pl.Float64)),
        bars.with_columns(known_at=pl.col("closed_at") - timedelta(seconds=1)),
        bars.with_columns(pl.col("closed_at").dt.replace_time_zone(None)),
    ]
    for frame in broken:
        with pytest.raises(SchemaError):
            store.save(frame, PROVENANCE)
    with pytest.raises(DataError, match="must have a bar"):
        store.save(bars.head(0), PROVENANCE)
    twice = pl.concat([make_covariates()] * 2)
    with pytest.raises(SchemaError, match="covariates to store"):
        store.save(bars, PROVENANCE, covariates=twice)
    assert store.datasets() == []


@pytest.mark.parametrize("name", ["../escape", "a\n", "UPPER", "", "a/b", ".hidden", "x" * 65])
def test_save_under_an_unsafe_name_is_refused(store, name):
    with pytest.raises(DataError, match="dataset name must be"):
        store.save(make_bars(), PROVENANCE, name=name)
    assert store.datasets() == []


def test_open_unknown_reference_suggests_or_says_what_to_run(store):
    with pytest.raises(DataError, match="tradingbot data generate"):
        store.open("mine")
    store.save(make_bars(), PROVENANCE, name="mine")
    with pytest.raises(DataError, match="Did you mean 'mine'"):
        store.open("mime")
    with pytest.raises(DataError):
        store.open("")


def test_open_ambiguous_prefix_is_refused(store):
    for seed in range(20):
        store.save(make_bars(3, seed), PROVENANCE)
    digits = [dataset.id[0] for dataset in store.datasets()]
    shared = next(digit for digit in digits if digits.count(digit) > 1)
    with pytest.raises(DataError, match="hash prefix of one"):
        store.open(shared)


@pytest.mark.parametrize("file", ["bars.parquet", "covariates.parquet", "quarantine.parquet"])
def test_load_damaged_file_is_a_storage_error(store, file):
    saved = store.save(make_bars(), PROVENANCE, name="mine")
    load = {"bars.parquet": saved.load_bars, "covariates.parquet": saved.load_covariates,
            "quarantine.parquet": saved.load_quarantine}[file]  # fmt: skip
    content = bytearray((saved.folder / file).read_bytes())
    content[len(content) // 2] ^= 1
    (saved.folder / file).write_bytes(content)
    with pytest.raises(StorageError, match=r"match its manifest.*import again"):
        load()
    (saved.folder / file).unlink()
    with pytest.raises(StorageError, match="must be readable"):
        load()


def test_open_damaged_manifest_is_a_storage_error(store):
    saved = store.save(make_bars(), PROVENANCE, name="mine")
    manifest = saved.folder / "manifest.json"
    for text in ("", "{", json.dumps({"version": 3})):
        manifest.write_text(text)
        with pytest.raises(StorageError, match="manifest must be readable"):
            store.open("mine")


def edit_manifest(dataset, **changes: object) -> None:
    path = dataset.folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def make_version_1(dataset) -> None:
    """What older versions wrote: the same without a seal."""
    path = dataset.folder / "manifest.json"
    content = json.loads(path.read_text()) | {"version": 1}
    del content["sha256"]
    path.write_text(json.dumps(content))


EDITS: dict[str, object] = {
    "provenance": {**PROVENANCE.model_dump(mode="json"), "timeframe": "3h"},
    "symbols": ["A"],
    "rows": 79,
    "quarantined_rows": 1,
    "first_closed_at": "2020-01-01T00:00:00Z",
    "files": {},
    "content_sha256": "0" * 64,
}


@pytest.mark.parametrize("field", EDITS)
@pytest.mark.parametrize("version", [1, 2])
def test_open_refuses_a_manifest_of_which_one_field_was_edited(store, field, version):
    saved = store.save(make_bars(), PROVENANCE, name="mine")
    if version == 1:
        make_version_1(saved)
        assert store.open("mine").load_bars().equals(make_bars())
    edit_manifest(saved, **{field: EDITS[field]})
    with pytest.raises(StorageError, match=r"manifest must be|stored file must"):
        store.open("mine")


def test_open_refuses_a_manifest_that_is_whole_but_of_another_dataset(store):
    mine, other = store.save(make_bars(), PROVENANCE), store.save(make_bars(seed=1), PROVENANCE)
    shutil.copy(other.folder / "manifest.json", mine.folder / "manifest.json")
    with pytest.raises(StorageError, match=f"as it was written, was that of {other.id}"):
        store.open(mine.id)


def test_verify_names_every_file_that_is_not_as_it_was_written(store):
    saved = store.save(make_bars(), PROVENANCE, name="mine")
    assert set(verify_dataset(store.find("mine")).values()) == {"whole"}
    (saved.folder / "covariates.parquet").unlink()
    (saved.folder / "quarantine.parquet").write_bytes(b"")
    found = verify_dataset(store.find("mine"))
    assert "must be readable" in found["covariates.parquet"]
    assert "match its manifest" in found["quarantine.parquet"]
    assert found["bars.parquet"] == found["manifest.json"] == "whole"
    edit_manifest(saved, rows=1)
    assert "edited" in verify_dataset(store.find("mine"))["manifest.json"]


def test_verify_compares_bars_with_the_hash_that_names_them(store):
    """Seal and file hashes are right, the content is another: an edit by a careful hand."""
    saved = store.save(make_bars(), PROVENANCE, name="mine")
    (saved.folder / "bars.parquet").unlink()
    make_bars(seed=1).write_parquet(saved.folder / "bars.parquet")
    stored = saved.manifest.files["bars.parquet"].model_copy(
        update={"sha256": file_sha256(saved.folder / "bars.parquet")}
    )
    files = {**saved.manifest.files, "bars.parquet": stored}
    forged = saved.manifest.model_copy(update={"files": files}).sealed()
    (saved.folder / "manifest.json").write_text(forged.model_dump_json())
    assert "something else" in verify_dataset(store.find("mine"))["manifest.json"]


# Imports once, then forks a fresh writer for each line it is sent: start-up is what costs time.
NURSERY = """
    import os, sys
    from pathlib import Path
    sys.path[:0] = [sys.argv[2], str(Path(sys.argv[2]).parents[1])]
    from test_store import PROVENANCE, BarStore, make_bars
    for line in sys.stdin:
        writer = os.fork()
        if not writer:
            break
        print(writer, flush=True)
        os.waitpid(writer, 0)
        print("died", flush=True)
    else:
        sys.exit()
    store = BarStore(Path(sys.argv[1]))
    for turn in range(10**9):
        provenance = PROVENANCE.model_copy(update={"detail": {"turn": int(line) + turn}})
        store.save(make_bars(60, turn % 8), provenance, name="latest")
        if not turn:
            print("first saved", flush=True)
"""


def test_killed_saves_leave_only_whole_datasets_and_the_next_completes(store):
    """32 real kills at random instants; after each, everything that opens is whole."""
    arguments = [sys.executable, "-c", textwrap.dedent(NURSERY), str(store.root)]
    nursery = subprocess.Popen(
        [*arguments, str(Path(__file__).parent)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    verified: set[str] = set()
    interrupted = 0
    for kill, delay_s in enumerate(stream(11, "kill-times").uniform(0, 0.05, size=32)):
        nursery.stdin.write(f"{kill * 10**6}\n")
        writer = int(nursery.stdout.readline())
        assert nursery.stdout.readline() == "first saved\n"
        time.sleep(delay_s)
        os.kill(writer, signal.SIGKILL)
        assert nursery.stdout.readline() == "died\n"
        interrupted += any((store.root / "datasets").glob(".tmp-*"))
        for dataset in store.datasets():
            if dataset.id not in verified:
                assert dataset.load_bars().height == 120
                assert dataset.load_covariates().is_empty()
                verified.add(dataset.id)
        if store.names():
            assert store.open("latest").id in verified
    nursery.stdin.close()
    assert nursery.wait() == 0
    nursery.stdout.close()
    done = store.save(make_bars(), PROVENANCE, name="latest")
    assert store.open("latest").id == done.id
    assert not any(store.root.glob("*/.tmp-*"))
    assert len(verified) >= 32
    assert interrupted, "no kill ever hit a write"


def test_save_killed_at_any_write_keeps_every_dataset_whole(store, tmp_path):
    store.save(make_bars(5), PROVENANCE, name="mine")
    kills = 0
    for root, was_killed in kill_at_every_write(
        store.root,
        tmp_path / "killed",
        lambda root: BarStore(root).save(make_bars(5, seed=1), PROVENANCE, name="mine"),
    ):
        kills += was_killed
        found = BarStore(root)
        for dataset in found.datasets():
            assert set(verify_dataset(dataset.folder).values()) == {"whole"}
        assert found.open("mine").load_bars().height == 10
        found.save(make_bars(5, seed=1), PROVENANCE, name="mine")
        assert found.open("mine").load_bars().equals(make_bars(5, seed=1))
        assert not list(root.rglob(".tmp-*"))
    assert kills >= 10


def test_save_on_a_full_disk_keeps_the_old_dataset(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if mount is None or os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a tiny disk is not allowed here")
    try:
        store = BarStore(folder)
        old = store.save(make_bars(20), PROVENANCE, name="mine")
        with pytest.raises(StorageError, match=r"must have room.*nothing was lost"):
            store.save(make_bars(5000), PROVENANCE, name="mine")
        assert store.open("mine").id == old.id
        assert store.open("mine").load_bars().equals(make_bars(20))
        assert [dataset.id for dataset in store.datasets()] == [old.id]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_save_over_the_file_size_limit_keeps_the_old_dataset(tmp_path):
    """The same without the right to mount: the system refuses to let a file grow."""
    store = BarStore(tmp_path)
    old = store.save(make_bars(20), PROVENANCE, name="mine")
    code = """
        import resource, signal, sys
        from pathlib import Path
        sys.path[:0] = [sys.argv[2], str(Path(sys.argv[2]).parents[1])]
        from test_store import PROVENANCE, BarStore, make_bars, StorageError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            BarStore(Path(sys.argv[1])).save(make_bars(5000), PROVENANCE, name="mine")
        except StorageError as e:
            print(e)
    """
    arguments = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    ran = subprocess.run(
        [*arguments, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    assert "size limit, was File too large" in ran.stdout
    assert store.open("mine").id == old.id
    assert len(store.datasets()) == 1
