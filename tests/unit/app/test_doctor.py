from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tradingbot.app import doctor
from tradingbot.app.cli.application import run
from tradingbot.app.doctor import (
    DoctorCheck,
    Status,
    check_arithmetic,
    check_clock,
    check_compiler,
    check_packages,
    check_threads,
    check_workspace,
    diagnose,
    is_healthy,
)


def test_diagnose_here_covers_every_subject(tmp_path: Path) -> None:
    names = {check.name for check in diagnose(tmp_path)}

    assert {
        "tradingbot", "python", "packages", "extra plot", "extra dev", "device", "threads",
        "memory", "workspace", "disk", "clock", "time zones", "calendar",
    } <= names  # fmt: skip


def test_diagnose_check_that_raises_becomes_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> list[DoctorCheck]:
        raise ImportError("libtorch.so is gone")

    monkeypatch.setattr(doctor, "_checks", lambda workspace: [("device", broken)])

    (check,) = diagnose(tmp_path)

    assert check.status is Status.PROBLEM
    assert "libtorch.so is gone" in check.observed
    assert check.remedy


@pytest.mark.parametrize(
    ("requirement", "status", "remedy"),
    [
        ("numpy>=1.0", Status.OK, ""),
        ("numpy>=999", Status.PROBLEM, "make install"),
        ("no-such-package>=1", Status.PROBLEM, "make install"),
        ('no-such-package>=1; extra == "plot"', Status.ABSENT, "make install EXTRA=plot"),
        ('numpy>=999; extra == "plot"', Status.PROBLEM, "make install EXTRA=plot"),
    ],
)
def test_check_packages_judges_versions(requirement: str, status: Status, remedy: str) -> None:
    check = check_packages([requirement])[-1]

    assert check.status is status
    assert remedy in check.remedy


@pytest.mark.parametrize(
    ("setting", "status"),
    [
        (None, Status.OK),
        ("1", Status.OK),
        ("", Status.WARNING),
        ("many", Status.WARNING),
        ("0", Status.WARNING),
    ],
)
def test_check_threads_judges_the_variable(setting: str | None, status: Status) -> None:
    assert check_threads(setting)[0].status is status


def test_check_threads_more_than_cores_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch, "get_num_threads", lambda: 10_000)

    assert "more threads than cores" in check_threads(None)[0].remedy


def test_check_compiler_found_is_ok_and_says_where_programs_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADINGBOT_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o700)

    (check,) = check_compiler()

    assert check.status is Status.OK
    assert f"compiles; programs in {tmp_path}" in check.observed


def test_check_compiler_that_compiles_nothing_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tradingbot.market.native.library._COMPILERS", ("false",))
    monkeypatch.setenv("TRADINGBOT_CACHE_DIR", str(tmp_path))

    (check,) = check_compiler()

    assert check.status is Status.WARNING
    assert "compiles nothing" in check.observed
    assert "libc6-dev" in check.remedy


def test_check_arithmetic_finds_a_device_that_computes_wrongly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    assert check_arithmetic("cpu").status is Status.OK
    exact = torch.Tensor.__matmul__
    monkeypatch.setattr(
        torch.Tensor, "__matmul__", lambda a, b: exact(a, b) + (a.dtype == torch.float32)
    )

    check = check_arithmetic("cpu")

    assert check.status is Status.PROBLEM
    assert check.observed == "wrong results: float32"


def test_check_compiler_absent_says_that_tensors_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tradingbot.market.native.library._COMPILERS", ("no-such-compiler",))

    (check,) = check_compiler()

    assert check.status is Status.ABSENT  # slower, not broken
    assert "run as tensors" in check.observed
    assert "gcc" in check.remedy


def test_check_compiler_folder_that_others_may_write_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADINGBOT_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)

    (check,) = check_compiler()

    assert check.status is Status.WARNING
    assert "may be written by others" in check.observed


def test_check_workspace_absent_folder_is_not_made(tmp_path: Path) -> None:
    checks = check_workspace(tmp_path / "a" / "b")

    assert checks[0].status is Status.OK
    assert "will be made" in checks[0].observed
    assert list(tmp_path.iterdir()) == []


def test_check_workspace_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    (check,) = check_workspace(tmp_path / "file" / "inside")

    assert check.status is Status.PROBLEM


def test_check_workspace_unwritable_is_a_problem(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    unwritable = tmp_path if os.geteuid() else Path("/proc")  # root may write anywhere but there

    (check,) = check_workspace(unwritable)
    tmp_path.chmod(0o700)

    assert check.status is Status.PROBLEM
    assert "not writable" in check.observed


def test_check_workspace_full_disk_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_DISK_NEEDED_BYTES", 2**80)

    assert check_workspace(tmp_path)[1].status is Status.WARNING


def test_check_clock_in_the_past_is_a_problem() -> None:
    assert check_clock(datetime(1999, 1, 1, tzinfo=UTC))[0].status is Status.PROBLEM
    assert check_clock(datetime.now(UTC))[0].status is Status.OK


def test_doctor_json_agrees_with_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["--workspace", str(tmp_path), "doctor", "--json"])

    report = json.loads(capsys.readouterr().out)
    assert code == (0 if report["healthy"] else 1)
    assert all(set(check) == {"name", "status", "observed", "remedy"} for check in report["checks"])


def test_doctor_unusable_workspace_exits_1_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    assert run(["--workspace", str(tmp_path / "file" / "below"), "doctor"]) == 1

    assert "Choose another --workspace" in capsys.readouterr().out


def test_is_healthy_absent_extra_is_fine() -> None:
    assert is_healthy([DoctorCheck("a", Status.OK, ""), DoctorCheck("b", Status.ABSENT, "")])
    assert not is_healthy([DoctorCheck("a", Status.WARNING, "")])
