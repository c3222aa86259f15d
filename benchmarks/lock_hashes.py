"""Hashes of what the lock means: `make lock-check`, or `python benchmarks/lock_hashes.py`.

`requirements.lock` pins versions and leaves open where files come from: an index, a mirror, a wheel
in a folder, a build for other hardware. `requirements.sha256` says what each pinned version must
consist of once it is installed: one line per package and build, `name==version build sha256`. The
hash is of the wheel's own record (paths and hashes of all files that the wheel brought, without
what installers add), so that it does not depend on who installed it, and from where.

Without an option everything installed that the lock pins is compared: version, hash of the record,
and with `--files` every file on disk with the record. `--write` adds the builds of this machine.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, HASHES = ROOT / "requirements.lock", ROOT / "requirements.sha256"
_HEADER = """\
# What each version of requirements.lock consists of: name==version build sha256.
# The hash is of the wheel's record. Written by: make lock-hashes; compared by: make lock-check.
"""
_BY_INSTALLERS = re.compile(r"(^|/)(RECORD|INSTALLER|REQUESTED|direct_url\.json)$|\.pyc$|^\.\./")
"""Files that a wheel did not bring: records of installers, compiled code, scripts."""

_COMPILED_HERE = frozenset({"peewee"})
"""Packages without a wheel at the index: compiled where they are installed, by its compiler."""
_BY_COMPILERS = re.compile(r"\.so$|/WHEEL$")


@dataclass(frozen=True)
class LockCheck:
    """What was compared, and what differs."""

    compared: int
    unknown: tuple[str, ...]
    """Packages whose build has no line yet."""
    findings: tuple[str, ...]


def locked_versions(lock: Path = LOCK) -> dict[str, str]:
    """Return normalised name → version of every pin."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", lock.read_text("utf-8"), re.MULTILINE)
    return {normalise(name): version for name, version in pins}


def normalise(name: str) -> str:
    """Return a name as indexes compare it.

    Example:
        >>> normalise("Typing_Extensions")
        'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def build_of(distribution: metadata.Distribution) -> str:
    """Return which build of a version it is: the tags of its wheel, and a local version."""
    text = distribution.read_text("WHEEL") or ""
    tags = sorted(re.findall(r"^Tag: (\S+)$", text, re.MULTILINE))
    local = distribution.version.partition("+")[2]
    return ".".join([*(tags[:1] or ["sdist"]), *([local] if local else [])])


def record_sha256(distribution: metadata.Distribution) -> str:
    """Return the hash of paths and hashes of all files that the wheel brought.

    Where there is no wheel, of all but what was compiled.
    """
    is_compiled = normalise(str(distribution.metadata["Name"])) in _COMPILED_HERE
    lines = sorted(
        f"{file.as_posix()} {file.hash.mode}={file.hash.value}"
        for file in distribution.files or ()
        if file.hash is not None
        and not _BY_INSTALLERS.search(file.as_posix())
        and not (is_compiled and _BY_COMPILERS.search(file.as_posix()))
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def changed_files(distribution: metadata.Distribution) -> list[str]:
    """Return the files of a distribution that differ from its record, or are gone."""
    found = []
    for file in distribution.files or ():
        if file.hash is None or file.hash.mode != "sha256":
            continue
        path = Path(str(distribution.locate_file(file)))
        if not path.is_file():
            found.append(f"{file} is gone")
            continue
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            found.append(f"{file} was changed")
    return found


def installed(lock: Path = LOCK) -> dict[str, metadata.Distribution]:
    """Return what is installed of the lock's packages, by normalised name.

    Of the environment's own folders alone: setuptools puts copies of packages that it brings along
    on the path of whatever imports it.
    """
    pinned = locked_versions(lock)
    folders = list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))
    found = metadata.distributions(path=folders)
    every = {normalise(str(each.metadata["Name"])): each for each in found}
    return {name: every[name] for name in sorted(pinned) if name in every}


def read_hashes(hashes: Path = HASHES) -> dict[tuple[str, str], str]:
    """Return (name==version, build) → hash."""
    lines = hashes.read_text("utf-8").splitlines() if hashes.is_file() else []
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {(pin, build): digest for pin, build, digest in rows}


def check_lock(
    distributions: dict[str, metadata.Distribution],
    *,
    lock: Path = LOCK,
    hashes: Path = HASHES,
    files: bool = False,
) -> LockCheck:
    """Compare what is installed with the lock and its hashes.

    Args:
        distributions: By normalised name.
        lock: Versions.
        hashes: What versions consist of.
        files: Read every file of every package as well.
    """
    pinned, known = locked_versions(lock), read_hashes(hashes)
    findings: list[str] = []
    unknown: list[str] = []
    for name, each in distributions.items():
        pin, build = f"{name}=={pinned[name]}", build_of(each)
        if each.version.partition("+")[0] != pinned[name].partition("+")[0]:
            findings.append(f"{name}: installed {each.version}, locked {pinned[name]}")
        elif (pin, build) not in known:
            unknown.append(f"{pin} {build}")
        elif known[pin, build] != record_sha256(each):
            findings.append(f"{pin}: another content than was locked ({build})")
        if files:
            findings += [f"{name}: {problem}" for problem in changed_files(each)[:5]]
    return LockCheck(len(distributions) - len(unknown), tuple(unknown), tuple(findings))


def write_hashes(
    distributions: Iterable[tuple[str, metadata.Distribution]],
    *,
    lock: Path = LOCK,
    hashes: Path = HASHES,
) -> int:
    """Add the builds of this machine, and drop versions that the lock has no more."""
    pinned, known = locked_versions(lock), read_hashes(hashes)
    for name, each in distributions:
        if each.version.partition("+")[0] == pinned[name].partition("+")[0]:
            known[f"{name}=={pinned[name]}", build_of(each)] = record_sha256(each)
    pins = {f"{name}=={version}" for name, version in pinned.items()}
    rows = [(*key, known[key]) for key in sorted(known) if key[0] in pins]
    text = "".join(f"{' '.join(row)}\n" for row in rows)
    hashes.write_text(_HEADER + text, encoding="utf-8")
    return len(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write; leaves with 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="add the builds of this machine")
    parser.add_argument("--files", action="store_true", help="read every installed file as well")
    given = parser.parse_args(arguments)
    found = installed()
    if given.write:
        print(f"{write_hashes(found.items())} builds in {HASHES.name}")
        return 0
    checked = check_lock(found, files=given.files)
    print(f"{checked.compared} packages compared, {len(checked.findings)} differ")
    for line in checked.findings:
        print(f"  {line}")
    if checked.unknown:
        print(f"no hash yet of {len(checked.unknown)} builds: {', '.join(checked.unknown[:5])}")
    return 1 if checked.findings else 0


if __name__ == "__main__":
    sys.exit(main())
