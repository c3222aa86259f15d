"""Bodies of requests: small, shallow JSON without doubles, read within a time."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, TypeVar

import numpy as np
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from tradingbot.serving.server.problems import Problem, of_validation
from tradingbot.serving.server.settings import ServerSettings

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OPENING = np.zeros(256, dtype=np.int64)
_OPENING[[ord("["), ord("{")]], _OPENING[[ord("]"), ord("}")]] = 1, -1
M = TypeVar("M", bound=BaseModel)


def decode(body: bytes, kind: type[M], settings: ServerSettings) -> M:
    """Parse and check the body of a request.

    Raises:
        Problem: 400 no JSON, 422 not as the schema has it.
    """
    plain = parse_json(body, max_depth=settings.max_depth)
    try:
        return kind.model_validate(plain)
    except ValidationError as e:
        raise of_validation(e) from e


async def read_body(request: Request, settings: ServerSettings) -> bytes:
    """Read the body of a request.

    Raises:
        Problem: 408 too slow, 413 too large, 415 another type or compressed.
    """
    headers, most = request.headers, settings.max_body_bytes
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, "compressed", "a body must not be compressed")
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise Problem(415, "media_type", "the content type of a body must be application/json")
    announced = headers.get("content-length", "0")
    too_large = Problem(413, "too_large", f"a body must be of {most} bytes at most")
    if not announced.isascii() or not announced.isdigit() or int(announced[:20]) > most:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(settings.body_timeout_s):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_large
                parts.append(part)
    except TimeoutError as e:
        close = {"connection": "close"}
        message = f"a body must arrive within {settings.body_timeout_s:g} s"
        raise Problem(408, "too_slow", message, headers=close) from e
    except ClientDisconnect as e:
        raise Problem(400, "disconnected", "the client went away") from e
    return b"".join(parts)


def parse_json(body: bytes, *, max_depth: int) -> Any:
    """Parse a body; what JSON leaves open is refused: doubles of names, NaN, endless depth.

    Raises:
        Problem: 400.
    """
    if not body.strip():
        raise _no_json("a body must not be empty")
    if _depth(body) > max_depth:
        raise _no_json(f"JSON must have {max_depth} brackets within each other at most")
    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse_constant
        )
    except Problem:
        raise
    except (ValueError, RecursionError) as e:
        raise _no_json("a body must be JSON in UTF-8") from e


def _depth(body: bytes) -> int:
    """Return the most brackets that are open at once, or a number that is too large."""
    without = _STRING.sub(b"", body)
    steps = _OPENING[np.frombuffer(without, dtype=np.uint8)]
    return int(np.cumsum(steps).max(initial=0))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _no_json("a name must stand once in a JSON object")
    return found


def _refuse_constant(_: str) -> Any:
    raise Problem(422, "not_finite", "numbers must be finite")


def _no_json(message: str) -> Problem:
    return Problem(400, "no_json", message)
