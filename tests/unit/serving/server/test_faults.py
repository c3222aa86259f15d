"""Faults S01 … S20 of a server, each by its name: what must happen, happens."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from fixtures.model_servers import (
    AT,
    ServedWorkspace,
    client_of,
    features_body,
    listening,
    make_workspace,
    market_bars,
    running,
    wait_until,
    window_of,
)
from tradingbot.domain.errors import ConfigError, TradingError
from tradingbot.serving.access.audit import AuditTrail
from tradingbot.serving.access.keys import LEEWAY, SCOPES, KeyBook
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.problems import shed
from tradingbot.serving.server.settings import ServerSettings, require_keys

PREDICT = "/v1/predict/features"
PAPER = "paper"


@pytest.fixture(scope="module")
def shared(bundles: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One server for tests that leave it as it was."""
    workspace = make_workspace(tmp_path_factory.mktemp("shared"), bundles)
    with client_of(workspace.parts()) as client:
        yield client


def post_raw(client: httpx.Client, body: bytes, **headers: str) -> httpx.Response:
    told = {"content-type": "application/json", **headers}
    return client.post(PREDICT, content=body, headers=told)


def error_of(answer: httpx.Response) -> dict:
    found: dict = answer.json()["error"]
    return found


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e39", "1e999", '"1.0"', "true"]
)
def test_S01_what_is_no_number_is_not_predicted_on(shared: httpx.Client, number: str) -> None:
    before = _count(shared, "inference_duration_seconds_count")
    text = json.dumps(features_body()).replace(str(window_of()["features"][0][0]), number, 1)

    answer = post_raw(shared, text.encode())

    assert answer.status_code == 422
    assert error_of(answer)["code"] in ("invalid", "not_finite")
    assert _count(shared, "inference_duration_seconds_count") == before


def test_S02_shape_and_order_of_features_are_named(shared: httpx.Client) -> None:
    ids = shared.get("/v1/model").json()["feature_ids"]
    narrow, odd = features_body(), features_body("AAA", "BBB")
    narrow["inputs"][0]["features"][4].pop()
    odd["inputs"][1]["symbol"] = "BBBB"
    asked = {
        "inputs.0.features.4": narrow,
        "inputs.1.symbol": odd,
        "feature_ids.0": features_body(feature_ids=ids[::-1]),
        f"feature_ids.{len(ids) - 1}": features_body(feature_ids=ids[:-1]),
        "inputs": {},
        "explian": features_body(explian=True),
        "inputs.0.features": {"inputs": [{"symbol": "AAA"}]},
    }
    for field, body in asked.items():
        answer = shared.post(PREDICT, json=body)
        assert (answer.status_code, error_of(answer)["field"]) == (422, field)
    assert "Did you mean 'BBB'?" in error_of(shared.post(PREDICT, json=odd))["message"]
    assert shared.post(PREDICT, json=features_body(feature_ids=ids)).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"   ", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'"\\', 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 9 + b"1" + b"}" * 9, 400),
        (b'{"inputs":[],"inputs":[]}', 400),
        (b"9" * 5000, 400),
        (b"null", 422),
        (b'"\\ud800"', 422),
        (b'{"inputs":[{"symbol":"\\ud800","features":[[1]]}]}', 422),
    ],
)
def test_S03_bodies_that_are_no_plain_json(shared: httpx.Client, body: bytes, status: int) -> None:
    assert post_raw(shared, body).status_code == status


def test_S03_large_and_compressed_bodies_are_refused_unread(shared: httpx.Client) -> None:
    before = _memory_bytes(shared)
    bomb = gzip.compress(b" " * 50_000_000)

    assert post_raw(shared, b" " * 10_485_760).status_code == 413
    assert post_raw(shared, (b" " * 65_536 for _ in range(160))).status_code == 413  # type: ignore[arg-type]
    assert post_raw(shared, bomb, **{"content-encoding": "gzip"}).status_code == 415
    assert shared.post(PREDICT, content=b"a=1").status_code == 415
    assert post_raw(shared, b"{}", **{"content-type": "text/plain"}).status_code == 415
    assert _memory_bytes(shared) - before < 64e6


