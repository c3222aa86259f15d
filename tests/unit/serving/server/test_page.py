"""docs/how_to/serve.md: its request is one that the server takes, its routes are all there are."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import httpx

from fixtures.model_servers import ServedWorkspace, client_of

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how_to" / "serve.md"


def test_the_request_of_the_page_is_answered(workspace: ServedWorkspace) -> None:
    (body,) = re.findall(r"-d '(\{.*?\})'", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    asked = json.loads(body.replace("SPY", "AAA"))
    workspace.clock.now = datetime.fromisoformat(asked["history"][-1]["closed_at"])
    with client_of(workspace.parts()) as client:
        answer = client.post("/v1/predict/bars", json=asked)

    assert answer.status_code == 200
    assert [each["symbol"] for each in answer.json()["signals"]] == ["AAA"]


def test_every_route_is_in_the_table(client: httpx.Client) -> None:
    text = PAGE.read_text(encoding="utf-8")
    paths = client.get("/openapi.json").json()["paths"]
    shown = {path.replace("{symbol}", "SYMBOL").replace("{name}", "NAME") for path in paths}

    assert len(shown) >= 10
    assert [path for path in sorted(shown) if path.replace("/{act}", "") not in text] == []
