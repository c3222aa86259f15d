"""Hashes of the lock: another content, another version and a changed file are found."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

import lock_hashes  # noqa: E402 - a script beside the package, found by the line above


def install(
    folder: Path,
    content: bytes = b"x = 1\n",
    *,
    version: str = "1.0",
    installer: str = "pip",
    compiled: bytes = b"",
) -> metadata.Distribution:
    """Lay a package out as installers do."""
    about = folder / f"thing-{version}.dist-info"
    about.mkdir(parents=True)
    files = {
        "thing/__init__.py": content,
        "thing/fast.so": compiled,
        f"{about.name}/METADATA": f"Name: Thing\nVersion: {version}\n".encode(),
        f"{about.name}/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{about.name}/INSTALLER": installer.encode(),
    }
    rows = []
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}")
    (about / "RECORD").write_text("\n".join([*rows, f"{about.name}/RECORD,,"]) + "\n")
    return metadata.Distribution.at(about)


@pytest.fixture
def lock(tmp_path: Path) -> dict[str, Path]:
    """A lock of one package, and the hash of what is installed of it."""
    places = {"lock": tmp_path / "requirements.lock", "hashes": tmp_path / "requirements.sha256"}
    places["lock"].write_text("# pins\nThing==1.0\n")
    lock_hashes.write_hashes([("thing", install(tmp_path / "first"))], **places)
    return places


def test_same_wheel_by_another_installer_is_the_same(tmp_path: Path, lock: dict[str, Path]) -> None:
    other = install(tmp_path / "second", installer="another")

    checked = lock_hashes.check_lock({"thing": other}, files=True, **lock)

    assert (checked.compared, checked.findings, checked.unknown) == (1, (), ())


def test_same_version_with_other_content_is_found(tmp_path: Path, lock: dict[str, Path]) -> None:
    other = install(tmp_path / "second", b"import os\n")

    checked = lock_hashes.check_lock({"thing": other}, **lock)

    assert checked.findings == ("thing==1.0: another content than was locked (py3-none-any)",)


def test_what_is_compiled_where_it_is_installed_is_compared_by_its_sources(
    tmp_path: Path, lock: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    for name, compiled, content in (
        ("first_built", b"1", b"x = 1\n"),
        ("again", b"2", b"x = 1\n"),
        ("other", b"1", b"x = 2\n"),
    ):
        made[name] = install(tmp_path / name, content, compiled=compiled)
    monkeypatch.setattr(lock_hashes, "_COMPILED_HERE", {"thing"})

    first, again, other = map(lock_hashes.record_sha256, made.values())

    assert first == again != other


def test_other_version_is_found(tmp_path: Path, lock: dict[str, Path]) -> None:
    other = install(tmp_path / "second", version="1.1")

    checked = lock_hashes.check_lock({"thing": other}, **lock)

    assert checked.findings == ("thing: installed 1.1, locked 1.0",)


def test_build_for_other_hardware_is_named_and_allowed(
    tmp_path: Path, lock: dict[str, Path]
) -> None:
    other = install(tmp_path / "second", b"y = 2\n", version="1.0+cu130")

    checked = lock_hashes.check_lock({"thing": other}, **lock)

    assert checked.findings == ()
    assert checked.unknown == ("thing==1.0 py3-none-any.cu130",)
    assert lock_hashes.write_hashes([("thing", other)], **lock) == 2
    assert lock_hashes.check_lock({"thing": other}, **lock).unknown == ()


def test_file_that_was_changed_or_is_gone_is_found(tmp_path: Path, lock: dict[str, Path]) -> None:
    other = install(tmp_path / "second")
    (tmp_path / "second" / "thing" / "__init__.py").write_text("import os\n")
    (tmp_path / "second" / "thing-1.0.dist-info" / "INSTALLER").unlink()

    assert lock_hashes.check_lock({"thing": other}, **lock).findings == ()
    checked = lock_hashes.check_lock({"thing": other}, files=True, **lock)

    assert checked.findings == (
        "thing: thing/__init__.py was changed",
        "thing: thing-1.0.dist-info/INSTALLER is gone",
    )


def test_version_that_left_the_lock_leaves_the_hashes(
    tmp_path: Path, lock: dict[str, Path]
) -> None:
    lock["lock"].write_text("thing==1.1\n")

    assert lock_hashes.write_hashes([], **lock) == 0


def test_packages_of_this_environment_are_those_that_were_locked() -> None:
    checked = lock_hashes.check_lock(lock_hashes.installed())

    assert checked.findings == ()


def test_copies_that_setuptools_brings_along_are_not_what_is_installed() -> None:
    import setuptools  # noqa: F401  # puts its copies on the path

    found = lock_hashes.installed()

    assert not any("_vendor" in str(each.locate_file("")) for each in found.values())


def test_every_pin_has_a_hash_but_those_of_other_systems() -> None:
    hashed = {pin.partition("==")[0] for pin, _ in lock_hashes.read_hashes()}
    missing = lock_hashes.locked_versions().keys() - hashed

    assert missing <= {"pydantic-settings"}  # that no extra brings on this system


@pytest.mark.parametrize("verb", ["lock-check", "lock-hashes", "sbom", "vulnerabilities"])
def test_make_knows_the_verbs(verb: str) -> None:
    done = subprocess.run(["make", "-n", verb], cwd=ROOT, capture_output=True, text=True)

    assert "benchmarks/" in done.stdout
