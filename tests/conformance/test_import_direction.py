"""Imports point down: an explicit table of allowed arrows between packages, read with `ast`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "tradingbot"

# Which packages a package may import from. A package that is not here fails the test: adding one
# forces a decision. None: planned, its arrows are decided by the change that brings it.
ALLOWED: dict[str, frozenset[str] | None] = {
    "domain": frozenset(),
    "data": frozenset({"domain"}),
    "features": frozenset({"domain", "data"}),
    "risk": frozenset({"domain"}),
    "market": frozenset({"domain", "risk"}),
    "rewards": frozenset({"domain", "market"}),
    "networks": frozenset({"domain"}),
    "learning": frozenset({"domain", "networks"}),
    "envs": frozenset({"domain", "data", "features", "risk", "market", "rewards", "learning"}),
    "agents": frozenset({"domain", "risk", "market", "networks"}),
    "runs": frozenset({"domain", "data", "features"}),
    "supervised": frozenset({"domain", "data", "features", "networks"}),
    "evaluation": frozenset(
        {
            *("domain", "data", "features", "risk", "market", "rewards", "networks", "learning"),
            *("envs", "agents", "supervised"),
        }
    ),
    "app": frozenset(
        {
            *("domain", "data", "features", "risk", "market", "rewards", "networks", "learning"),
            *("envs", "agents", "runs", "supervised", "evaluation"),
        }
    ),
    "runtime": None,
    "serving": None,
    "monitoring": None,
    "cluster": None,
}

# Third-party and standard modules that only some places may import: module → path prefixes.
RESTRICTED: dict[str, tuple[str, ...]] = {
    "torch": (
        *("features/panel", "risk/", "market/", "rewards/", "envs/"),
        *("agents/", "evaluation/", "app/", "networks/", "learning/", "runs/"),
        "supervised/",
    ),
    "gymnasium": ("envs/", "app/"),
    "stable_baselines3": ("envs/", "app/"),
    "pettingzoo": ("envs/",),
    "numba": ("market/scalar/",),
    "lightgbm": ("supervised/",),
    "random": (),  # use tradingbot.domain.seeding.stream
    "typer": ("app/",),
    "rich": ("app/",),
    "matplotlib": ("envs/render", "evaluation/", "app/"),
    "jinja2": ("evaluation/", "app/"),
    "yfinance": ("data/sources/",),
    "alpaca": ("data/sources/",),
    "pickle": (),  # no pickle anywhere
}
# What the vocabulary may not touch at all: tensors, frames, files, network, clocks.
FORBIDDEN_IN_DOMAIN = frozenset(
    [
        "torch",
        "polars",
        "pandas",
        "pyarrow",
        "yaml",
        "io",
        "os",
        "pathlib",
        "shutil",
        "tempfile",
        "socket",
        "sqlite3",
        "requests",
        "urllib",
        "http",
        "subprocess",
        "time",
        "safetensors",
        "exchange_calendars",
    ]
)
# Learning does not know that it trades: of our vocabulary it may use these modules only.
NEUTRAL_VOCABULARY = ("domain.errors", "domain.checks", "domain.seeding")
# The tensor core runs on any machine with torch: it may import these and the standard library.
TENSOR_CORE = frozenset({"risk", "market", "rewards", "agents", "networks", "learning"})
ALLOWED_IN_TENSOR_CORE = frozenset({"torch", "numpy", "numba", "tradingbot"})
# Calls that make a result depend on when or in which order it is computed.
FORBIDDEN_CALLS = frozenset(
    {"time.time", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
)
# Where the time of day is part of the job; the reason is mandatory.
CLOCK_READERS: dict[str, str] = {
    "data/quality/": "a bar from the future is told by the time of day; `as_of` overrides it",
    "data/sources/": "vendors are asked for bars up to now, and rate limits are kept in real time",
}
GENERATORS = frozenset(
    {"Generator", "PCG64", "SeedSequence", "default_rng", "Philox", "BitGenerator"}
)


def modules(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Yield each file's path below the package, and its tree."""
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Every imported module, wherever it stands: top, function, or `if TYPE_CHECKING`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join((*package[: len(package) - node.level + 1], base)).rstrip(".")
            yield node.lineno, base
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _dotted(node.func).endswith("import_module"):
            texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            yield from ((node.lineno, text) for text in texts if isinstance(text, str))


def violations(root: Path) -> list[str]:
    """Describe every broken rule below a package folder named `tradingbot`."""
    found: list[str] = []
    for path, tree in modules(root):
        found += _arrow_violations(path, tree)
        found += _call_violations(path, tree)
    return found


