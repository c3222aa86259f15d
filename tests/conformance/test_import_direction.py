"""Imports point down: an explicit table of allowed arrows between packages, read with `ast`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "tradingbot"

# What a package may import from; a second-level folder may have a line of its own, which then
# holds instead of its package's. A place that is not here fails the test: adding one forces a
# decision. None: planned, its arrows are decided by the change that brings it.
_TENSORS = ("domain", "plugins", "risk", "market", "rewards", "networks", "learning")
_ROOT = frozenset({"facade", "plugins", "agents"})  # what `import tradingbot as tb` offers
_DATA = ("domain", "data", "configuration", "features")
_MEASURES = tuple(
    f"evaluation/{each}"
    for each in (
        "backtest",
        "allocation",
        "metrics",
        "statistics",
        "oracle",
        "performance",
        "dossier",
    )
)
ALLOWED: dict[str, frozenset[str] | None] = {
    "domain": frozenset(),
    "executors": frozenset({"domain"}),
    "data": frozenset({"domain"}),
    "data/synthetic": frozenset({"domain", "data"}),
    "data/sources": frozenset({"domain", "data", "data/synthetic"}),
    "data/quality": frozenset({"domain", "data"}),
    "risk": frozenset({"domain"}),
    "market": frozenset({"domain", "risk"}),
    "plugins": frozenset({"domain"}),
    "rewards": frozenset({"domain", "plugins", "market"}),
    "networks": frozenset({"domain"}),
    # Actors are processes; what carries items out knows nothing of what they are.
    "learning": frozenset({"domain", "networks", "executors"}),
    "configuration": frozenset({"domain", "data"}),
    "features": frozenset({"domain", "data", "configuration"}),
    "features/graph": frozenset({"domain"}),
    "features/causality": frozenset({"domain", "data", "features"}),
    "envs": frozenset({*_TENSORS, "data", "features"}),
    "agents": frozenset({"domain", "plugins", "risk", "market", "networks"}),
    # Runs hold policies: reading one is agents and networks, and what their inputs are called.
    "runs": frozenset({"domain", "data", "features", "market", "networks", "agents"}),
    "supervised": frozenset({"domain", "data", "features", "networks", "envs"}),
    "evaluation/statistics": frozenset({"domain", "data"}),
    "evaluation/metrics": frozenset({"domain", "data", "evaluation/statistics"}),
    "evaluation/oracle": frozenset({"domain", "data", "evaluation/statistics"}),
    "evaluation/dossier": frozenset({"domain", "evaluation/statistics", "evaluation/performance"}),
    "evaluation/backtest": frozenset(
        {*_TENSORS, *_DATA, "envs", "agents", "evaluation/metrics", "evaluation/oracle"}
    ),
    # Rules that divide capital are played by the backtester of portfolios.
    "evaluation/allocation": frozenset({*_TENSORS, "data", "envs", "evaluation/backtest"}),
    "evaluation/performance": frozenset(
        {"domain", "data", "learning", "evaluation/backtest", "evaluation/metrics"}
        | {"evaluation/statistics"}
    ),
    "evaluation/gates": frozenset(
        {*_DATA, "runs", "evaluation/dossier", "evaluation/oracle", "evaluation/performance"}
        | {"evaluation/statistics"}
    ),
    "evaluation": frozenset(
        {*_TENSORS, *_DATA, "envs", "agents", "supervised", "runs", *_MEASURES, "evaluation/gates"}
    ),
    "evaluation/figures": frozenset({"domain", "evaluation", "evaluation/metrics"}),
    "evaluation/report": frozenset(
        {"domain", "evaluation", "evaluation/figures", "evaluation/gates", *_MEASURES}
    ),
    "training": frozenset(
        {
            "executors",
            *_TENSORS,
            *_DATA,
            "envs",
            "agents",
            "supervised",
            "runs",
            "evaluation",
            *_MEASURES,
        }
    ),
    "evaluation/analyses": frozenset(
        {*_TENSORS, *_DATA, "envs", "agents", "supervised", "runs", "training", "evaluation"}
        | {*_MEASURES}
    ),
    "evaluation/pipeline": frozenset(
        {
            "executors",
            *_TENSORS,
            *_DATA,
            "envs",
            "agents",
            "supervised",
            "runs",
            "training",
            "evaluation",
        }
        | {*_MEASURES, "evaluation/analyses", "evaluation/gates", "evaluation/report"}
    ),
    "evaluation/power": frozenset(
        {"executors", *_TENSORS, *_DATA, "envs", "supervised", "runs", "training", *_MEASURES}
        | {"evaluation/analyses", "evaluation/pipeline", "evaluation/report"}
    ),
    # Trials are trainings; what they are chosen by is what training selects by.
    "tuning": frozenset(
        {"executors", *_TENSORS, *_DATA, "envs", "runs", "training", "evaluation/analyses"}
        | {"evaluation/report"}
    ),
    # Runs are played again, as for a dossier, and shown on a page of the same design.
    "evaluation/comparison": frozenset(
        {*_TENSORS, *_DATA, "envs", "runs", "training", *_MEASURES}
        | {"evaluation/analyses", "evaluation/pipeline", "evaluation/report"}
    ),
    # The way from data to verdict: it calls every step, and computes none itself.
    "campaign": frozenset(
        {"executors", *_TENSORS, *_DATA, "runs", "training", "tuning", "evaluation"}
        | {"evaluation/dossier", "evaluation/gates", "evaluation/pipeline", "evaluation/report"}
        | {"evaluation/performance"}
    ),
    "facade": frozenset(
        {*_TENSORS, *_DATA, "envs", "agents", "supervised", "runs", "training", "evaluation"}
        | {*_MEASURES, "evaluation/analyses", "evaluation/gates", "evaluation/report"}
        | {"evaluation/figures", "evaluation/pipeline", "evaluation/comparison"}
        | {"runtime"}  # journals of sessions, to report what was traded
    ),
    "app": frozenset(
        {
            "executors",
            "cluster",
            "serving",
            "runtime",
            "monitoring",
            *_TENSORS,
            *_DATA,
            "envs",
            "agents",
            "supervised",
            "runs",
            "training",
            "tuning",
            "campaign",
            "evaluation",
        }
        | {*_MEASURES, "evaluation/analyses", "evaluation/gates", "evaluation/report"}
        | {"evaluation/figures", "evaluation/pipeline", "evaluation/power", "facade"}
        | {"evaluation/comparison"}
    ),
    # What trades while time passes reads policies; it neither learns nor judges.
    "runtime": frozenset(
        {"domain", "risk", "market", "features", "data", "networks", "agents", "runs"}
    ),
    "serving": frozenset({*_DATA, "risk", "market", "networks", "agents", "runs"}),
    # Watches from outside what the others wrote: it steers nothing, and only `app` starts it.
    "monitoring": frozenset({*_DATA, "risk", "runs", "runtime"}),
    # What shows a workspace reads what every room wrote.
    "monitoring/dashboard": frozenset(
        {*_DATA, "risk", "runs", "training", "runtime", "serving", "evaluation", "monitoring"}
        | {"evaluation/performance", "evaluation/statistics", "evaluation/dossier"}
        | {"evaluation/gates", "evaluation/report", "evaluation/pipeline"}
    ),
    # What does work on other machines knows of it as items alone.
    "cluster": frozenset({"domain", "data", "executors", "runs"}),
}
PACKAGES = frozenset(place.partition("/")[0] for place in ALLOWED)

# Third-party and standard modules that only some places may import: module → path prefixes.
RESTRICTED: dict[str, tuple[str, ...]] = {
    "torch": (
        *("features/panel", "risk/", "market/", "rewards/", "envs/"),
        *("agents/", "evaluation/", "app/", "networks/", "learning/", "runs/"),
        *("supervised/", "training/", "runtime/", "serving/export/", "serving/table_policy"),
        "tuning/",
    ),
    "ray": ("cluster/",),
    "onnx": ("serving/",),
    "onnxruntime": ("serving/",),
    "gymnasium": ("envs/",),
    "stable_baselines3": ("envs/",),
    "pettingzoo": ("envs/",),
    "numba": ("market/scalar/",),
    "lightgbm": ("supervised/",),
    "random": (),  # use tradingbot.domain.seeding.stream
    "typer": ("app/",),
    "rich": ("app/",),
    "matplotlib": ("envs/single/render", "evaluation/", "app/"),
    "jinja2": ("evaluation/",),
    "optuna": ("tuning/",),
    "sqlalchemy": ("runtime/journal/", "tuning/"),  # Optuna keeps trials through it
    "streamlit": ("monitoring/dashboard/",),
    "plotly": ("monitoring/dashboard/figures/",),
    "alembic": ("runtime/journal/",),
    "apprise": ("monitoring/alerts/channels/apprise_service",),
    "yfinance": ("data/sources/",),
    "alpaca": ("data/sources/", "runtime/brokers/alpaca/"),
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
# Events of training are told in the words of learning: agents, updates, scores.
NEUTRAL_VOCABULARY = (
    *("domain.errors", "domain.checks", "domain.seeding", "domain.extension", "domain.lazy_names"),
    "domain.student_t",
    *("domain.events.event", "domain.events.training"),
)
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
    "training/": "a run's record, status and ledger entries say when",
    "evaluation/pipeline/": "an evaluation's ledger entries and dossier say when",
    "evaluation/analyses/": "trainings and fits of an analysis are counted in the ledger",
    "campaign/": "the status of a campaign says when it was written",
    "tuning/": "trials are counted in the ledger when they begin",
    "monitoring/dashboard/": "ages of data, and acts of persons, are told by the time of day",
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
    owner = place_of(parts[:-1])
    if owner is not None and ALLOWED.get(owner) is None:
        return [f"{path}: package {owner!r} has no arrows in ALLOWED: decide them"]
    found = []
    for line, name in imported_modules(tree, ("tradingbot", *parts[:-1])):
        top, _, rest = name.partition(".")
        package = rest.split(".")[0]
        if top == "tradingbot" and package in PACKAGES:
            target = place_of(rest.split("."))
            if not is_allowed(owner, target):
                found.append(f"{path}:{line}: {owner or 'the root'} must not import {target}")
            elif (
                parts[0] in ("networks", "learning")
                and package == "domain"
                and not rest.startswith(NEUTRAL_VOCABULARY)
            ):
                found.append(
                    f"{path}:{line}: {parts[0]} must not import {rest}: it knows no trading"
                )
        elif parts[0] == "domain" and top in FORBIDDEN_IN_DOMAIN:
            found.append(f"{path}:{line}: domain must not import {top}")
        elif parts[0] in TENSOR_CORE and not (
            top in ALLOWED_IN_TENSOR_CORE or top in sys.stdlib_module_names
        ):
            found.append(f"{path}:{line}: the tensor core must not import {top}")
        elif top in RESTRICTED and not path.startswith(RESTRICTED[top]):
            found.append(f"{path}:{line}: {top} must not be imported here")
    return list(dict.fromkeys(found))


def place_of(parts: Sequence[str]) -> str | None:
    """Return the line of `ALLOWED` that a path below the package belongs to; None for the root."""
    if not parts:
        return None
    folder = "/".join(parts[:2])
    return folder if folder in ALLOWED else parts[0]


def is_allowed(owner: str | None, target: str | None) -> bool:
    """Tell whether a place may import another; within a package, what has no line of its own."""
    if owner is None:
        return target in _ROOT
    if target is None or owner == target:
        return True
    own = owner.partition("/")[0]
    inside = target == own and owner != own  # a folder's own package
    allowed = ALLOWED[owner] or frozenset()
    if target in allowed:
        return True
    # A line of its own narrows who a folder may import; who imports a folder of another package
    # needs the package's name, or the folder's.
    if "/" in target and target.partition("/")[0] in allowed:
        return target.partition("/")[0] != "evaluation"
    return not inside and own == target.partition("/")[0] and own != "evaluation"


def units(root: Path) -> dict[str, set[str]]:
    """Return what each file or folder directly below a package imports: its second level."""
    trees = dict(modules(root))
    names = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in trees
    }
    arrows: dict[str, set[str]] = {}
    for path, tree in trees.items():
        parts = path.removesuffix(".py").split("/")
        if len(parts) < 2:
            continue
        unit = ".".join(parts[:2])
        for _, name in imported_modules(tree, ("tradingbot", *parts[:-1])):
            if not name.startswith("tradingbot."):
                continue
            target = name.removeprefix("tradingbot.")
            if target in names and "." in target:
                arrows.setdefault(unit, set()).add(".".join(target.split(".")[:2]))
            elif (
                target not in names and target.partition(".")[0] in names and target.count(".") == 1
            ):
                # A name of the package itself: its `__init__` is a unit like any other.
                arrows.setdefault(unit, set()).add(f"{target.partition('.')[0]}.__init__")
    return {unit: targets - {unit} for unit, targets in arrows.items()}


def cycles(arrows: dict[str, set[str]]) -> list[str]:
    """Return what is left when everything without arrows is taken away again and again."""
    left = {unit: set(targets) for unit, targets in arrows.items()}
    while True:
        ends = {unit for unit, targets in left.items() if not targets & left.keys()}
        if not ends:
            return sorted(left)
        left = {unit: targets for unit, targets in left.items() if unit not in ends}


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


def test_no_cycle_at_the_second_level_app_included() -> None:
    assert cycles(units(SOURCE)) == []


def test_planted_cycle_is_found(tmp_path: Path) -> None:
    for path, code in (
        ("app/a.py", "from tradingbot.app.cli import b"),
        ("app/cli/b.py", "from tradingbot.app.c import x"),
        ("app/c.py", "def f():\n    import tradingbot.app.a"),
        ("app/d.py", "from tradingbot.app import a"),
        ("data/e.py", ""),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)

    assert cycles(units(tmp_path)) == ["app.a", "app.c", "app.cli", "app.d"]


def test_planted_cycle_through_a_package_is_found(tmp_path: Path) -> None:
    for path, code in (
        ("rewards/__init__.py", "from tradingbot.rewards.stack import RewardStack"),
        ("rewards/stack.py", "from tradingbot.rewards.term import Term"),
        ("rewards/term.py", "def late():\n    from tradingbot.rewards import RewardStack"),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)

    assert cycles(units(tmp_path)) == ["rewards.__init__", "rewards.stack", "rewards.term"]


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
        ("app/x.py", "import lightgbm", "lightgbm must not be imported"),
        ("learning/x.py", "from tradingbot.domain.action import Action", "knows no trading"),
        ("learning/x.py", "from tradingbot.domain.events import trading", "knows no trading"),
        ("learning/x.py", "import tradingbot.domain.events.trading", "knows no trading"),
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
