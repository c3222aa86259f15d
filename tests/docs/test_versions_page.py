"""docs/reference/versions.md is written from pyproject.toml, the lock and the file formats."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

import tradingbot
from tradingbot import __version__
from tradingbot.data.quality import report
from tradingbot.evaluation.dossier.dossier import DOSSIER_FORMAT
from tradingbot.training.result_file import RESULT_FORMAT

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "versions.md"
REGENERATE = ".venv/bin/python tests/docs/test_versions_page.py"
# Class of a versioned file → the file; a format that is not here fails the test.
FORMATS = {
    "DatasetManifest": "`manifest.json` of a dataset",
    "PanelManifest": "`manifest.json` of a panel",
    "Certificate": "`certificate.json` of a panel",
    "ScalerManifest": "`scaler.json`",
    "RunRecord": "`run.json`",
    "RunStatus": "`status.json` of a run",
    "CheckpointManifest": "`manifest.json` of a checkpoint",
    "ModelManifest": "`manifest.json` of a supervised model",
    "BundleManifest": "`manifest.json` of a bundle",
    "KeysFile": "`keys.json` of a server",
}
_INTRODUCTION = f"""\
# Versions

<!-- Generated from pyproject.toml, requirements.lock and the file formats. Do not edit; run:
{REGENERATE} -->

This is tradingbot {__version__}. The lock is the one set that the whole suite ran with; see
[contributing](../../CONTRIBUTING.md#set-up) for how a version is moved.
"""


def render_page() -> str:
    """Write the whole page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = locked_versions()
    parts = [_INTRODUCTION, "## Interpreter and packages\n"]
    parts += ["| needed for | package | accepted | in the lock |", "|---|---|---|---|"]
    parts.append(f"| everything | Python | `{project['requires-python']}` | {python_of_lock()} |")
    parts += [*_rows("everything", project["dependencies"], locked)]
    for extra, requirements in project["optional-dependencies"].items():
        parts += [*_rows(f"extra `{extra}`", requirements, locked)]
    parts += ["", "## File formats\n"]
    parts.append("A file of a newer version is refused by name; older ones are still read.\n")
    parts += ["| file | class | written | read |", "|---|---|---|---|"]
    for name, kind in sorted(versioned_classes().items()):
        written, oldest = written_version(kind), 1
        read = str(written) if written == oldest else f"{oldest} … {written}"
        parts.append(f"| {FORMATS[name]} | `{name}` | {written} | {read} |")
    parts.append(f"| `dossier.json` | `Dossier` | {DOSSIER_FORMAT} | 1 … {DOSSIER_FORMAT} |")
    parts.append(f"| `result.json` | `TrainResult` | {RESULT_FORMAT} | 1 … {RESULT_FORMAT} |")
    number = report._REPORT_VERSION
    parts.append(f"| `report.json` of `data validate` | `QualityReport` | {number} | {number} |")
    return "\n".join([*parts, ""])


def _rows(purpose: str, requirements: list[str], locked: dict[str, str]) -> Iterator[str]:
    for requirement in requirements:
        name, _, accepted = re.fullmatch(
            r"([\w.-]+)(\[[^\]]*\])?(.*)", requirement.replace(" ", "")
        ).groups()  # type: ignore[union-attr]
        if name != "tradingbot":
            version = locked[normalised(name)]
            yield f"| {purpose} | {name} | {f'`{accepted}`' if accepted else 'any'} | {version} |"


def normalised(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_versions() -> dict[str, str]:
    """Return package → version of the lock."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(";")[0].strip().split("==") for line in lines if "==" in line]
    return {normalised(pair[0]): pair[1] for pair in pairs if not pair[0].startswith("#")}


def python_of_lock() -> str:
    """Return the interpreters that the lock says it was made for."""
    first = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()[0]
    return ", ".join(re.findall(r"3\.\d+", first))


def versioned_classes() -> dict[str, type[BaseModel]]:
    """Return every model of the package that holds the version of a file format."""
    for module in pkgutil.walk_packages(tradingbot.__path__, "tradingbot."):
        if module.name.split(".")[1] in ("data", "features", "runs", "serving", "runtime"):
            importlib.import_module(module.name)
    importlib.import_module("tradingbot.supervised.model_manifest")
    return {
        kind.__name__: kind
        for kind in _subclasses(BaseModel)
        if kind.__module__.startswith("tradingbot.")
        and "version" in kind.model_fields
        and get_origin(kind.model_fields["version"].annotation) is Literal
    }


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def written_version(kind: type[BaseModel]) -> int:
    """Return the version that files are written with."""
    field = kind.model_fields["version"]
    newest = max(get_args(field.annotation))
    assert field.default in (newest, ...) or field.is_required()
    return int(newest)


def test_page_is_current() -> None:
    message = f"docs/reference/versions.md is out of date. Run: {REGENERATE}"
    assert PAGE.read_text(encoding="utf-8") == render_page(), message


def test_every_file_format_is_named() -> None:
    assert set(versioned_classes()) == set(FORMATS)


def test_lock_holds_every_package_that_is_asked_for() -> None:
    text = render_page()

    assert "| torch | `==2.13.0` | 2.13.0 |" in text
    assert f"tradingbot {__version__}" in text


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