def _arrow_violations(path: str, tree: ast.Module) -> list[str]:
    parts = path.split("/")
    owner = parts[0] if len(parts) > 1 else None
    if owner is not None and ALLOWED.get(owner) is None:
        return [f"{path}: package {owner!r} has no arrows in ALLOWED: decide them"]
    found = []
    for line, name in imported_modules(tree, ("tradingbot", *parts[:-1])):
        top, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if top == "tradingbot" and target in ALLOWED and target != owner:
            if owner is None or target not in (ALLOWED[owner] or ()):
                found.append(f"{path}:{line}: {owner or 'the root'} must not import {target}")
            elif (
                owner in ("networks", "learning")
                and target == "domain"
                and not rest.startswith(NEUTRAL_VOCABULARY)
            ):
                found.append(f"{path}:{line}: {owner} must not import {rest}: it knows no trading")
        elif owner == "domain" and top in FORBIDDEN_IN_DOMAIN:
            found.append(f"{path}:{line}: domain must not import {top}")
        elif owner in TENSOR_CORE and not (
            top in ALLOWED_IN_TENSOR_CORE or top in sys.stdlib_module_names
        ):
            found.append(f"{path}:{line}: the tensor core must not import {top}")
        elif top in RESTRICTED and not path.startswith(RESTRICTED[top]):
            found.append(f"{path}:{line}: {top} must not be imported here")
    return list(dict.fromkeys(found))


def _call_violations(path: str, tree: ast.Module) -> list[str]:
    found = []
    reads_clock = path.startswith(("app/", *CLOCK_READERS))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        name = _dotted(node)
        if not reads_clock and ".".join(name.split(".")[-2:]) in FORBIDDEN_CALLS:
            found.append(f"{path}:{node.lineno}: {name} must not be used here: pass the time in")
        if name.startswith(("np.random.", "numpy.random.")) and node.attr not in GENERATORS:
            found.append(f"{path}:{node.lineno}: {name} is global: use domain.seeding.stream")
        if name in ("torch.manual_seed", "torch.seed"):
            found.append(f"{path}:{node.lineno}: {name} seeds globally: pass a generator")
    return found


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_imports_point_down_everywhere() -> None:
    assert "\n".join(violations(SOURCE)) == ""


def test_allowed_table_has_no_cycle() -> None:
    order = list(ALLOWED)
    for package, targets in ALLOWED.items():
        assert all(order.index(target) < order.index(package) for target in targets or ())


def test_every_clock_reader_exists_and_has_a_reason() -> None:
    assert all(reason for reason in CLOCK_READERS.values())
    assert all((SOURCE / place).exists() for place in CLOCK_READERS)


@pytest.mark.parametrize(
    ("path", "code", "complaint"),
    [
        ("domain/x.py", "from tradingbot.data import schema", "domain must not import data"),
        ("domain/x.py", "import polars as pl", "domain must not import polars"),
        ("domain/x.py", "def f():\n    import torch", "domain must not import torch"),
        ("data/x.py", "from tradingbot.features.inputs import MarketInputs", "not import features"),
        ("data/x.py", "from ..app import console", "data must not import app"),
        ("data/sub/x.py", "from ... import app", "data must not import app"),
        (
            "data/x.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tradingbot.evaluation",
            "data must not import evaluation",
        ),
        ("features/x.py", "import torch", "torch must not be imported"),
        ("features/x.py", "from importlib import import_module\nimport_module('torch')", "torch"),
        ("evaluation/x.py", "import random", "random must not be imported"),
        ("data/x.py", "import pickle", "pickle must not be imported"),
        ("data/x.py", "import numpy as np\nnp.random.seed(1)", "np.random.seed is global"),
        ("data/x.py", "import numpy\nx = numpy.random.normal()", "numpy.random.normal is global"),
        ("data/x.py", "import time\nt = time.time()", "time.time must not be used"),
        ("features/x.py", "import datetime\nd = datetime.datetime.now()", "now must not be used"),
        ("features/x.py", "from datetime import date\nd = date.today()", "date.today"),
        ("surprise/x.py", "", "package 'surprise' has no arrows"),
        ("market/x.py", "import polars", "tensor core must not import polars"),
        ("serving/x.py", "", "package 'serving' has no arrows"),
        ("app/x.py", "import lightgbm", "lightgbm must not be imported"),
        ("learning/x.py", "from tradingbot.domain.action import Action", "knows no trading"),
        ("networks/x.py", "from tradingbot.market import rules", "networks must not import market"),
        ("x.py", "import tradingbot.app", "the root must not import app"),
    ],
)
def test_planted_violation_is_found(tmp_path: Path, path: str, code: str, complaint: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)

    found = violations(tmp_path)

    assert any(complaint in text for text in found), found


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("app/x.py", "import torch, typer\nfrom tradingbot.evaluation import report"),
        ("features/panel.py", "import torch\nfrom tradingbot.data import store"),
        ("features/panel/load.py", "import torch"),
        ("data/x.py", "import numpy as np\ng = np.random.Generator(np.random.PCG64(1))"),
        ("data/x.py", "import time\nt = time.perf_counter()"),
        ("data/sub/x.py", "from . import y\nfrom ..schema import BAR_KEY"),
    ],
)
def test_lawful_import_raises_no_alarm(tmp_path: Path, path: str, code: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)

    assert violations(tmp_path) == []
