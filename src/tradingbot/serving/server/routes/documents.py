"""How routes describe themselves: schemas of bodies that they read by their own rules, errors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tradingbot.serving.server.problems import ErrorAnswer

_SAID = {
    400: "The body is no JSON, or the request is malformed.",
    401: "No key, or one that is not taken.",
    403: "The key lacks the scope.",
    404: "There is none of that name.",
    408: "The body came too slowly.",
    409: "Another model serves, a bar is out of order or stale, a swap or a stop was refused.",
    413: "The body is too large.",
    415: "The body is compressed, or not JSON.",
    422: "A field is not as it must be; the answer names it.",
    429: "Too many requests of this key, or too many wrong keys.",
    503: "No model serves, or the server is busy; come back after Retry-After.",
}


def body_of(kind: type[BaseModel]) -> dict[str, Any]:
    """Return what makes a route's document say which body it takes."""
    place = {"$ref": f"#/components/schemas/{kind.__name__}"}
    content = {"application/json": {"schema": place}}
    return {"requestBody": {"required": True, "content": content}}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors that a route may answer with."""
    return {each: {"model": ErrorAnswer, "description": _SAID[each]} for each in statuses}


ASKED = (400, 401, 403, 422, 429, 503)
WITH_BODY = (*ASKED, 408, 413, 415)
