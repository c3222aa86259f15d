"""A disk that is full, read-only or limited: one clear line, exit code 2, nothing lost."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from acceptance.conftest import (
    Outcome,
    assert_refused,
    listing,
    run_process,
    write_random_bars,
)
from fixtures.small_disk import FOLLOW_STEPS
from fixtures.warm_process import run_warm


def test_file_size_limit_is_named_and_nothing_is_lost(tmp_path: Path, workspace: Path) -> None:
    write_random_bars(tmp_path / "large.parquet", symbols=1, bars=5_000)
    before = listing(workspace)
    arguments = ["data", "import", str(tmp_path / "large.parquet"), "--name", "large"]

    outcome = run_process(
        [*arguments, "--calendar", "24/7"], workspace=workspace, before="ulimit -f 100;"
    )

    assert_refused(outcome, ("File too large", "nothing was lost", str(workspace)))
    assert listing(workspace) == before


def can_mount() -> bool:
    """Tell whether this user may mount a small disk in a namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    script = 'mount -t tmpfs -o size=64k disk "$0"'
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", script, "/mnt"], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk to fill")
@pytest.mark.parametrize(
    ("condition", "rule"), [("full", "must have room"), ("read-only", "must be writable")]
)
def test_disk_that_refuses_is_named_and_nothing_is_lost(
    condition: str, rule: str, tmp_path: Path, good_csv: Path
) -> None:
    disk, large = tmp_path / "disk", tmp_path / "large.parquet"
    disk.mkdir()
    write_random_bars(large, symbols=1, bars=10_000)
    workspace = ["--workspace", str(disk / "workspace")]
    files, importing = "workspace/**/*", ["data", "import", str(large)]
    steps = [
        ["run", "good", *workspace, "data", "import", str(good_csv), "--name", "good", "--json"],
        ["hash", "before", files],
        *([] if condition == "full" else [["remount", "ro"]]),
        ["run", "large", *workspace, *importing, "--name", "large", "--calendar", "24/7"],
        ["hash", "after", files],
        ["run", "validated", *workspace, "data", "validate", "good", "--json"],
    ]

    done = run_warm([str(disk), "256k", str(tmp_path), json.dumps(steps)], function=FOLLOW_STEPS)

    assert done == (0, "", "")
    assert (tmp_path / "good.code").read_text() == "0"
    code, out, err = (
        (tmp_path / "large.code").read_text(),
        (tmp_path / "large.out").read_text(),
        (tmp_path / "large.err").read_text(),
    )
    assert_refused(Outcome(int(code), out, err), (rule, str(disk), "nothing was lost"))
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text() != ""
    assert '"findings"' in (tmp_path / "validated.out").read_text()