def test_S04_keys_scopes_and_ends(workspace: ServedWorkspace) -> None:
    reads, predicts = workspace.key("read"), workspace.key("predict")
    expired = workspace.key("predict")
    parts = workspace.parts()
    with client_of(parts) as client:

        def status(headers: dict[str, str], path: str = PREDICT) -> int:
            if path == PREDICT:
                return client.post(path, json=features_body(), headers=headers).status_code
            return client.get(path, headers=headers).status_code

        assert status({}) == 401
        assert status(predicts) == 200
        assert status({"x-api-key": predicts["authorization"][7:]}) == 200
        assert status(reads) == 403
        assert (status(reads, "/v1/model"), status(predicts, "/v1/model")) == (200, 403)
        jwt = "eyJhbGciOiJub25lIn0.eyJzY29wZSI6ImFkbWluIn0."
        wrong = predicts["authorization"][:-4] + "AAAA"
        for odd in (f"Bearer {jwt}", "Basic YTpi", "Bearer", "", wrong):
            answer = client.post(PREDICT, json=features_body(), headers={"authorization": odd})
            assert answer.status_code == 401
            assert "www-authenticate" in answer.headers
        two = {**predicts, "x-api-key": "tb_1"}
        assert status(two) == 400
        workspace.clock.move(days=30, minutes=1)
        assert status(expired) == 401
        assert client.get("/live").status_code == 200
    kinds = [line.kind for line in AuditTrail(workspace.folder).lines()]
    assert "access refused" in kinds


def test_S04_no_scope_includes_another(workspace: ServedWorkspace) -> None:
    asked = {
        "read": ("GET", "/v1/model", None),
        "predict": ("POST", PREDICT, features_body()),
        "trade": ("POST", "/v1/sessions/none/stop", {"reason": "test"}),
        "admin": ("POST", "/v1/admin/swap", {"version": "v9"}),
    }
    with client_of(workspace.parts()) as client:
        for own in SCOPES:
            key = workspace.key(own)
            for scope, (method, path, body) in asked.items():
                status = client.request(method, path, json=body, headers=key).status_code
                assert (status == 403) == (scope != own), (own, scope, status)


def test_S04_revoked_keys_end_while_it_serves_and_rotated_ones_overlap(
    workspace: ServedWorkspace,
) -> None:
    book, day = KeyBook(workspace.folder), timedelta(days=1)
    old = book.create("bot", ["predict"], at=AT, lifetime=30 * day)
    with client_of(workspace.parts()) as client:

        def is_taken(secret: str) -> bool:
            told = {"authorization": f"Bearer {secret}"}
            return client.get("/v1/signals", headers=told).status_code != 401

        new = book.rotate(old.key.id, at=AT, overlap=day, lifetime=30 * day)
        assert (is_taken(old.secret), is_taken(new.secret)) == (True, True)
        workspace.clock.move(days=1, seconds=LEEWAY.total_seconds() + 1)
        assert (is_taken(old.secret), is_taken(new.secret)) == (False, True)
        book.revoke(new.key.id, at=workspace.clock())
        assert not is_taken(new.secret)
        (workspace.folder / "served" / "keys.json").unlink()
        answer = client.get("/v1/signals")
        assert answer.status_code == 503  # keys that vanish do not open the door


def test_S04_wrong_keys_are_locked_out_neighbours_are_not(workspace: ServedWorkspace) -> None:
    good, other = workspace.key("predict"), workspace.key("predict")
    wrong = {"authorization": good["authorization"][:-4] + "AAAA"}
    with client_of(workspace.parts()) as client:
        found = [client.get("/v1/signals", headers=wrong).status_code for _ in range(12)]
        locked = client.get("/v1/signals", headers=wrong)

        assert found == [401] * 10 + [429] * 2
        assert client.get("/v1/signals", headers=good).status_code == 409  # the right one is taken
        assert int(locked.headers["retry-after"]) in range(1, 62)
        assert client.get("/v1/signals", headers=other).status_code == 409
    assert "locked out" in {line.kind for line in AuditTrail(workspace.folder).lines()}


def test_S05_a_key_has_a_rate(workspace: ServedWorkspace) -> None:
    mine, other = workspace.key("read"), workspace.key("read")
    with client_of(workspace.parts(rate_per_s=0.5, burst=3)) as client:
        found = [client.get("/v1/model", headers=mine) for _ in range(5)]

        assert [each.status_code for each in found] == [200, 200, 200, 429, 429]
        assert found[1].headers["ratelimit-remaining"] == "1"
        assert found[4].headers["ratelimit-limit"] == "3"
        assert found[4].headers["retry-after"] in ("1", "2")
        assert client.get("/v1/model", headers=other).status_code == 200


