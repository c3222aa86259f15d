"""Whether it lives, whether it may be asked, what it measured, what it offers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from tradingbot.serving.server.parts import Parts, ServerParts, scoped_in_production
from tradingbot.serving.server.routes.documents import errors
from tradingbot.serving.server.schemas import ModelIdentity

router = APIRouter(tags=["health"])


class LiveAnswer(BaseModel):
    """The process runs."""

    live: bool


class ReadyAnswer(BaseModel):
    """Whether predictions may be asked for."""

    ready: bool
    state: str
    """Rung of the ladder: fresh, last_good, hold, none; draining where the server is ending."""
    model: ModelIdentity | None
    problems: list[str]
    """Empty where all is well."""


@router.get("/live", response_model=LiveAnswer)
async def live() -> Response:
    """Tell that the process runs."""
    return JSONResponse({"live": True})


@router.get("/ready", response_model=ReadyAnswer, responses={503: {"model": ReadyAnswer}})
async def ready(parts: Parts) -> Response:
    """Tell whether predictions may be asked for: golden vectors passed, registry readable."""
    problems = list_problems(parts)
    slot, now = parts.slot, parts.slot.current
    is_ready = slot.rung in ("fresh", "last_good") and not (
        parts.is_draining or slot.registry_problem
    )
    document: dict[str, Any] = {
        "ready": is_ready,
        "state": "draining" if parts.is_draining else slot.rung,
        "model": None if now is None else now.serving.identity.model_dump(),
        "problems": problems,
    }
    headers = {} if is_ready else {"retry-after": "1"}
    return JSONResponse(document, 200 if is_ready else 503, headers=headers)


def list_problems(parts: ServerParts) -> list[str]:
    """Return what keeps a server from its best, in words without paths."""
    slot = parts.slot
    found = {
        "the server is ending": parts.is_draining,
        "the registry cannot be read": slot.registry_problem is not None,
        f"the version on paper does not serve: {slot.problem}": slot.problem is not None,
        "answers of the model are no numbers": slot.is_holding,
        "no model serves": slot.current is None,
    }
    return [text for text, is_so in found.items() if is_so]


@router.get(
    "/metrics",
    dependencies=[scoped_in_production("read")],
    responses={200: {"content": {"text/plain": {}}}, **errors(401, 403, 429)},
    response_class=Response,
)
async def metrics(parts: Parts) -> Response:
    """Return the meters, in the text format of Prometheus."""
    now = parts.slot.current
    closed_at = None if now is None else now.stream.closed_at
    if closed_at is not None:
        age_s = (parts.clock() - closed_at).total_seconds()
        parts.metrics.bar_age.labels("stream").set(age_s)
    return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/openapi.json", dependencies=[scoped_in_production("read")], include_in_schema=False)
async def openapi(request: Request) -> Response:
    """Return what can be asked."""
    return JSONResponse(request.app.openapi())
