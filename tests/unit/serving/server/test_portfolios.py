"""A server with a portfolio answers what its master wants of all symbols, or says where to ask."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pytest

from fixtures.drawn_portfolios import SYMBOLS, make_portfolio_run
from fixtures.model_servers import (
    AT,
    ServedWorkspace,
    client_of,
    features_body,
    make_workspace,
    market_bars,
)
from fixtures.portfolio_sessions import RULES, SLEEVE_RULES
from tradingbot.app.served_portfolio import PushedSleeves
from tradingbot.networks.actor_layout import Squash
from tradingbot.serving.bundle import BundleVerdict
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.bar_stream import PushedBar
from tradingbot.serving.server.parts import ServerParts
from tradingbot.serving.server.portfolios import WantedWeights
from tradingbot.serving.server.schemas import ClosedBars
from tradingbot.serving.server.settings import ServerSettings

ZONE = ServerSettings().time_zone
BARS = market_bars(205, symbols=SYMBOLS)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> ServedWorkspace:
    folder = tmp_path_factory.mktemp("portfolio")
    run = make_portfolio_run(
        folder / "runs",
        rules=RULES,
        sleeve_rules=SLEEVE_RULES,
        encoder=None,
        squash=Squash("tanh", gain=2.0),
    )
    verdict = BundleVerdict(status="GO", gates={"final/sharpe": "pass"}, dossier_sha256="d" * 64)
    path = folder / "whole.zip"
    export_run(run, path, n_hostile=20, verdict=verdict)
    (folder / "served").mkdir()
    home = folder / "home"
    home.mkdir()
    return make_workspace(home, [path])


def parts_of(workspace: ServedWorkspace) -> ServerParts:
    told = ServerSettings(port=0, rate_per_s=1e6, burst=1_000_000)
    return ServerParts.build(workspace.folder, told, clock=workspace.clock, sleeves=PushedSleeves)


def pushed(told: dict[str, Any]) -> PushedBar:
    return PushedBar.of(ClosedBars.model_validate(told))


def wanted(workspace: ServedWorkspace) -> WantedWeights:
    """What the decider of sessions wants of the same bars."""
    version = workspace.registry.version("v1")
    model = ServedModel.open(workspace.registry.bundle_path(version))
    sleeves = PushedSleeves(model, ZONE)
    nothing: dict[str, np.ndarray] = {}
    for told in BARS:
        bar = pushed(told)
        names = ("open", "high", "low", "close", "volume", "vwap")
        fields = dict(zip(names, bar.values.T, strict=True))
        sleeves.take(bar.closed_at, np.ones(len(SYMBOLS), bool), fields, nothing)
    assert sleeves.have_begun
    return sleeves.weigh()


def test_history_and_stream_are_answered_with_the_portfolios_weights(
    workspace: ServedWorkspace,
) -> None:
    expected, parts = wanted(workspace), parts_of(workspace)
    with client_of(parts) as client:
        sha256 = parts.slot.require().serving.model.sha256
        history = client.post("/v1/predict/bars", json={"history": BARS})
        for told in BARS[:-1]:
            parts.slot.push(pushed(told))
        stream = client.post("/v1/stream/bars", json=BARS[-1])
        newest = client.get("/v1/signals")
        one = client.get(f"/v1/signals/{SYMBOLS[1]}")

    for answer in (history, stream, newest):
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-model-sha256"] == answer.json()["model"]["sha256"] == sha256
        body = answer.json()
        assert body["is_warm"]
        assert datetime.fromisoformat(body["closed_at"]) == AT
        assert [each["symbol"] for each in body["signals"]] == [*SYMBOLS]
        found = [each["weight"] for each in body["signals"]]
        assert found == pytest.approx(expected.weight.tolist(), abs=1e-12)
        for each in body["signals"]:
            assert each["signal"] == ("BUY" if each["weight"] > 0.0 else "HOLD")
            assert each["size"] == pytest.approx(each["weight"])
        assert 0.0 < sum(found) < 1.0
    assert one.json()["signals"] == [newest.json()["signals"][1]]


def test_sleeves_that_have_not_begun_are_told(workspace: ServedWorkspace) -> None:
    with client_of(parts_of(workspace)) as client:
        answer = client.post("/v1/predict/bars", json={"history": BARS[-5:]}).json()

    assert not answer["is_warm"]
    assert {each["signal"] for each in answer["signals"]} == {"HOLD"}
    assert all("have not begun" in each["reason"] for each in answer["signals"])


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/v1/predict/features", features_body("AAA")),
        ("/v1/predict/bars", {"history": BARS[-3:], "accounts": {SYMBOLS[0]: {"size": 0.1}}}),
        ("/v1/predict/bars", {"history": BARS[-3:], "explain": True}),
        ("/v1/stream/bars", {**BARS[-1], "accounts": {SYMBOLS[0]: {"size": 0.1}}}),
    ],
)
def test_what_a_portfolio_cannot_be_asked_is_refused_with_what_can(
    workspace: ServedWorkspace, route: str, body: dict[str, Any]
) -> None:
    with client_of(parts_of(workspace)) as client:
        answer = client.post(route, json=body)

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "portfolio"
    assert "POST /v1/stream/bars" in error["message"] or "paper start" in error["message"]


def test_server_that_cannot_run_sleeves_says_so(workspace: ServedWorkspace) -> None:
    with client_of(workspace.parts()) as client:
        answer = client.get("/v1/signals")

    assert answer.status_code == 503
    assert "runs sleeves" in answer.json()["error"]["message"]


def test_wild_prices_make_no_weight_that_is_no_number(workspace: ServedWorkspace) -> None:
    wild = [
        *BARS[:-1],
        {
            **BARS[-1],
            "bars": {
                symbol: {"open": 1e-9, "high": 1e12, "low": 1e-9, "close": 1e12, "volume": 1e15}
                for symbol in SYMBOLS
            },
        },
    ]
    with client_of(parts_of(workspace)) as client:
        answer = client.post("/v1/predict/bars", json={"history": wild})

    assert answer.status_code in (200, 503)
    if answer.status_code == 200:
        assert all(np.isfinite(each["weight"]) for each in answer.json()["signals"])
