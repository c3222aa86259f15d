"""The audit finds what is planted, and nothing in this checkout."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

import audit  # noqa: E402 - a script beside the package, found by the line above

DIGITS = "4f9a1c7e2b8d6053"


def planted() -> dict[str, str]:
    """Kind → a line with such a secret, put together here so that this file holds none."""
    begin = "-----BEGIN RSA PRIVATE" + " KEY-----"
    return {
        "private key": begin,
        "AWS key": "key = AKIA" + "Q3EGPT7VZ2XWLKJH",
        "Alpaca key": "id: PK" + "Q3EGPT7VZ2XWLKJH5R",
        "GitHub token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "Slack token": "xoxb-" + "123456789012-abcdefGHIJKL",
        "Google key": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
        "JSON web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3." + "SflKxwRJSMeKKF2QT4",
        "password in an address": "https://me:" + "x9K2mQ7vL4tR8w" + "@host/x",
        "value of a secret's name": f"API_SECRET = '{DIGITS}{DIGITS[::-1]}'",
    }


@pytest.mark.parametrize("kind", planted())
def test_planted_secret_is_found_by_line_and_not_shown(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "settings.py"
    file.write_text(f"x = 1\n{planted()[kind]}\n")

    assert [*audit.secrets_in(file, "settings.py")] == [f"settings.py:2: {kind}"]


@pytest.mark.parametrize(
    "line",
    [
        'SECRET_VARIABLE = "APCA_API_SECRET_KEY"',
        'password = "change-me-please-now"',
        "https://me:password@host/",
        'url = "https://{user}:{password}@host"',
        f"sha256 = '{DIGITS * 4}'",
        f"token = '{DIGITS}{DIGITS[::-1]}'  # audit: no secret",
    ],
)
def test_what_is_no_secret_is_not_told(tmp_path: Path, line: str) -> None:
    file = tmp_path / "settings.py"
    file.write_text(line)

    assert [*audit.secrets_in(file, "settings.py")] == []


def test_this_checkout_holds_no_secret() -> None:
    result = audit.scan_secrets()

    assert result.findings == ()
    assert re.match(r"[\d,]{3,} files", result.words) or result.words.startswith("skipped")


def test_rules_of_secure_code_find_what_is_planted(tmp_path: Path) -> None:
    for name in ("src", "benchmarks", "examples"):
        (tmp_path / name).mkdir()
    (tmp_path / "src" / "x.py").write_text("import pickle\npickle.loads(b'')\neval('1')\n")

    found = audit.check_code(tmp_path).findings

    assert {"S301", "S307"} <= set(re.findall(r"S\d+", " ".join(found)))


def test_lint_holds_the_same_rules() -> None:
    text = (ROOT / "pyproject.toml").read_text()

    assert '"S"' in re.search(r"^select = (.*)$", text, re.MULTILINE)[1]  # type: ignore[index]


@pytest.fixture
def osv() -> Iterator[str]:
    """A server that knows one bad version."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            bad = [each["version"] == "6.6.6" for each in asked]
            results = [{"vulns": [{"id": "PYSEC-1"}]} if each else {} for each in bad]
            body = json.dumps({"results": results}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/querybatch"
        server.shutdown()
        thread.join()


def test_known_vulnerability_of_a_locked_version_is_found(tmp_path: Path, osv: str) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("# pins\nnumpy==2.4.0\nevil==6.6.6 ; python_version > '3'\n")

    result = audit.check_vulnerabilities(lock, osv)

    assert result.findings == ("evil 6.6.6: PYSEC-1",)
    assert result.line == "1 found: vulnerabilities. 2 locked packages."


def test_no_connection_skips_with_the_reason(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("numpy==2.4.0\n")

    result = audit.check_vulnerabilities(lock, "http://127.0.0.1:9/v1/querybatch")

    assert result.findings == ()
    assert result.line.startswith("SKIPPED: vulnerabilities. skipped: 127.0.0.1:9 cannot be asked")


def test_bill_of_materials_names_what_is_installed(tmp_path: Path) -> None:
    audit.write_bill(tmp_path / "out" / "sbom.json")

    bill = json.loads((tmp_path / "out" / "sbom.json").read_text())
    parts = {each["name"]: each for each in bill["components"]}
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert parts["torch"]["purl"] == f"pkg:pypi/torch@{parts['torch']['version']}"
    assert "licenses" in parts["numpy"]


def test_every_locked_package_is_read() -> None:
    lock = ROOT / "requirements.lock"
    lines = [line for line in lock.read_text().splitlines() if "==" in line and line[0] != "#"]

    assert len(audit.locked_packages(lock)) == len(lines) > 100


def test_make_knows_the_verb() -> None:
    done = subprocess.run(["make", "-n", "audit"], cwd=ROOT, capture_output=True, text=True)

    assert "benchmarks/audit.py" in done.stdout