def test_S05_what_finds_no_place_is_shed_at_once(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()
    decide = ServedModel.decide

    def slow(*args: object, **more: object) -> object:
        free.wait(20)
        return decide(*args, **more)  # type: ignore[arg-type]

    parts = workspace.parts(threads=1, waiting=1)
    with client_of(parts) as client:
        monkeypatch.setattr(ServedModel, "decide", slow)
        with _posting(client, 2) as answers:
            wait_until(lambda: parts.pool.n_inside == 2)
            begin = time.monotonic()
            shed = client.post(PREDICT, json=features_body())
            took = time.monotonic() - begin
            free.set()
        assert (shed.status_code, shed.headers["retry-after"]) == (503, "1")
        assert took < 5
        assert [each.status_code for each in answers] == [200, 200]
        assert _count(client, 'inference_shed_total{reason="busy"}') == 1


def test_S06_slow_heads_and_bodies_are_closed(workspace: ServedWorkspace) -> None:
    parts = workspace.parts(body_timeout_s=0.3)
    with client_of(parts) as client:
        address = ("127.0.0.1", client.base_url.port)
        head = b"POST /v1/predict/features HTTP/1.1\r\nhost: localhost\r\n"
        body = head + b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
        for begun in (b"", head, body):
            with socket.create_connection(address, timeout=10) as slow:
                slow.sendall(begun)
                said = b"".join(iter(lambda slow=slow: slow.recv(4096), b""))
                assert said == b"" if begun != body else b" 408 " in said
        assert client.post(PREDICT, json=features_body()).status_code == 200
        with socket.create_connection(address, timeout=10) as again:  # a second head, as slow
            again.sendall(b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            said = b""
            while not said.endswith(b"}"):
                said += again.recv(4096)
            again.sendall(b"GET /li")
            assert b"".join(iter(lambda: again.recv(4096), b"")) == b""


def test_S06_work_of_a_client_that_went_away_is_not_begun(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, begun = threading.Event(), []
    decide = ServedModel.decide

    def slow(self: ServedModel, *args: object) -> object:
        begun.append(1)
        free.wait(20)
        return decide(self, *args)  # type: ignore[arg-type]

    parts = workspace.parts(threads=1, waiting=1)
    with client_of(parts) as client:
        monkeypatch.setattr(ServedModel, "decide", slow)
        with _posting(client, 1):
            wait_until(lambda: len(begun) == 1)
            text = json.dumps(features_body()).encode()
            with socket.create_connection(("127.0.0.1", client.base_url.port)) as gone:
                head = b"POST /v1/predict/features HTTP/1.1\r\nhost: localhost\r\n"
                told = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(text)
                gone.sendall(head + told + text)
                wait_until(lambda: parts.pool.n_inside == 2)
            wait_until(lambda: parts.pool.n_inside == 1)
            free.set()
        assert len(begun) == 1


def test_S07_answers_that_are_no_numbers_hold(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = workspace.parts()
    with client_of(parts) as client:

        def broken(*_: object) -> object:
            raise TradingError("a model must answer in finite numbers", was="AAA")

        monkeypatch.setattr(ServedModel, "decide", broken)
        found = [client.post(PREDICT, json=features_body()) for _ in range(4)]

        for answer in found:
            assert (answer.status_code, error_of(answer)["code"]) == (503, "not_finite")
            assert {each["signal"] for each in answer.json()["signals"]} == {"HOLD"}
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()["state"]) == (503, "hold")
        assert _count(client, "model_answers_not_finite_total") == 3
        assert _count(client, 'model_serving_state{state="hold"}') == 1
        monkeypatch.undo()
        workspace.registry.promote("v2", at=AT, to=PAPER)  # another model ends the hold
        wait_until(lambda: client.get("/ready").status_code == 200)
        assert client.post(PREDICT, json=features_body()).status_code == 200


def test_S07_odd_questions_do_not_stop_a_sound_model(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = workspace.parts()
    with client_of(parts) as client:
        snapshot = parts.slot.require()
        for _ in range(20):
            parts.slot.note_answer(snapshot, is_finite=False)

        assert client.get("/ready").json()["state"] == "fresh"


@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_S08_a_bundle_that_is_not_whole_does_not_serve(
    workspace: ServedWorkspace, damage: str
) -> None:
    registry, admin = workspace.registry, workspace.key()
    path = registry.bundle_path(registry.version("v2"))
    whole = path.read_bytes()
    with client_of(workspace.parts()) as client:
        path.chmod(0o644)
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(whole[:-100] if damage == "cut" else whole[:200] + b"x" + whole[201:])

        answer = client.post("/v1/admin/swap", json={"version": "v2"}, headers=admin)

        assert (answer.status_code, error_of(answer)["code"]) == (409, "swap_refused")
        assert str(workspace.folder) not in answer.text
        ready = client.get("/ready").json()
        assert (ready["ready"], ready["model"]["version"]) == (True, "v1")
        told = client.post(PREDICT, json=features_body(), headers=admin).json()
        assert told["model"]["version"] == "v1"
    assert registry.current("paper").name == "v1"  # type: ignore[union-attr]
    assert "swap refused" in {line.kind for line in AuditTrail(workspace.folder).lines()}


def test_S08_a_bundle_that_breaks_after_it_was_promoted_leaves_the_last_good(
    workspace: ServedWorkspace,
) -> None:
    registry = workspace.registry
    with client_of(workspace.parts()) as client:
        registry.promote("v2", at=AT, to="shadow")
        path = registry.bundle_path(registry.version("v2"))
        whole = path.read_bytes()
        path.unlink()
        with registry._alone() as (chain, descriptor):  # decided while it was whole
            version = replace(registry.version("v2"), state="paper")
            registry._decide(chain, descriptor, AT, version, kind="promoted", reason="")
        wait_until(lambda: client.get("/ready").json()["state"] == "last_good")
        ready = client.get("/ready")
        told = client.post(PREDICT, json=features_body()).json()

        assert (ready.status_code, ready.json()["model"]["version"]) == (200, "v1")
        assert ready.json()["problems"]
        assert told["model"] == {**ready.json()["model"], "state": "last_good"}
        assert _count(client, 'model_serving_state{state="last_good"}') == 1
        path.write_bytes(whole)
    with client_of(workspace.parts()) as client:  # whole again: a new start serves it
        assert client.get("/ready").json()["model"]["version"] == "v2"
    path.write_bytes(whole[:-10])
    with client_of(workspace.parts()) as client:  # broken at the start: the one before
        found = client.get("/ready").json()
        assert (found["state"], found["model"]["version"]) == ("last_good", "v1")


def test_S08_a_bundle_that_fails_in_any_way_leaves_the_last_good(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> ServedModel:
        raise RuntimeError("a tensor of another shape")

    with client_of(workspace.parts()) as client:
        assert client.get("/ready").json()["model"]["version"] == "v1"
        monkeypatch.setattr(ServedModel, "open", fail)
        registry = workspace.registry
        with registry._alone() as (chain, descriptor):
            version = replace(registry.version("v2"), state="paper")
            registry._decide(chain, descriptor, AT, version, kind="promoted", reason="")
        wait_until(lambda: client.get("/ready").json()["state"] == "last_good")
        ready = client.get("/ready").json()

        assert ready["model"]["version"] == "v1"
        assert any("a tensor of another shape" in each for each in ready["problems"])
        told = client.post(PREDICT, json=features_body()).json()
        assert told["model"]["version"] == "v1"


def test_S10_it_is_not_ready_before_golden_vectors_passed(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, check = threading.Event(), ServedModel.check

    def late(self: ServedModel) -> object:
        free.wait(20)
        return check(self)

    monkeypatch.setattr(ServedModel, "check", late)
    with listening(workspace.parts()) as address, httpx.Client(base_url=address) as client:
        assert client.get("/live").status_code == 200
        ready = client.get("/ready")
        assert (ready.status_code, ready.json()["state"]) == (503, "none")
        answer = client.post(PREDICT, json=features_body())
        assert (answer.status_code, error_of(answer)["code"]) == (503, "no_model")
        free.set()
        wait_until(lambda: client.get("/ready").status_code == 200)


def test_S12_a_server_that_ends_says_so_until_the_last_request_is_answered(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, free, answers = threading.Event(), threading.Event(), []
    decide = ServedModel.decide

    def late(*given: Any, **named: Any) -> Any:
        begun.set()
        free.wait(20)
        return decide(*given, **named)

    parts = workspace.parts()
    parts.slot.follow()
    monkeypatch.setattr(ServedModel, "decide", late)
    with running(parts) as (address, server), httpx.Client(base_url=address, timeout=20) as before:
        assert before.get("/ready").json()["ready"]

        def ask() -> None:
            answers.append(httpx.post(f"{address}{PREDICT}", json=features_body(), timeout=20))

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(20)
        server.handle_exit(signal.SIGTERM, None)
        time.sleep(0.3)  # uvicorn looks ten times a second whether it is to end

        ready = httpx.get(f"{address}/ready")  # a new connection
        refused = before.post(PREDICT, json=features_body())  # one that was open
        live = httpx.get(f"{address}/live")
        free.set()
        asking.join(20)
        wait_until(lambda: _refuses(address))

    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert ready.json()["state"] == "draining"
    assert "the server is ending" in ready.text
    assert (refused.status_code, error_of(refused)["code"]) == (503, "draining")
    assert (refused.headers["retry-after"], refused.headers["connection"]) == ("1", "close")
    assert live.status_code == 200
    assert [each.status_code for each in answers] == [200]


def test_S12_what_takes_longer_than_it_may_does_not_keep_a_server(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = workspace.parts(drain_s=1)
    parts.n_under_way = 1  # of a client that never reads its answer

    with running(parts) as (address, server):
        server.handle_exit(signal.SIGTERM, None)
        wait_until(lambda: _refuses(address))


def _refuses(address: str) -> bool:
    try:
        httpx.get(f"{address}/live")
    except httpx.ConnectError:
        return True
    return False


def test_S05_whoever_is_shed_is_told_when_to_come_back() -> None:
    assert shed("busy", "full").headers == {"retry-after": "1"}
    assert shed("busy", "full", retry_after_s=7).headers == {"retry-after": "7"}


def test_S11_work_that_crashes_is_one_answer(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash in a thread is one 500; one of the process is S09's restart."""
    embed, crashes = ServedModel.embed_windows, iter([True, True])

    def crash(self: ServedModel, *args: object) -> object:
        if next(crashes, False):
            raise MemoryError("secret-in-a-traceback")
        return embed(self, *args)  # type: ignore[arg-type]

    with client_of(workspace.parts()) as client:
        monkeypatch.setattr(ServedModel, "embed_windows", crash)
        found = [client.post(PREDICT, json=features_body()) for _ in range(3)]

        assert [each.status_code for each in found] == [500, 500, 200]
        assert "secret-in-a-traceback" not in found[0].text
        assert client.get("/ready").status_code == 200


def test_S13_without_registry_it_predicts_and_is_not_ready(workspace: ServedWorkspace) -> None:
    trader = workspace.key("trade", "predict")
    log = workspace.registry.folder / "versions.jsonl"
    with client_of(workspace.parts()) as client:
        text = log.read_bytes()
        log.write_bytes(text.replace(b"GO", b"NO", 1))
        wait_until(lambda: client.get("/ready").status_code == 503)

        assert client.get("/live").status_code == 200
        assert client.post(PREDICT, json=features_body(), headers=trader).status_code == 200
        act = client.post("/v1/sessions/first/kill", json={"reason": "drill"}, headers=trader)
        assert (act.status_code, error_of(act)["code"]) == (503, "no_sessions")
        log.write_bytes(text)
        wait_until(lambda: client.get("/ready").status_code == 200)


def test_S14_stale_bars_are_never_a_fresh_order(workspace: ServedWorkspace) -> None:
    with client_of(workspace.parts()) as client:
        for bar in market_bars(60):
            client.post("/v1/stream/bars", json=bar)
        assert client.get("/v1/signals").status_code == 200
        workspace.clock.move(seconds=5401)

        for path in ("/v1/signals", "/v1/signals/AAA"):
            answer = client.get(path)
            assert (answer.status_code, error_of(answer)["code"]) == (409, "stale")
            assert {each["signal"] for each in answer.json()["signals"]} == {"HOLD"}
        unknown = client.get("/v1/signals/AAAA")
        assert (unknown.status_code, error_of(unknown)["code"]) == (404, "unknown_symbol")
        assert "Did you mean 'AAA'?" in error_of(unknown)["message"]
        history = {"history": market_bars(20)}
        assert client.post("/v1/predict/bars", json=history).status_code == 409
        looked = client.post("/v1/predict/bars", json={**history, "allow_stale": True})
        assert looked.status_code == 200
        old = features_body(closed_at=AT.isoformat())
        assert client.post(PREDICT, json=old).status_code == 409
        future = market_bars(1, last=workspace.clock() + timedelta(minutes=5))[0]
        answer = client.post("/v1/stream/bars", json=future)
        assert (answer.status_code, error_of(answer)["code"]) == (422, "future")
        assert _count(client, 'market_data_age_seconds{feed="stream"}') == 5401


def test_S15_batches_have_a_size(shared: httpx.Client) -> None:
    row = window_of()["features"][0]
    many = {"inputs": [{"symbol": "AAA", "features": [row]}] * 10_000}
    long = {"inputs": [{"symbol": "AAA", "features": [row] * 1025}]}
    for body in ({"inputs": []}, long, {"inputs": [{"symbol": "AAA", "features": []}]}):
        assert shared.post(PREDICT, json=body).status_code == 422
    assert shared.post(PREDICT, json=many).status_code in (413, 422)
    explained = {"inputs": [window_of()] * 9, "explain": True}
    answer = shared.post(PREDICT, json=explained)
    assert (answer.status_code, error_of(answer)["code"]) == (422, "batch")
    bars = {"history": market_bars(2), "symbols": []}
    assert shared.post("/v1/predict/bars", json=bars).status_code == 422


@pytest.mark.parametrize(
    "version", ["../../etc/passwd", "http://169.254.169.254/", "v1/../v2", "V1", "", "v1\r\nx: y"]
)
def test_S16_models_are_named_by_version_alone(workspace: ServedWorkspace, version: str) -> None:
    admin = workspace.key("admin")
    with client_of(workspace.parts()) as client:
        answer = client.post("/v1/admin/swap", json={"version": version}, headers=admin)

        assert answer.status_code == 422
        assert (
            client.post("/v1/admin/swap", json={"version": "v9"}, headers=admin).status_code == 404
        )


def test_S16_heads_paths_and_ranges(shared: httpx.Client) -> None:
    address = ("127.0.0.1", shared.base_url.port)
    for odd in (
        b"GET /live HTTP/1.1\r\nhost: localhost\r\nx: a\x00b\r\n\r\n",
        b"GET /live HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"GET /live HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ):
        with socket.create_connection(address, timeout=10) as client:
            client.sendall(odd)
            assert b" 4" in client.recv(4096)[:15]
    ranges = {"range": "bytes=" + ",".join(f"{i}-{i}" for i in range(2000))}
    assert shared.get("/live", headers=ranges).status_code == 200
    for path in ("/../../etc/passwd", "/%2e%2e/served/keys.json", "/v1/signals/..%2f..%2fx"):
        assert shared.get(path).status_code in (404, 409)
    rebound = shared.get("/v1/model", headers={"host": "evil.example"})
    assert (rebound.status_code, error_of(rebound)["code"]) == (421, "host")


def test_S17_what_is_presented_in_vain_is_not_written_down(workspace: ServedWorkspace) -> None:
    workspace.key("predict")
    with client_of(workspace.parts()) as client:
        wrong = client.get("/v1/signals", headers={"x-api-key": "an0ther-pass-word"})
    files = b"".join(path.read_bytes() for path in workspace.folder.rglob("*") if path.is_file())

    assert wrong.status_code == 401
    assert b"access refused" in files
    assert b"an0ther-pass-word" not in files + wrong.content


def test_S17_secrets_and_lines_do_not_reach_the_log(
    workspace: ServedWorkspace, caplog: pytest.LogCaptureFixture
) -> None:
    secret = workspace.key("predict")["authorization"].removeprefix("Bearer ")
    caplog.set_level(logging.DEBUG)
    with client_of(workspace.parts()) as client:
        asked = [
            client.get("/v1/signals", params={"api_key": secret}),
            client.get(f"/v1/signals/{secret}"),  # the first that is refused is audited
            client.get("/v1/signals/%0aFAKE%20LINE"),
            client.post(PREDICT, json={secret: 1}, headers={"authorization": f"Bearer {secret}"}),
            client.get("/metrics"),
            client.get("/openapi.json"),
        ]
        assert asked[0].status_code == 400
    ours = [each for each in caplog.records if not each.name.startswith(("httpx", "httpcore"))]
    assert ours
    logged = "\n".join(each.getMessage() for each in ours)
    told = logged + "".join(each.text for each in asked[:3]) + asked[4].text + asked[5].text
    files = b"".join(path.read_bytes() for path in workspace.folder.rglob("*") if path.is_file())
    assert secret not in told
    assert secret.encode() not in files
    assert secret.split("_", 2)[2] not in told
    assert "\nFAKE LINE" not in logged


def test_S18_metrics_and_documents_need_a_key_in_production(workspace: ServedWorkspace) -> None:
    reads = workspace.key("read")
    with client_of(workspace.parts(profile="production")) as client:
        for path in ("/metrics", "/openapi.json", "/v1/model", "/v1/sessions"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers=reads).status_code != 401
        for path in ("/docs", "/redoc", "/debug"):
            assert client.get(path, headers=reads).status_code == 404
        assert client.get("/live").headers.get("server") is None


def test_S18_nothing_is_open_in_production_where_keys_are_gone(workspace: ServedWorkspace) -> None:
    with client_of(workspace.parts(profile="production")) as client:
        assert client.get("/v1/model").status_code == 401
        assert client.get("/live").status_code == 200


def test_S18_others_are_served_with_keys_alone() -> None:
    for settings in (ServerSettings(host="0.0.0.0"), ServerSettings(profile="production")):
        with pytest.raises(ConfigError, match="must have an API key"):
            require_keys(settings, 0)
        require_keys(settings, 1)
    require_keys(ServerSettings(), 0)
    require_keys(ServerSettings(host="::1"), 0)


def test_C09_production_knows_no_secret_that_was_not_made_for_it(
    workspace: ServedWorkspace,
) -> None:
    with pytest.raises(ConfigError, match="must have an API key"):
        require_keys(ServerSettings(profile="production"), 0)
    made = [workspace.key("read")["authorization"] for _ in range(2)]
    assert len(set(made)) == 2
    guesses = ("x", "admin", "password", "changeme", "secret", "tradingbot", "default", "0" * 64)
    with client_of(workspace.parts(profile="production")) as client:
        for guess in guesses:
            answer = client.get("/v1/model", headers={"Authorization": f"Bearer {guess}"})
            assert answer.status_code == 401, guess
        assert client.get("/v1/model", headers={"Authorization": made[0]}).status_code != 401


def test_S19_answers_say_who_answered_and_can_be_pinned(
    shared: httpx.Client, bundles: list[Path]
) -> None:
    now = shared.get("/v1/model").json()["model"]["sha256"]
    for path, body in (
        (PREDICT, features_body()),
        ("/v1/predict/bars", {"history": market_bars(3)}),
    ):
        answer = shared.post(path, json={**body, "model_sha256": now})
        other = shared.post(path, json={**body, "model_sha256": "0" * 64})
        assert answer.json()["model"]["sha256"] == answer.headers["x-model-sha256"] == now
        assert answer.headers["x-model-version"] == "v1"
        assert (other.status_code, other.headers["x-model-sha256"]) == (409, now)


def test_S20_clocks_may_be_apart_by_a_little(workspace: ServedWorkspace) -> None:
    key = workspace.key("read")
    ends = AT + timedelta(days=30)
    with client_of(workspace.parts()) as client:
        workspace.clock.now = ends + LEEWAY - timedelta(seconds=1)
        assert client.get("/v1/model", headers=key).status_code == 200
        workspace.clock.now = ends + LEEWAY
        assert client.get("/v1/model", headers=key).status_code == 401


@contextlib.contextmanager
def _posting(client: httpx.Client, count: int) -> Iterator[list[httpx.Response]]:
    """Ask from threads; the answers are there afterwards."""
    answers: list[httpx.Response] = []

    def post() -> None:
        answers.append(httpx.post(client.base_url.join(PREDICT), json=features_body(), timeout=30))

    threads = [threading.Thread(target=post) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield answers
    for thread in threads:
        thread.join(30)


def _count(client: httpx.Client, name: str) -> float:
    found = [line for line in client.get("/metrics").text.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def _memory_bytes(client: httpx.Client) -> float:
    return _count(client, "process_resident_memory_bytes")
