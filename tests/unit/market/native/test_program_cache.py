"""The cache of compiled programs belongs to the user: what others could have planted is not run."""

from __future__ import annotations

import hashlib
import os
import subprocess
import warnings
from pathlib import Path
from threading import Thread

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.market import program_cache as cache
from tradingbot.market.native import library
from tradingbot.market.program_cache import CACHE_VARIABLE, cache_folder, folder_fault

pytestmark = pytest.mark.skipif(
    library.find_compiler() is None, reason="no C compiler on this machine"
)
HONEST, PLANTED = "int answer(void) { return 42; }", "int answer(void) { return 666; }"


@pytest.fixture(autouse=True)
def _forget_refusals() -> None:
    cache._own_folder.cache_clear()


def answer_of(source: str = HONEST) -> int:
    made = library.load_library("same", lambda: source)
    assert made is not None
    return int(made.answer())


def plant(folder: Path, name: str) -> Path:
    """Leave another program with a checksum that fits, as whoever can write there could."""
    compiler = library.find_compiler()
    assert compiler is not None
    code, planted = folder / "planted.c", folder / name
    code.write_text(PLANTED)
    planted.unlink(missing_ok=True)
    subprocess.run([compiler, "-shared", "-fPIC", str(code), "-o", str(planted)], check=True)
    digest = hashlib.sha256(planted.read_bytes()).hexdigest()
    planted.with_suffix(".sha256").write_text(digest)
    return planted


def made_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Compile once in a folder; return the name of the program."""
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    assert answer_of() == 42
    (made,) = folder.glob("*.so")
    return made.name


def test_folder_is_made_private_and_its_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    before = os.umask(0)
    try:
        name = made_in(folder, monkeypatch)
    finally:
        os.umask(before)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / name).stat().st_mode & 0o022 == 0
    assert (folder / name).with_suffix(".sha256").stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_planted_program_in_a_folder_that_others_may_write_is_not_run(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    name = made_in(folder, monkeypatch)
    plant(folder, name)
    folder.chmod(mode)

    with pytest.warns(RuntimeWarning, match=r"not kept: .* may be written by others \(mode"):
        found = answer_of()

    assert found == 42
    assert folder.stat().st_mode & 0o7777 == mode  # nothing of it was touched


def test_planted_file_that_others_may_write_is_not_run_but_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    planted = plant(folder, made_in(folder, monkeypatch))
    planted.chmod(0o777)

    assert answer_of() == 42
    assert planted.stat().st_mode & 0o022 == 0


def test_link_in_the_place_of_a_program_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "cache", tmp_path / "elsewhere"
    name = made_in(folder, monkeypatch)
    elsewhere.mkdir()
    planted = plant(elsewhere, name)
    (folder / name).unlink()
    (folder / name).symlink_to(planted)
    (folder / name).with_suffix(".sha256").write_text(planted.with_suffix(".sha256").read_text())

    assert answer_of() == 42
    assert not (folder / name).is_symlink()


def test_program_whose_checksum_does_not_fit_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    name = made_in(folder, monkeypatch)
    planted = plant(folder, name)
    planted.with_suffix(".sha256").write_text("0" * 64)

    assert answer_of() == 42


def test_folder_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(tmp_path).st_uid + 1)

    with pytest.warns(RuntimeWarning, match="belongs to user"):
        folder = cache_folder()

    assert folder != tmp_path


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_no_folder_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, real = tmp_path / "cache", tmp_path / "real"
    real.mkdir(mode=0o700)
    if kind == "link":
        place.symlink_to(real)
    else:
        place.write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(place))

    with pytest.warns(RuntimeWarning, match="is not a folder, or a link to one"):
        folder = cache_folder()

    assert folder.stat().st_mode & 0o077 == 0


def test_folder_that_others_may_only_read_is_closed_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder() == tmp_path

    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert folder_fault(tmp_path) is None


def test_another_processor_is_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_in(tmp_path, monkeypatch)
    monkeypatch.setattr(library, "_processor", lambda: "another one")

    assert answer_of() == 42
    assert len([*tmp_path.glob("*.so")]) == 2


def test_programs_of_torch_lie_in_the_same_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)

    cache.keep_torch_programs()

    assert Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) == tmp_path / "inductor"
    assert Path(os.environ["TRITON_CACHE_DIR"]) == tmp_path / "triton"
    assert (tmp_path / "inductor").stat().st_mode & 0o777 == 0o700


def test_folders_that_the_user_named_for_torch_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/somewhere")
    monkeypatch.setenv("TRITON_CACHE_DIR", "/somewhere/else")

    cache.keep_torch_programs()

    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/somewhere"


def test_level_of_the_compiler_is_the_users_and_part_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    for level in ("1", "3"):
        monkeypatch.setenv(library.OPTIMISATION_VARIABLE, level)
        assert answer_of(f"int answer(void) {{ return __OPTIMIZE__ ? {level} : 0; }}") == int(level)
    assert len([*tmp_path.glob("*.so")]) == 2
    monkeypatch.delenv(library.OPTIMISATION_VARIABLE)
    assert answer_of("a program that need not be compiled: it is there at level 3") == 3
    monkeypatch.setenv(library.OPTIMISATION_VARIABLE, "fast")
    with pytest.raises(ConfigError, match=r"must be 0, 1, 2 or 3, was fast"):
        answer_of()


def test_process_that_ends_leaves_no_compiler_and_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "cc"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o700)
    monkeypatch.setattr(library, "_COMPILERS", (str(slow),))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    made: list[object] = []
    thread = Thread(target=lambda: made.append(library.load_library("slow", lambda: HONEST)))
    thread.start()
    while not library._AT_WORK and thread.is_alive():
        pass
    (compiler,) = library._AT_WORK

    library._stop_compilers()

    assert not thread.is_alive()
    assert compiler.returncode is not None
    assert made == [None]
    assert [*(tmp_path / "cache").iterdir()] == []


def test_folder_is_named_by_variable_else_lies_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for variable in (CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert cache.named_folder() == Path("/home/me/.cache/tradingbot")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache.named_folder() == Path("/caches/tradingbot")
    monkeypatch.setenv(CACHE_VARIABLE, "/programs")
    assert cache.named_folder() == Path("/programs")
