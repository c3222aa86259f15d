"""Which nodes compute the same: one digit, one byte of any packaged file, one version is enough."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tradingbot.cluster import code_version as module
from tradingbot.cluster.code_version import CodeVersion, code_version, files_sha256

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "src" / "tradingbot"
SHIPPED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]["package-data"]["tradingbot"]


def test_version_of_this_process_is_its_own() -> None:
    ours = code_version()

    assert ours.differences(ours) == ""
    assert ours.sources_sha256 == files_sha256(PACKAGE)
    assert ours.benchmarks_sha256 is not None
    assert dict(ours.packages)["torch"]


@pytest.mark.parametrize("place", [0, 11, 12, 40, 63])
@pytest.mark.parametrize("name", ["sources", "benchmarks"])
def test_another_digit_anywhere_is_told_apart(name: str, place: int) -> None:
    ours = code_version()
    field = f"{name}_sha256"
    digits = getattr(ours, field)
    other = digits[:place] + ("0" if digits[place] != "0" else "1") + digits[place + 1 :]

    assert ours._replace(**{field: other}).differences(ours) == f"{name} {other}, not {digits}"


@pytest.mark.parametrize("name", ["optuna", "skfolio", "scipy", "scikit-learn", "lightgbm"])
def test_another_version_of_what_workers_use_is_told_apart(name: str) -> None:
    ours = code_version()
    have = dict(ours.packages)[name]
    for other in ("0.0.1", None):
        theirs = ours._replace(packages=tuple((dict(ours.packages) | {name: other}).items()))

        told = "" if other == have else f"{name} {other}, not {have}"
        assert theirs.differences(ours) == told


@pytest.mark.parametrize("pattern", ["domain/*.py", *SHIPPED])
def test_one_byte_of_any_kind_of_packaged_file_is_told_apart(pattern: str, tmp_path: Path) -> None:
    copies = []
    for path in sorted(PACKAGE.glob(pattern)):
        copies.append(tmp_path / path.relative_to(PACKAGE))
        copies[-1].parent.mkdir(parents=True, exist_ok=True)
        copies[-1].write_bytes(path.read_bytes())
    before = files_sha256(tmp_path)

    for copy in copies:
        text = copy.read_bytes()
        copy.write_bytes(text + b" ")
        assert files_sha256(tmp_path) != before
        copy.write_bytes(text)
    copies[0].rename(copies[0].with_name("renamed"))
    assert files_sha256(tmp_path) != before


def test_what_only_one_machine_has_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "code.py").touch()
    before = files_sha256(tmp_path)
    for name in ("__pycache__/code.cpython-311.pyc", ".mypy_cache/seen.json", ".DS_Store"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("of this machine")

    assert files_sha256(tmp_path) == before


def test_benchmarks_that_are_not_installed_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = code_version()
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    theirs: CodeVersion = code_version.__wrapped__()

    assert theirs.differences(ours) == f"benchmarks None, not {ours.benchmarks_sha256}"
