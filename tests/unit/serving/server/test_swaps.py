"""S09 and S12: models change under load, processes end and begin again, nothing is dropped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from fixtures.model_servers import (
    AT,
    ServedWorkspace,
    client_of,
    features_body,
    market_bars,
    wait_until,
)
from tradingbot.serving.access.audit import AuditTrail
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server import model_slot
from tradingbot.serving.server.bar_stream import PushedBar
from tradingbot.serving.server.prediction import ServingModel, answer_windows, read_windows
from tradingbot.serving.server.problems import Problem
from tradingbot.serving.server.schemas import ClosedBars, FeaturesRequest

PREDICT = "/v1/predict/features"


class Load:
    """Clients that ask again and again; every answer is compared with its model's own."""

    def __init__(
        self, address: httpx.URL, headers: dict[str, str], wanted: dict[str, float]
    ) -> None:
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._wanted, self._ended = wanted, threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(address, headers)) for _ in range(2)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)

    def _ask(self, address: httpx.URL, headers: dict[str, str]) -> None:
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            while not self._ended.is_set():
                answer = client.post(PREDICT, json=features_body())
                told = answer.json()
                sha = answer.headers.get("x-model-sha256", "none")
                self.answers[sha] += 1
                is_one = answer.status_code == 200 and told["model"]["sha256"] == sha
                if not is_one or told["signals"][0]["action"] != self._wanted[sha]:
                    self.wrong.append(answer.text)


def actions_of(workspace: ServedWorkspace) -> dict[str, float]:
    """What each version answers to the same features."""
    found = {}
    for version in workspace.registry.versions():
        model = ServedModel.open(workspace.registry.bundle_path(version))
        serving = ServingModel(model, version.name)
        seen = read_windows(serving, FeaturesRequest(**features_body()))
        found[model.sha256] = float(answer_windows(serving, seen)[0].action[0])
    return found


def test_S09_swaps_under_load_fail_nothing_and_mix_nothing(workspace: ServedWorkspace) -> None:
    wanted, admin = actions_of(workspace), workspace.key()
    assert len({*wanted.values()}) == 2
    with (
        client_of(workspace.parts(threads=2, waiting=8)) as client,
        Load(client.base_url, admin, wanted) as load,
    ):
        for number in range(12):
            version = f"v{2 - number % 2}"
            answer = client.post("/v1/admin/swap", json={"version": version}, headers=admin)
            assert answer.json()["model"]["version"] == version
        wait_until(lambda: len(load.answers) == 2)

    assert load.wrong == []
    assert sum(load.answers.values()) > 20
    kinds = Counter(line.kind for line in AuditTrail(workspace.folder).lines())
    assert kinds["model swapped"] == 12


