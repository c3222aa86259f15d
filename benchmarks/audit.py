"""Security audit of the checkout: `make audit`, or `python benchmarks/audit.py`.

Five parts, each with a line: rules of secure code (ruff's S), secrets in files under version
control, installed packages against the lock and its hashes, known vulnerabilities of the locked
packages (asked of osv.dev; skipped with the reason where it cannot be reached), and a bill of
materials (CycloneDX) of what is installed. `--only` runs one. Leaves with 1 where a part found
something, with 0 otherwise; a part that was skipped finds nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import lock_hashes  # a script beside this one

ROOT = Path(__file__).resolve().parents[1]
OSV = "https://api.osv.dev/v1/querybatch"
SPEC_VERSION = "1.6"
_MOST_BYTES = 2_000_000
_TIMEOUT_S = 20.0

SECRETS = {
    "private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "AWS key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "Alpaca key": re.compile(r"\b(?:PK|AK(?!IA)|CK)[0-9A-Z]{18}\b"),
    "GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_\w{50,}\b"),
    "Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{20,}"),
    "Google key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "JSON web token": re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    "password in an address": re.compile(
        r"[a-z]{3,8}://[^\s/:@\"'{}]+:(?P<value>[^\s/@\"'{}]{8,})@"
    ),
}
"""Kind → what it looks like; where there is a group `value`, that must be random too."""
ASSIGNED = re.compile(
    r"(?i)(?:secret|token|passw(?:or)?d|api_?key|credential)\w*[\"']?\s*[:=]\s*"
    r"[\"'](?P<value>[A-Za-z0-9+/=_-]{16,})[\"']"
)
"""A name that means a secret with a quoted value; one that is random enough is a finding."""
RANDOM_BITS = 3.6
"""Entropy per character from which a value is no word: hexadecimal digits have 4, English 2 to 3.5
in values of this length."""
ACCEPTED: dict[str, str] = {}
"""Id of a vulnerability → why it does not concern this product."""


@dataclass(frozen=True)
class AuditResult:
    """What a part found."""

    part: str
    findings: tuple[str, ...] = ()
    words: str = ""
    """What was looked at, or why it was skipped."""

    @property
    def line(self) -> str:
        """One line: verdict, part, words."""
        verdict = f"{len(self.findings)} found" if self.findings else "clean"
        verdict = "SKIPPED" if self.words.startswith("skipped") else verdict
        return f"{verdict}: {self.part}. {self.words}"


def check_code(root: Path = ROOT) -> AuditResult:
    """Run ruff's security rules over all sources that ship."""
    command = [sys.executable, "-m", "ruff", "check", "--select", "S", "--ignore", "S101,S603"]
    command += ["--output-format", "concise", "--no-cache", "src", "benchmarks", "examples"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if re.search(r": S\d+ ", line)]
    if done.returncode not in (0, 1):
        return AuditResult("code", words=f"skipped: {done.stderr.strip()[:120]}")
    words = "Ruff's security rules over src, benchmarks, examples."
    return AuditResult("code", tuple(found), words)


def scan_secrets(root: Path = ROOT) -> AuditResult:
    """Look for secrets in every text file under version control."""
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode:
        return AuditResult("secrets", words="skipped: this is no checkout of git.")
    names = [name.decode() for name in done.stdout.split(b"\0") if name]
    found = [line for name in names for line in secrets_in(root / name, name)]
    return AuditResult("secrets", tuple(found), f"{len(names):,} files under version control.")


