"""Acts from the dashboard: refused without a key of the right scope, done once, always audited."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fixtures.served_runs import make_served_run
from fixtures.watched_sessions import make_session
from tradingbot.domain.errors import ConfigError, StorageError, TradingError
from tradingbot.monitoring.dashboard.acts.desk import (
    ALREADY,
    ActsDesk,
    ModelAsk,
    SessionAsk,
    describe_model_act,
    describe_session_act,
)
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.serving.access.audit import AuditTrail
from tradingbot.serving.access.keys import KeyBook, Scope
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.model_versions import ModelVersion
from tradingbot.serving.registry import ModelRegistry

NOW = datetime(2026, 1, 6, 12, tzinfo=UTC)


def make_key(workspace: Path, *scopes: Scope, name: str = "ada") -> str:
    lifetime = timedelta(days=1)
    return KeyBook(workspace).create(name, scopes, at=NOW, lifetime=lifetime).secret


def ask(act: Any = "kill", token: str = "t1", **fields: Any) -> SessionAsk:
    return SessionAsk("first", act, "prices look wrong", token, **fields)


@pytest.fixture
def desk(tmp_path: Path) -> ActsDesk:
    make_session(tmp_path)
    return ActsDesk(tmp_path, lambda: NOW)


def make_folder(workspace: Path) -> SessionFolder:
    return SessionFolder.open(workspace, "first")


def requests_of(workspace: Path) -> list[str]:
    return [path.name for path in sorted((workspace / "sessions/first/requests").glob("*.json"))]


@pytest.mark.parametrize("presented", ["", "tb_00000000_" + "x" * 43, "<script>", "é" * 300])
def test_wrong_key_does_nothing_and_is_written_down(
    desk: ActsDesk, tmp_path: Path, presented: str
) -> None:
    with pytest.raises(ConfigError, match="API key must be given"):
        desk.ask_session(presented, ask())

    assert requests_of(tmp_path) == []
    assert [line.kind for line in AuditTrail(tmp_path).lines()] == ["access refused"]


def test_key_of_another_scope_does_nothing(desk: ActsDesk, tmp_path: Path) -> None:
    reader = make_key(tmp_path, "read", "predict", "admin")

    with pytest.raises(ConfigError, match="must have the scope trade"):
        desk.ask_session(reader, ask())

    assert requests_of(tmp_path) == []
    assert AuditTrail(tmp_path).lines()[-1].kind == "access refused"


def test_expired_and_revoked_keys_do_nothing(desk: ActsDesk, tmp_path: Path) -> None:
    secret = make_key(tmp_path, "trade")
    KeyBook(tmp_path).revoke(secret[3:11], at=NOW)

    with pytest.raises(ConfigError, match="revoked"):
        desk.ask_session(secret, ask())
    late = ActsDesk(tmp_path, lambda: NOW + timedelta(days=3))
    with pytest.raises(ConfigError, match="expired"):
        late.ask_session(make_key(tmp_path, "trade"), ask())


def test_kill_leaves_the_request_that_the_command_leaves_and_is_audited(
    desk: ActsDesk, tmp_path: Path
) -> None:
    secret = make_key(tmp_path, "trade")

    told = desk.ask_session(secret, ask(flatten=True))

    assert "when it is resumed" in told
    (_, request), *_ = make_folder(tmp_path).waiting()
    assert (request.act, request.by, request.flatten) == ("kill", "ada", True)
    line = AuditTrail(tmp_path).lines()[-1]
    assert (line.kind, line.subject, line.detail) == (
        "session asked",
        "first",
        "kill: prices look wrong",
    )
    assert secret not in (tmp_path / "served" / "audit.jsonl").read_text()


def test_double_click_and_second_tab_ask_once(desk: ActsDesk, tmp_path: Path) -> None:
    secret = make_key(tmp_path, "trade")
    desk.ask_session(secret, ask())

    again = desk.ask_session(secret, ask())
    other_tab = desk.ask_session(secret, ask(token="t2"))

    assert ALREADY in again
    assert ALREADY in other_tab
    assert len(requests_of(tmp_path)) == 1


def test_arming_needs_a_name_that_is_authorised_and_a_session_that_runs(
    desk: ActsDesk, tmp_path: Path
) -> None:
    ada, eve = make_key(tmp_path, "trade"), make_key(tmp_path, "trade", name="eve")
    with pytest.raises(ConfigError, match="must run"):
        desk.ask_session(ada, ask("arm"))
    with make_folder(tmp_path).hold():
        with pytest.raises(TradingError, match="only an authorised person"):
            desk.ask_session(eve, ask("arm", "t2"))
        assert requests_of(tmp_path) == []
        desk.ask_session(ada, ask("arm", "t3"))

    assert len(requests_of(tmp_path)) == 1


def test_arming_is_not_asked_where_it_cannot_be_written_down(
    desk: ActsDesk, tmp_path: Path
) -> None:
    secret = make_key(tmp_path, "trade")
    trail = tmp_path / "served" / "audit.jsonl"
    trail.write_text("damaged\n")

    with make_folder(tmp_path).hold():
        with pytest.raises(StorageError):
            desk.ask_session(secret, ask("arm"))
        assert requests_of(tmp_path) == []
        desk.ask_session(secret, ask("kill", "t2"))  # what takes risk away does not wait

    assert len(requests_of(tmp_path)) == 1


def test_wrong_keys_are_locked_out_and_the_right_one_is_not(desk: ActsDesk, tmp_path: Path) -> None:
    secret = make_key(tmp_path, "trade")
    for _ in range(10):
        with pytest.raises(ConfigError, match="must be given"):
            desk.ask_session(secret[:-1] + "!", ask(), address="10.0.0.1")

    with pytest.raises(ConfigError, match="wait"):
        desk.ask_session(secret[:-1] + "!", ask(), address="10.0.0.1")
    assert "asked to kill" in desk.ask_session(secret, ask(), address="10.0.0.1")


def test_model_of_no_registry_is_refused_before_anything_is_written(
    desk: ActsDesk, tmp_path: Path
) -> None:
    admin = make_key(tmp_path, "admin")

    with pytest.raises(ConfigError, match="model must be the version"):
        desk.decide_model(admin, ModelAsk("v9", "paper", "why", "t1"))

    assert [line.kind for line in AuditTrail(tmp_path).lines()] == ["key created"]


@pytest.fixture
def registry(tmp_path: Path) -> ModelRegistry:
    """Registry with one candidate that passed the gates."""
    run = make_served_run(tmp_path / "runs", "run", encoder=None, seed=1)
    made = export_run(run, tmp_path / "v1.zip", n_hostile=50, verdict=BundleVerdict(status="GO"))
    registry = ModelRegistry(tmp_path)
    registry.register(made.path, at=NOW)
    return registry


def decisions(workspace: Path) -> list[tuple[str, str, str]]:
    lines = AuditTrail(workspace).lines()
    return [(each.kind, each.subject, each.detail) for each in lines if "model" in each.kind]


def test_promotion_is_done_and_audited_once_for_each_confirmation(
    desk: ActsDesk, tmp_path: Path, registry: ModelRegistry
) -> None:
    admin = make_key(tmp_path, "admin")

    told = desk.decide_model(admin, ModelAsk("v1", "paper", "passed", "t1"))
    again = desk.decide_model(admin, ModelAsk("v1", "paper", "passed", "t1"))

    assert told == "v1 is on paper, by ada"
    assert ALREADY in again
    assert len(registry.version("v1").events) == 2
    assert decisions(tmp_path) == [("model promoted", "v1", "to paper: passed")]


def test_decision_that_the_registry_refuses_is_not_audited_as_taken(
    desk: ActsDesk, tmp_path: Path, registry: ModelRegistry
) -> None:
    admin = make_key(tmp_path, "admin")

    with pytest.raises(ConfigError):
        desk.decide_model(admin, ModelAsk("v1", None, "was never there", "t1"))
    with pytest.raises(ConfigError):
        desk.decide_model(admin, ModelAsk("v1", "candidate", "not ahead", "t2"))

    assert registry.version("v1").state == "candidate"
    assert decisions(tmp_path) == []


def test_version_with_a_damaged_bundle_retires_and_does_not_serve(
    desk: ActsDesk, tmp_path: Path, registry: ModelRegistry
) -> None:
    admin = make_key(tmp_path, "admin")
    path = registry.bundle_path(registry.version("v1"))
    path.chmod(0o644)
    path.write_bytes(b"damaged")

    with pytest.raises(StorageError):
        desk.decide_model(admin, ModelAsk("v1", "paper", "passed", "t1"))
    desk.decide_model(admin, ModelAsk("v1", "retired", "damaged", "t2"))

    assert decisions(tmp_path) == [("model promoted", "v1", "to retired: damaged")]


def test_model_is_not_promoted_where_it_cannot_be_written_down(
    desk: ActsDesk, tmp_path: Path, registry: ModelRegistry
) -> None:
    admin = make_key(tmp_path, "admin")
    (tmp_path / "served" / "audit.jsonl").write_text("damaged\n")

    with pytest.raises(StorageError):
        desk.decide_model(admin, ModelAsk("v1", "paper", "passed", "t1"))

    assert registry.version("v1").state == "candidate"


def test_confirmation_names_what_will_happen() -> None:
    killed = describe_session_act(ask(flatten=True), n_open=3, n_positions=2)
    versions = (ModelVersion("v1", "a" * 64, "paper", "", "GO", "toy"),)
    promoted = describe_model_act(ModelAsk("v2", "paper", "", "t"), versions)

    assert "first" in killed
    assert "3 open orders is cancelled" in killed
    assert "all of its 2 positions" in killed
    assert promoted == (
        "v2 is promoted to paper. v1, which is there now, retires. "
        "It serves and trades from then on."
    )
