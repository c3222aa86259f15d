"""Versions of models: states go forward, gates are asked, the pointer moves whole, and back."""

from __future__ import annotations

import errno
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from fixtures.served_runs import make_served_run
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.runs import RunDirectory
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.export.run_export import ExportedRun, export_run
from tradingbot.serving.registry import ModelRegistry

AT = datetime(2026, 1, 5, 12, 30, tzinfo=UTC)


@pytest.fixture
def registry(exported: ExportedRun, tmp_path: Path) -> ModelRegistry:
    registry = ModelRegistry(tmp_path / "workspace")
    registry.register(exported.path, at=AT)
    return registry


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExportedRun]:
    """Bundles of other verdicts."""
    folder, made = tmp_path_factory.mktemp("others"), {}
    for seed, status in enumerate(("NO-GO", "CONDITIONAL", "not evaluated", "GO?"), start=1):
        run = make_served_run(folder, f"run{seed}", encoder=None, seed=seed)
        verdict = BundleVerdict(status=status)
        made[status] = export_run(run, folder / f"{seed}.zip", n_hostile=50, verdict=verdict)
    return made


def states(registry: ModelRegistry) -> dict[str, str]:
    return {version.name: version.state for version in registry.versions()}


def test_states_go_forward_and_one_version_serves(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    registry.register(others["CONDITIONAL"].path, at=AT)
    assert states(registry) == {"v1": "candidate", "v2": "candidate"}

    assert registry.promote("v1", at=AT).state == "shadow"
    assert registry.promote("v1", at=AT).state == "paper"
    registry.promote("v2", at=AT, to="paper")

    assert states(registry) == {"v1": "retired", "v2": "paper"}
    assert registry.pointer().versions == {"paper": "v2"}
    assert registry.pointer().bundles == {"paper": others["CONDITIONAL"].sha256}
    assert registry.problems() == {}


def test_the_same_bundle_is_the_same_version(
    registry: ModelRegistry, exported: ExportedRun, served_run: RunDirectory, tmp_path: Path
) -> None:
    again = export_run(
        served_run, tmp_path / "again.zip", n_hostile=100, verdict=exported.manifest.verdict
    )

    assert again.sha256 == exported.sha256  # the same run gives the same bytes
    assert registry.register(again.path, at=AT).name == "v1"
    assert len(registry.versions()) == 1


@pytest.mark.parametrize("status", ["NO-GO", "not evaluated", "GO?"])
def test_a_model_that_did_not_pass_is_promoted_only_by_name_and_that_is_kept(
    registry: ModelRegistry, others: dict[str, ExportedRun], status: str
) -> None:
    name = registry.register(others[status].path, at=AT).name
    for accept in (None, "GO", "no-go", "yes"):
        with pytest.raises(ConfigError, match=rf"passed the gates.*was {status.replace('?', '.')}"):
            registry.promote(name, at=AT, accept=accept)
    assert states(registry)[name] == "candidate"

    registry.promote(name, at=AT, accept=status, reason="an exercise")
    registry.promote(name, at=AT, to="retired")

    assert registry.version(name).accepted == (status,)
    assert [event.reason for event in registry.version(name).events][1] == "an exercise"


def test_rollback_to_any_version_that_was_on_paper_is_one_step(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    registry.register(others["CONDITIONAL"].path, at=AT)
    registry.register(others["NO-GO"].path, at=AT)
    with pytest.raises(ConfigError, match="must have been on paper before"):
        registry.roll_back(None, at=AT)
    registry.promote("v1", at=AT, to="paper")
    registry.promote("v2", at=AT, to="paper")

    assert registry.roll_back(None, at=AT).name == "v1"
    assert states(registry) == {"v1": "paper", "v2": "retired", "v3": "candidate"}
    assert registry.roll_back("v2", at=AT, reason="too slow").state == "paper"
    for reference, rule in (("v3", "must have been on paper"), ("v2", "on paper already")):
        with pytest.raises(ConfigError, match=rule):
            registry.roll_back(reference, at=AT)
    registry.promote("v2", at=AT, to="retired")
    assert registry.pointer().versions == {}
    assert registry.roll_back(None, at=AT).name == "v2"  # none is on paper: the last that was


def test_a_version_that_was_replaced_in_shadow_may_be_promoted_again(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    registry.register(others["CONDITIONAL"].path, at=AT)
    registry.promote("v1", at=AT)
    registry.promote("v2", at=AT)
    assert states(registry) == {"v1": "retired", "v2": "shadow"}
    with pytest.raises(ConfigError, match="state ahead of retired, was retired"):
        registry.promote("v1", at=AT, to="retired")

    assert registry.promote("v1", at=AT).state == "shadow"
    assert registry.promote("v1", at=AT).state == "paper"


def test_states_do_not_go_back_and_unknown_versions_are_refused(registry: ModelRegistry) -> None:
    registry.promote("v1", at=AT, to="paper")
    with pytest.raises(ConfigError, match="state ahead of paper, was shadow"):
        registry.promote("v1", at=AT, to="shadow")
    registry.promote("v1", at=AT, to="retired")
    with pytest.raises(ConfigError, match="retired model must not be promoted"):
        registry.promote("v1", at=AT, to="retired")
    with pytest.raises(ConfigError, match=r"version of one.*Did you mean 'v1'"):
        registry.version("v11")


def test_a_damaged_bundle_is_not_promoted_and_what_serves_stays(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    """M05."""
    registry.promote("v1", at=AT, to="paper")
    version = registry.register(others["CONDITIONAL"].path, at=AT)
    path = registry.bundle_path(version)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(StorageError, match="must be the one that was recorded"):
        registry.promote("v2", at=AT, to="paper")

    assert registry.pointer().versions == {"paper": "v1"}
    assert list(registry.problems()) == ["v2"]


def test_a_damaged_bundle_is_not_rolled_back_to_and_what_serves_stays(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    """M05."""
    registry.promote("v1", at=AT, to="paper")
    registry.register(others["CONDITIONAL"].path, at=AT)
    registry.promote("v2", at=AT, to="paper")
    registry.bundle_path(registry.version("v1")).write_bytes(b"PK")

    with pytest.raises(StorageError, match="must be the one that was recorded"):
        registry.roll_back("v1", at=AT)

    assert states(registry) == {"v1": "retired", "v2": "paper"}
    assert registry.pointer().versions == {"paper": "v2"}


def test_a_pointer_that_was_edited_is_not_believed(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    registry.promote("v1", at=AT, to="paper")
    registry.register(others["CONDITIONAL"].path, at=AT)
    path = registry.folder / "current.json"
    path.write_text(path.read_text().replace('"v1"', '"v2"'))

    assert registry.pointer().versions == {"paper": "v1"}
    assert list(registry.problems()) == ["current.json"]


def test_registering_again_repairs_a_bundle_that_is_damaged_or_gone(
    registry: ModelRegistry, exported: ExportedRun
) -> None:
    path = registry.bundle_path(registry.version("v1"))
    whole = path.read_bytes()
    for harm in (lambda: path.write_bytes(whole[:-1] + b"x"), path.unlink):
        harm()
        assert "v1" in registry.problems()

        assert registry.register(exported.path, at=AT).name == "v1"

        assert registry.problems() == {}
        assert path.read_bytes() == whole


def test_a_kill_between_decision_and_pointer_is_made_good(
    registry: ModelRegistry, others: dict[str, ExportedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S09: what was recorded serves after a restart."""
    registry.promote("v1", at=AT, to="paper")
    registry.register(others["CONDITIONAL"].path, at=AT)
    with monkeypatch.context() as patch:
        killed = mock.Mock(side_effect=KeyboardInterrupt)
        patch.setattr(ModelRegistry, "_pointer_text", killed)
        with pytest.raises(KeyboardInterrupt):
            registry.promote("v2", at=AT, to="paper")
    pointer = registry.folder / "current.json"
    assert json.loads(pointer.read_text())["versions"] == {"paper": "v1"}

    assert registry.pointer().versions == {"paper": "v2"}  # the log is the truth
    assert "current.json" in registry.problems()
    registry.register(others["CONDITIONAL"].path, at=AT)  # decides nothing, and makes it good
    assert json.loads(pointer.read_text())["versions"] == {"paper": "v2"}
    assert registry.problems() == {}


def test_an_accepted_verdict_cannot_be_taken_out_of_the_log(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    name = registry.register(others["NO-GO"].path, at=AT).name
    registry.promote(name, at=AT, accept="NO-GO")
    registry.promote("v1", at=AT)
    log = registry.folder / "versions.jsonl"
    log.write_text(log.read_text().replace('"accepted":"NO-GO"', '"accepted":null'))

    with pytest.raises(StorageError, match="every decision as it was written, was line 4"):
        registry.versions()


def test_torn_last_decision_is_not_read(registry: ModelRegistry) -> None:
    log = registry.folder / "versions.jsonl"
    whole = log.read_bytes()
    registry.promote("v1", at=AT)
    log.write_bytes(log.read_bytes()[:-20])

    assert states(registry) == {"v1": "candidate"}
    registry.promote("v1", at=AT, reason="again")
    assert log.read_bytes().startswith(whole)
    assert states(registry) == {"v1": "shadow"}


def test_registry_of_a_copied_workspace_serves_the_same(
    registry: ModelRegistry, tmp_path: Path
) -> None:
    registry.promote("v1", at=AT, to="paper")
    shutil.copytree(tmp_path / "workspace", tmp_path / "moved")

    moved = ModelRegistry(tmp_path / "moved")

    current = moved.current("paper")
    assert current is not None
    moved.require_fit_to_serve(current)


def test_readers_see_one_version_or_the_other_while_models_are_rolled_back(
    registry: ModelRegistry, others: dict[str, ExportedRun]
) -> None:
    registry.register(others["CONDITIONAL"].path, at=AT)
    for name in ("v1", "v2"):
        registry.promote(name, at=AT, to="paper")
    known = {version.bundle_sha256 for version in registry.versions()}
    seen, is_over = [], threading.Event()

    def read() -> None:
        while not is_over.is_set():
            seen.append(registry.pointer().bundles)

    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(read)
        for _ in range(6):
            registry.roll_back(None, at=AT)
        is_over.set()
        reading.result()

    assert {each["paper"] for each in seen} == known
    assert all(list(each) == ["paper"] for each in seen)
    assert registry.problems() == {}


def test_what_is_on_paper_retires_by_name_only_and_verdicts_are_not_made_up(
    registry: ModelRegistry,
) -> None:
    for _ in range(2):
        registry.promote("v1", at=AT)
    with pytest.raises(ConfigError, match=r"must be retired by name.*--to retired"):
        registry.promote("v1", at=AT)
    with pytest.raises(ConfigError, match="--accept must name a verdict that is in the way"):
        registry.promote("v1", at=AT, to="retired", accept="YES")
    assert states(registry) == {"v1": "paper"}

    assert registry.promote("v1", at=AT, to="retired").state == "retired"


def test_a_disk_without_room_for_the_pointer_refuses_before_it_is_decided(
    registry: ModelRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, log = registry.pointer(), (registry.folder / "versions.jsonl").read_bytes()
    written = Path.write_bytes

    def refuse(path: Path, content: bytes) -> int:
        if "current.json" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return written(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", refuse)
        with pytest.raises(StorageError, match="must have room"):
            registry.promote("v1", at=AT, to="retired")

    assert (registry.folder / "versions.jsonl").read_bytes() == log
    assert (registry.pointer(), states(registry)) == (before, {"v1": "candidate"})