def test_S09_swaps_at_once_are_one_after_the_other(workspace: ServedWorkspace) -> None:
    admin, answers = workspace.key("admin"), []
    with client_of(workspace.parts()) as client:

        def swap(version: str) -> None:
            told = {"version": version}
            url = client.base_url.join("/v1/admin/swap")
            answers.append(httpx.post(url, json=told, headers=admin, timeout=30))

        threads = [threading.Thread(target=swap, args=(f"v{1 + n % 2}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        now = client.get("/ready").json()["model"]["version"]

    assert {each.status_code for each in answers} == {200}
    assert workspace.registry.current("paper").name == now  # type: ignore[union-attr]


def test_promotions_and_rollbacks_by_command_are_followed(workspace: ServedWorkspace) -> None:
    with client_of(workspace.parts()) as client:

        def serves(version: str) -> bool:
            return client.get("/ready").json()["model"]["version"] == version

        workspace.registry.promote("v2", at=AT, to="paper")
        wait_until(lambda: serves("v2"))
        workspace.registry.roll_back(None, at=AT)
        wait_until(lambda: serves("v1"))


def test_a_model_that_is_swapped_in_has_seen_the_bars_of_the_stream(
    workspace: ServedWorkspace,
) -> None:
    admin, bars = workspace.key(), market_bars(60)
    with client_of(workspace.parts()) as client:
        for bar in bars[:59]:
            client.post("/v1/stream/bars", json={**bar, "allow_stale": True}, headers=admin)
        client.post("/v1/admin/swap", json={"version": "v2"}, headers=admin)
        told = client.post("/v1/stream/bars", json=bars[59], headers=admin).json()
    with client_of(workspace.parts()) as client:  # v2 from the first bar on
        for bar in bars:
            wanted = client.post(
                "/v1/stream/bars", json={**bar, "allow_stale": True}, headers=admin
            ).json()

    assert told["model"]["version"] == wanted["model"]["version"] == "v2"
    assert told["is_warm"]
    for ours, theirs in zip(told["signals"], wanted["signals"], strict=True):
        assert ours["action"] == pytest.approx(theirs["action"], abs=1e-5)
        assert ours["reason"] is None


def test_bars_that_come_while_a_model_is_made_ready_are_in_its_stream(
    workspace: ServedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, made = workspace.parts(), model_slot.ModelStream
    parts.slot.follow()
    first, second = (PushedBar.of(ClosedBars.model_validate(bar)) for bar in market_bars(2))
    parts.slot.push(first)

    def slow(*args: Any, **named: Any) -> model_slot.ModelStream:
        stream = made(*args, **named)
        parts.slot.push(second)  # to the model that still serves
        return stream

    monkeypatch.setattr(model_slot, "ModelStream", slow)
    swapped = parts.slot.swap("v2", reason="", accept=None)

    assert swapped.stream.closed_at == second.closed_at
    assert swapped.stream.live.bars_taken == 2


def test_a_model_that_is_retired_serves_no_more_and_a_rollback_puts_it_back(
    workspace: ServedWorkspace,
) -> None:
    parts = workspace.parts()
    parts.slot.follow()
    assert parts.slot.rung == "fresh"
    workspace.registry.promote("v1", at=AT, to="retired")
    parts.slot.follow()

    assert (parts.slot.rung, parts.slot.current) == ("none", None)
    with pytest.raises(Problem, match="no_model"):
        parts.slot.require()
    workspace.registry.roll_back("v1", at=AT)
    parts.slot.follow()
    assert parts.slot.rung == "fresh"


def start_process(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start `tradingbot serve` as a user does; return it and its address."""
    command = [sys.executable, "-m", "tradingbot.app.cli", "--workspace", str(folder)]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
    )
    assert process.stdout is not None
    lines = []
    while not lines or lines[-1].rstrip() != "}":
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate()[1]
    address = json.loads("".join(lines))["address"]
    wait_until(lambda: httpx.get(f"{address}/ready").status_code == 200)
    return process, address


def test_S09_killed_after_a_swap_it_begins_with_the_version_of_the_registry(
    workspace: ServedWorkspace,
) -> None:
    workspace.clock.now = datetime.now(UTC)  # that of the process, by which keys expire
    admin = workspace.key("admin", "predict")
    process, address = start_process(workspace.folder)
    swapped = httpx.post(f"{address}/v1/admin/swap", json={"version": "v2"}, headers=admin)
    process.kill()
    process.communicate()
    assert swapped.status_code == 200

    process, address = start_process(workspace.folder)
    told = httpx.get(f"{address}/ready").json()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert told["model"]["version"] == "v2"


def test_S12_requests_that_were_accepted_are_answered_when_it_ends(
    workspace: ServedWorkspace,
) -> None:
    process, address = start_process(workspace.folder, "--threads", "1", "--waiting", "40")
    statuses: list[int | str] = []
    slow = {"history": market_bars(250), "symbols": ["AAA"], "allow_stale": True, "explain": True}

    def ask() -> None:
        try:
            answer = httpx.post(f"{address}/v1/predict/bars", json=slow, timeout=60)
            code = answer.json().get("error", {}).get("code")
            statuses.append(code or answer.status_code)
        except httpx.ConnectError:
            statuses.append("not accepted")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    in_flight = "inference_in_flight_requests "

    def n_inside() -> float:
        text = httpx.get(f"{address}/metrics").text
        return next(
            float(line.split()[1]) for line in text.splitlines() if line.startswith(in_flight)
        )

    wait_until(lambda: n_inside() >= 2)
    process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(60)
    _, said = process.communicate(timeout=60)

    assert {*statuses} <= {200, "draining", "not accepted"}
    assert statuses.count(200) >= 2
    assert process.returncode in (0, 143, -signal.SIGTERM), said
    assert "Traceback" not in said
