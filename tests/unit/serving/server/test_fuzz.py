"""Requests that a schema allows, and such as it does not: none is answered with a 5xx.

100,000 cases with: pytest -m slow tests/unit/serving/server/test_fuzz.py
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode

from fixtures.model_servers import AT, client_of, features_body, make_workspace, market_bars
from tradingbot.app.session_desk import WorkspaceSessions

ASKED = ("/v1/predict/features", "/v1/predict/bars", "/v1/stream/bars", "/v1/signals/{symbol}")
ROUTES = [("POST", path) for path in ASKED[:3]] + [
    ("GET", ASKED[3]),
    ("POST", "/v1/admin/swap"),
    ("POST", "/v1/sessions/{name}/{act}"),
]
MOMENTS = ["2026-01-05T14:00:00Z", "2026-01-05T15:00:00Z", "2026-01-05T16:00:00+01:00"]
LONG_AGO = AT - timedelta(days=5_000)
HOURS = itertools.count()
BLOCK = 1_000  # the generator keeps what it drew and slows down: begin anew, with another seed
SLOW_CASES = int(os.environ.get("FUZZ_CASES", "100000"))


@pytest.fixture(scope="module")
def server(
    bundles: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    workspace = make_workspace(tmp_path_factory.mktemp("fuzzed"), bundles)
    headers = workspace.key()
    desk = WorkspaceSessions(workspace.folder)
    with client_of(workspace.parts(desk, waiting=64)) as client:
        yield client, headers


def document_of(client: httpx.Client, headers: dict[str, str]) -> dict[str, Any]:
    """Return the schema, narrowed to what reaches the model often: else almost all is 422."""
    document = client.get("/openapi.json", headers=headers).json()
    schemas = document["components"]["schemas"]
    names = {"enum": ["AAA", "BBB", "CCC", "CCC", "ZZZ"]}
    moment = {"enum": MOMENTS}
    window = schemas["FeatureWindow"]["properties"]
    window["symbol"] = names
    window["features"]["maxItems"] = 10
    window["features"]["items"].update(minItems=7, maxItems=7)
    now = client.get("/v1/model", headers=headers).json()["model"]["sha256"]
    for kind in ("FeaturesRequest", "HistoryRequest", "NextBarRequest", "ClosedBars"):
        fields = schemas[kind]["properties"]
        if "model_sha256" in fields:
            fields["model_sha256"] = {"enum": [now, None]}
        if "closed_at" in fields:
            fields["closed_at"] = moment
        if "bars" in fields:
            fields["bars"].update(propertyNames=names, maxProperties=4)
        for told in ("accounts", "symbols"):
            fields.pop(told, None)
    schemas["FeaturesRequest"]["properties"]["inputs"]["maxItems"] = 4
    schemas["FeaturesRequest"]["properties"].pop("feature_ids")
    schemas["HistoryRequest"]["properties"]["history"]["maxItems"] = 3
    prices = {"open": [100, 100.5], "high": [102, 1e12], "low": [99, 1e-9], "close": [101.0]}
    for name, known in prices.items():
        schemas["BarFields"]["properties"][name] = {"enum": known}
    schemas["BarFields"]["properties"].pop("covariates")
    account = window["account"]
    account.update(propertyNames={"enum": ["size", "cash", "drawdown", "nope"]}, maxProperties=2)
    return document


def fuzz(
    server: tuple[httpx.Client, dict[str, str]], route: tuple[str, str], count: int
) -> Counter[int]:
    client, headers = server
    method, path = route
    schema = schemathesis.openapi.from_dict(document_of(client, headers))
    found: Counter[int] = Counter()
    blocks = itertools.product(
        (GenerationMode.POSITIVE, GenerationMode.NEGATIVE), range(0, max(count // 2, 1), BLOCK)
    )
    for mode, drawn in blocks:
        cases = schema[path][method].as_strategy(generation_mode=mode)

        @seed(7 + drawn)
        @settings(
            max_examples=min(max(count // 2, 1) - drawn, BLOCK),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases)
        def ask(case: Any) -> None:
            answer = send(client, headers, case)
            found[answer.status_code] += 1
            assert answer.status_code < 500, (answer.text, case)
            if answer.status_code >= 400:
                assert answer.json()["error"]["message"]

        try:
            ask()
        except Exception as e:
            if "NegativeData" in type(e).__name__ or "Unsatisfiable" in type(e).__name__:
                continue  # a route without anything to get wrong
            raise
    return found


def send(client: httpx.Client, headers: dict[str, str], case: Any) -> httpx.Response:
    """Send a case as it was drawn, over the connection that is open.

    But a close of the stream is moved to the next hour, or all after the first would be late.
    """
    told = {**headers}
    content: bytes | None = None
    if case.method == "POST":
        body = case.body
        if case.path == ASKED[2] and isinstance(body, dict) and body.get("closed_at") in MOMENTS:
            body = {**body, "closed_at": (LONG_AGO + next(HOURS) * timedelta(hours=1)).isoformat()}
        content = body_of(body)
        told["content-type"] = str(case.media_type or "application/json")
    query = {key: str(value) for key, value in (case.query or {}).items()}
    return client.request(
        case.method, case.formatted_path, params=query, content=content, headers=told
    )


def body_of(drawn: Any) -> bytes:
    if isinstance(drawn, bytes):
        return drawn
    try:
        return json.dumps(drawn).encode()
    except (TypeError, ValueError):
        return b""


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: " ".join(route))
def test_no_case_of_the_schema_is_answered_with_5xx(server: Any, route: tuple[str, str]) -> None:
    found = fuzz(server, route, 24)

    assert found.total() >= 10


def test_cases_reach_the_model(server: Any) -> None:
    """The fuzzer is no test if everything is refused at the door."""
    client, headers = server
    good = client.post(ASKED[0], json=features_body(), headers=headers)
    history = client.post(ASKED[1], json={"history": market_bars(3)}, headers=headers)

    assert (good.status_code, history.status_code) == (200, 200)
    assert fuzz(server, ("POST", ASKED[0]), 60)[200] > 0


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: " ".join(route))
def test_100_000_cases_are_answered_without_5xx(server: Any, route: tuple[str, str]) -> None:
    count = int(SLOW_CASES * (0.25 if route[1] in ASKED[:3] else 0.25 / 3)) + 2
    found = fuzz(server, route, count)

    assert found.total() >= 0.95 * count, found
    if os.environ.get("FUZZ_CASES"):
        sys.stdout.write(f"{' '.join(route)}: {found.total()} cases, {dict(found)}\n")
