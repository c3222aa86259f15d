"""Analyses come back for the same key only; what cannot be read is made again."""

from __future__ import annotations

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tradingbot
from fixtures.killed_writes import kill_at_every_write
from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.analyses.settings import SeedsSettings
from tradingbot.evaluation.pipeline import store as piece_store
from tradingbot.evaluation.pipeline.receipts import AnalysisReceipts
from tradingbot.evaluation.pipeline.store import (
    AnalysisStore,
    StoredAnalysis,
    identity_of,
    key_of,
    measuring_sources_sha256,
    package_versions,
)
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.runs.ledger import LEDGER_FILE, Ledger
from tradingbot.runs.requirement import installed_version

PACKAGE = Path(tradingbot.__file__).parent
ROOTS = (
    *("pipeline/catalogue", "pipeline/store"),
    *("analyses/evaluated_run", "analyses/retraining/training"),
)
NOT_SOURCES = {
    "__init__.py": "the version",
    "evaluation/report": "shows",
    "evaluation/figures": "shows",
    "evaluation/gates": "judges",
    "evaluation/comparison": "compares",
    "executors": "carries out",
    "facade": "calls",
    "runtime": "trades; the façade reads its journals",
}
NOT_COMPUTING = {
    *("typer", "rich", "pydantic", "pydantic_core", "yaml", "gymnasium", "jinja2", "matplotlib"),
    *("pyarrow", "sqlalchemy", "alembic"),
}
RECORD = Interval(1.0, float("nan"), float("inf"))


def store_in(workspace: Path, run: str = "run", *, began_at: int = 0) -> AnalysisStore:
    return AnalysisStore(workspace / run, AnalysisReceipts(workspace, run, "d" * 64, began_at))


