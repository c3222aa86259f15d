"""A disk that is full, read-only or limited: one clear line, exit code 2, nothing lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from acceptance.conftest import (
    ENTRY_POINT,
    Outcome,
    assert_refused,
    listing,
    run_process,
    write_random_bars,
)


def test_file_size_limit_is_named_and_nothing_is_lost(tmp_path: Path, workspace: Path) -> None:
    write_random_bars(tmp_path / "large.parquet", symbols=1, bars=5_000)
    before = listing(workspace)
    arguments = ["data", "import", str(tmp_path / "large.parquet"), "--name", "large"]

    outcome = run_process(
        [*arguments, "--calendar", "24/7"], workspace=workspace, before="ulimit -f 100;"
    )

    assert_refused(outcome, ("File too large", "nothing was lost", str(workspace)))
    assert listing(workspace) == before


DISK = """
set -e
mount -t tmpfs -o size=256k disk "$DISK"
export TRADINGBOT_WORKSPACE="$DISK/workspace"
"$COMMAND" data import "$GOOD" --name good --json > /dev/null
(cd "$TRADINGBOT_WORKSPACE"; find . -type f -exec sha256sum {} + | sort > "$OUTSIDE/before")
[ "$CONDITION" = full ] || mount -o remount,ro "$DISK"
set +e
"$COMMAND" data import "$LARGE" --name large --calendar 24/7 > "$OUTSIDE/out" 2> "$OUTSIDE/err"
echo $? > "$OUTSIDE/code"
(cd "$TRADINGBOT_WORKSPACE"; find . -type f -exec sha256sum {} + | sort > "$OUTSIDE/after")
"$COMMAND" data validate good --json > "$OUTSIDE/validated"
"""


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
    environment = {
        **os.environ,
        "DISK": str(disk),
        "OUTSIDE": str(tmp_path),
        "GOOD": str(good_csv),
        "LARGE": str(large),
        "COMMAND": ENTRY_POINT,
        "CONDITION": condition,
    }

    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", DISK],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stderr, (tmp_path / "before").exists()) == ("", True)
    code, out, err = (
        (tmp_path / "code").read_text(),
        (tmp_path / "out").read_text(),
        (tmp_path / "err").read_text(),
    )
    assert_refused(Outcome(int(code), out, err), (rule, str(disk), "nothing was lost"))
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text() != ""
    assert '"findings"' in (tmp_path / "validated").read_text()