def secrets_in(path: Path, name: str) -> Iterator[str]:
    """Yield file, line and kind of what looks like a secret in a file; never the value."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size > _MOST_BYTES:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if "audit: no secret" in line:
            continue
        for kind, pattern in SECRETS.items():
            for match in pattern.finditer(line):
                value = match.groupdict().get("value")
                if value is None or entropy_bits(value) >= RANDOM_BITS:
                    yield f"{name}:{number}: {kind}"
        if any(entropy_bits(m["value"]) >= RANDOM_BITS for m in ASSIGNED.finditer(line)):
            yield f"{name}:{number}: value of a secret's name"


def entropy_bits(text: str) -> float:
    """Return the entropy of a text's characters, bits per character.

    Example:
        >>> entropy_bits("aaaa"), entropy_bits("abcd")
        (0.0, 2.0)
    """
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) + 0.0


def check_installed() -> AuditResult:
    """Compare what is installed with the versions of the lock and their hashes."""
    checked = lock_hashes.check_lock(lock_hashes.installed())
    words = f"{checked.compared} installed packages as locked"
    if checked.unknown:
        words += f"; builds without a hash yet: {len(checked.unknown)} ({checked.unknown[0]} …)"
    return AuditResult("lock", checked.findings, f"{words}.")


def check_vulnerabilities(lock: Path = ROOT / "requirements.lock", url: str = OSV) -> AuditResult:
    """Ask osv.dev for what is known about every locked version."""
    packages = locked_packages(lock)
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in packages
    ]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(  # noqa: S310 - a constant https address, or a test's own
        url, data=body, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:  # noqa: S310
            results = json.load(reply)["results"]
    except (OSError, ValueError, KeyError, urllib.error.URLError) as e:
        host = url.split("/")[2]
        reason = " ".join(str(getattr(e, "reason", e)).split())[:120]
        return AuditResult("vulnerabilities", words=f"skipped: {host} cannot be asked ({reason}).")
    found = [
        f"{name} {version}: {known['id']}"
        for (name, version), result in zip(packages, results, strict=True)
        for known in result.get("vulns", [])
        if known["id"] not in ACCEPTED
    ]
    return AuditResult("vulnerabilities", tuple(found), f"{len(packages)} locked packages.")


def locked_packages(lock: Path) -> list[tuple[str, str]]:
    """Return name and version of every pin of a constraints file."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", lock.read_text("utf-8"), re.MULTILINE)
    return [(name, version) for name, version in pins]


def write_bill(out: Path) -> AuditResult:
    """Write a bill of materials of the installed distributions, CycloneDX as JSON."""
    components = [component_of(each) for each in _distributions()]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "tradingbot"}},
        "components": components,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    unlicensed = [each["name"] for each in components if "licenses" not in each]
    words = f"{len(components)} components in {out}; without a licence: {len(unlicensed)}."
    return AuditResult("bill of materials", words=words)


def component_of(distribution: metadata.Distribution) -> dict[str, object]:
    """Describe a distribution as CycloneDX does."""
    about = distribution.metadata
    name = re.sub(r"[-_.]+", "-", about["Name"]).lower()
    found: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": distribution.version,
        "purl": f"pkg:pypi/{name}@{distribution.version}",
        "bom-ref": f"{name}@{distribution.version}",
    }
    licence = _licence(about)
    if licence:
        found["licenses"] = [{"license": {"name": licence}}]
    return found


def _licence(about: metadata.PackageMetadata) -> str:
    said = about.get("License-Expression") or about.get("License") or ""
    if said and "\n" not in said:
        return said
    classifiers = about.get_all("Classifier") or []
    named = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    return " AND ".join(named) or said.splitlines()[0][:80] if named or said else ""


def _distributions() -> list[metadata.Distribution]:
    by_name = {str(each.metadata["Name"]).lower(): each for each in metadata.distributions()}
    return [by_name[name] for name in sorted(by_name)]


PARTS: dict[str, Callable[[], AuditResult]] = {
    "code": check_code,
    "secrets": scan_secrets,
    "lock": check_installed,
    "vulnerabilities": check_vulnerabilities,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all parts and print a line for each, and its findings below."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sbom", type=Path, default=ROOT / "out" / "sbom.cdx.json")
    parser.add_argument("--only", choices=[*PARTS, "bill"], help="run one part")
    given = parser.parse_args(arguments)
    names = [given.only] if given.only else [*PARTS, "bill"]
    parts = [write_bill(given.sbom) if name == "bill" else PARTS[name]() for name in names]
    for part in parts:
        print(part.line)
        for finding in part.findings:
            print(f"  {finding}")
    return 1 if any(part.findings for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