def test_piece_is_read_back_for_its_key_alone(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep("a", "key", StoredAnalysis(RECORD))

    found = store.load("a", "key", Interval)

    assert found is not None
    assert repr(found.record) == repr(RECORD)
    assert store.load("a", "other", Interval) is None
    assert store.load("b", "key", Interval) is None


def test_analysis_killed_at_any_write_is_read_whole_or_made_again(tmp_path: Path) -> None:
    before = tmp_path / "before"
    store_in(before).keep("other", "key", StoredAnalysis(RECORD))

    def act(workspace: Path) -> None:
        store_in(workspace).keep("a", "key", StoredAnalysis(RECORD))

    for workspace, _ in kill_at_every_write(before, tmp_path / "killed", act):
        found = store_in(workspace).load("a", "key", Interval)
        assert found is None or repr(found.record) == repr(RECORD)
        assert store_in(workspace).load("other", "key", Interval) is not None
        act(workspace)
        assert store_in(workspace).load("a", "key", Interval) is not None
        assert not list(workspace.rglob(".tmp-*"))


def test_piece_that_was_left_out_keeps_its_reason(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep("a", "key", StoredAnalysis(None, "too short"))

    found = store.load("a", "key", Interval)

    assert found is not None
    assert (found.record, found.reason) == (None, "too short")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"key": "key", "reason": ""}', "null"])
def test_damaged_piece_is_none(tmp_path: Path, content: str) -> None:
    store = store_in(tmp_path)
    store.folder.mkdir()
    store.path("a").write_text(content)
    AnalysisReceipts(tmp_path, "run", "d" * 64).note(content.encode())

    assert store.load("a", "key", Interval) is None


def test_file_that_was_changed_is_none_until_it_is_made_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep("a", "key", StoredAnalysis(Interval(1.0, 0.5, 1.5)))
    selected = store.path("a").read_text()
    assert "0.5" in selected
    store.path("a").write_text(selected.replace("0.5", "0.9"))

    assert store.load("a", "key", Interval) is None
    assert store_in(tmp_path).load("a", "key", Interval) is None

    store.keep("a", "key", StoredAnalysis(Interval(1.0, 0.5, 1.5)))
    found = store.load("a", "key", Interval)
    assert found is not None
    assert found.record.low == 0.5
    notes = [each.kind for each in Ledger(tmp_path).entries()]
    assert notes == ["analysis"]  # the same file again is not noted again
    assert Ledger(tmp_path).trials("d" * 64) == ()


def test_file_of_another_run_name_or_data_is_none(tmp_path: Path) -> None:
    store, other = store_in(tmp_path), store_in(tmp_path, "other")
    other.keep("a", "key", StoredAnalysis(RECORD))
    store.folder.mkdir()
    shutil.copy(other.path("a"), store.path("a"))
    assert store.load("a", "key", Interval) is None
    assert store_in(tmp_path).load("a", "key", Interval) is None

    shutil.copy(other.path("a"), other.path("b"))  # its own, but of another analysis
    assert other.load("b", "key", Interval) is None
    on_others = AnalysisStore(other.folder, AnalysisReceipts(tmp_path, "other", "e" * 64))
    assert on_others.load("a", "key", Interval) is None
    assert other.load("a", "key", Interval) is not None


def test_file_whose_writer_was_killed_before_its_note_is_none(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep("a", "key", StoredAnalysis(RECORD))
    (tmp_path / LEDGER_FILE).unlink()

    assert store_in(tmp_path).load("a", "key", Interval) is None


def test_file_noted_before_the_run_began_is_none(tmp_path: Path) -> None:
    store_in(tmp_path).keep("a", "key", StoredAnalysis(RECORD))

    assert store_in(tmp_path, began_at=1).load("a", "key", Interval) is None
    assert store_in(tmp_path).load("a", "key", Interval) is not None


def test_broken_ledger_refuses_pieces(tmp_path: Path) -> None:
    store_in(tmp_path).keep("a", "key", StoredAnalysis(RECORD))
    (tmp_path / LEDGER_FILE).write_text("{}\n")

    with pytest.raises(StorageError, match="must be whole"):
        store_in(tmp_path).load("a", "key", Interval)


def test_record_of_another_shape_is_none(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.keep("a", "key", StoredAnalysis(RECORD))

    assert store.load("a", "key", SeedsSettings) is None


def test_key_follows_from_everything_that_can_move_a_piece() -> None:
    keys = {
        key_of("run", SeedsSettings(), None, ()),
        key_of("other", SeedsSettings(), None, ()),
        key_of("run", SeedsSettings(count=6), None, ()),
        key_of("run", SeedsSettings(), [0.1, None], ()),
        key_of("run", SeedsSettings(), None, ("need",)),
    }

    assert len(keys) == 5
    assert key_of("run", SeedsSettings(), None, ()) in keys


def test_identity_changes_with_weights_data_and_configuration() -> None:
    assert len({identity_of(*texts) for texts in ("abc", "xbc", "axc", "abx")}) == 4


def test_sources_that_measure_count_and_those_that_show_do_not(tmp_path: Path) -> None:
    measuring, showing = tmp_path / "learning", tmp_path / "evaluation" / "report"
    for folder in (measuring, showing):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("1")
    before = measuring_sources_sha256(tmp_path)

    (showing / "a.py").write_text("2")
    assert measuring_sources_sha256(tmp_path) == before
    (measuring / "a.py").write_text("2")
    assert measuring_sources_sha256(tmp_path) != before


def imports_of(path: Path) -> Iterator[str]:
    """Yield the names of modules that a file imports, wherever it does so."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def file_of(module: str) -> Path | None:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in files if path.is_file()), None)


@pytest.fixture(scope="module")
def reached() -> tuple[set[str], set[str]]:
    """Files of the package and packages of others that making analyses can come to."""
    waiting = [PACKAGE / "evaluation" / f"{name}.py" for name in ROOTS]
    files, packages = set[Path](), set[str]()
    while waiting:
        path = waiting.pop()
        if path in files:
            continue
        files.add(path)
        for name in imports_of(path):
            top = name.split(".")[0]
            if top == "tradingbot":
                found = file_of(name)
                waiting += [found] if found else []
            elif top not in sys.stdlib_module_names:
                packages.add(top)
    return {path.relative_to(PACKAGE).as_posix() for path in files}, packages


def lies_in(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def test_every_file_that_making_pieces_comes_to_is_in_their_key(
    reached: tuple[set[str], set[str]],
) -> None:
    files, _ = reached

    left = {path for path in files if not lies_in(path, piece_store._SOURCES)}

    assert len(files) > 200
    assert {path for path in left if not lies_in(path, tuple(NOT_SOURCES))} == set()


def test_every_package_that_making_pieces_computes_with_is_in_their_key(
    reached: tuple[set[str], set[str]],
) -> None:
    _, packages = reached

    assert packages - NOT_COMPUTING == set(package_versions(has_model=True))
    assert "lightgbm" not in package_versions(has_model=False)


@pytest.mark.parametrize("source", piece_store._SOURCES)
def test_change_of_any_source_changes_the_hash(tmp_path: Path, source: str) -> None:
    path = tmp_path / (source if source.endswith(".py") else f"{source}/a.py")
    path.parent.mkdir(parents=True)
    path.write_text("1")
    before = measuring_sources_sha256(tmp_path)

    path.write_text("2")

    assert measuring_sources_sha256(tmp_path) != before


@pytest.mark.parametrize("source", piece_store._SOURCES)
def test_every_named_source_is_there(source: str) -> None:
    assert (PACKAGE / source).exists()


@pytest.mark.parametrize("package", ["numpy", "torch", "lightgbm", "skfolio"])
def test_other_version_of_a_package_is_another_identity(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    before = [identity_of(*"abc", has_model=has_model) for has_model in (True, False)]

    def other(name: str) -> str | None:
        return "0.0" if name == package else installed_version(name)

    monkeypatch.setattr(piece_store, "installed_version", other)

    after = [identity_of(*"abc", has_model=has_model) for has_model in (True, False)]
    assert after[0] != before[0]
    assert (after[1] != before[1]) == (package != "lightgbm")
