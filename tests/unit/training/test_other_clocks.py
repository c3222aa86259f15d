"""What is learned does not depend on when, where and by which clock it is."""

from __future__ import annotations

import os
import platform
import socket
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from fixtures.run_bits import fingerprint
from fixtures.tiny_training import tiny_config
from tradingbot.training.session import begin_run


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another host whose clock jumps an hour back and forth, half a year from now, down under."""
    real, calls = time.time, count()
    monkeypatch.setattr(
        time, "time", lambda: real() + 180 * 86_400 + (3_600.0 if next(calls) % 2 else -3_600.0)
    )
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    monkeypatch.setenv("TZ", "Australia/Lord_Howe")  # half an hour of summer time
    monkeypatch.setenv("HOSTNAME", "elsewhere")
    time.tzset()
    assert time.strftime("%Z", time.localtime()) not in ("UTC", "")
    yield
    monkeypatch.undo()
    time.tzset()


def test_T13_clock_zone_and_host_change_nothing_that_is_learned(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    config = tiny_config()
    here = fingerprint(begin_run(config, tmp_path / "here", name="run").run)
    request.getfixturevalue("elsewhere")
    there = fingerprint(begin_run(config, tmp_path / "there", name="run").run)

    assert os.environ["TZ"] == "Australia/Lord_Howe"
    assert there == here
