"""`tradingbot export` and `models …`: what they print, refuse and leave on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.served_runs import make_served_run
from tradingbot.app.cli.application import run


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in a workspace with the run `drawn`; return code, stdout and stderr."""
    make_served_run(tmp_path / "runs", encoder=None)

    def tradingbot(*words: str) -> tuple[int, str, str]:
        code = run(["--workspace", str(tmp_path), *words])
        return code, *capsys.readouterr()

    return tradingbot


def test_run_goes_from_export_to_paper_and_back(call: Any, tmp_path: Path) -> None:
    code, out, err = call("export", "drawn", "--out", str(tmp_path / "drawn.zip"))
    assert code == 0, err
    assert "drawn is model v1 (candidate)" in out
    assert "not evaluated" in out
    assert "no real bars were compared" in err
    assert "models promote v1" in err

    code, _, err = call("models", "promote", "v1")
    assert code == 2
    assert "must have passed the gates to be promoted, was not evaluated" in err
    for state in ("shadow", "paper"):
        words = ("--accept", "not evaluated", "--reason", "drill", "--json")
        code, out, _ = call("models", "promote", "v1", *words)
        assert (code, json.loads(out)["state"]) == (0, state)

    code, out, _ = call("models", "list", "--json")
    (version,) = json.loads(out)
    assert (version["name"], version["state"]) == ("v1", "paper")
    assert version["accepted"] == ["not evaluated", "not evaluated"]
    stored = tmp_path / "served" / "bundles" / f"{version['bundle_sha256']}.zip"
    assert stored.read_bytes() == (tmp_path / "drawn.zip").read_bytes()
    assert not [each for each in (tmp_path / "served").iterdir() if each.name.startswith(".")]

    code, out, _ = call("models", "show", "v1")
    assert code == 0
    for words in ("not evaluated, accepted", "2024-09-03 … 2024-12-31", "drill", "AAA, BBB, CCC"):
        assert words in " ".join(out.split())
    assert "7 of bars, 3 probabilities of moves" in out  # as many as `/v1/model` lists
    code, out, _ = call("models", "show", version["bundle_sha256"][:8], "--json")
    told = json.loads(out)
    assert told["manifest"]["parity"]["n_hostile"] >= 2_000
    assert "scalers" not in told["manifest"]["acting"]

    call("models", "promote", "v1", "--to", "retired")
    code, out, _ = call("models", "rollback", "v1")
    assert (code, out.split(":")[0]) == (0, "v1 is paper")


def test_verify_finds_damage_and_exits_with_1(call: Any, tmp_path: Path) -> None:
    code, out, _ = call("models", "verify")
    assert (code, out) == (0, "0 of 0 models are whole\n")
    call("export", "drawn")
    assert call("models", "verify", "v1")[:2] == (0, "1 of 1 models are whole\n")
    (bundle,) = (tmp_path / "served" / "bundles").iterdir()
    bundle.write_bytes(bundle.read_bytes()[:-1])

    code, out, _ = call("models", "verify", "--json")

    assert code == 1
    assert json.loads(out)["whole"] is False
    assert "the one that was recorded" in json.loads(out)["problems"]["v1"]


def test_empty_registry_is_listed_and_left_alone(call: Any, tmp_path: Path) -> None:
    code, _, err = call("models", "list")
    assert (code, "tradingbot" in err) == (0, True)
    assert call("models", "promote", "v1")[0] == 2
    assert call("models", "rollback")[0] == 2
    assert not (tmp_path / "served").exists()
