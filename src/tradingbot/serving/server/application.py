"""The application: routes, errors as JSON, the watch over the registry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException

from tradingbot import __version__
from tradingbot.serving.server.envelope import Envelope
from tradingbot.serving.server.parts import ServerParts
from tradingbot.serving.server.problems import Problem
from tradingbot.serving.server.routes import health, models, predict, sessions
from tradingbot.serving.server.schemas import (
    FeaturesRequest,
    HistoryRequest,
    NextBarRequest,
    SessionAct,
    SwapRequest,
)

_log = logging.getLogger("tradingbot.serving")
_BODIES = (FeaturesRequest, HistoryRequest, NextBarRequest, SwapRequest, SessionAct)
_OPEN = ("/live", "/ready")


def build_server(parts: ServerParts) -> FastAPI:
    """Assemble the application of a server's parts."""
    app = FastAPI(
        title="tradingbot",
        version=__version__,
        summary="Signals of served models.",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan,
    )
    app.state.parts = parts
    for module in (health, predict, models, sessions):
        app.include_router(module.router)
    app.exception_handler(Problem)(_answer_problem)
    app.exception_handler(HTTPException)(_answer_http)
    app.exception_handler(RequestValidationError)(_answer_parameters)
    app.add_middleware(Envelope, parts=parts)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document: every route, body, answer and error."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        _, bodies = models_json_schema(
            [(kind, "validation") for kind in _BODIES],
            ref_template="#/components/schemas/{model}",
        )
        schemas = document["components"]["schemas"]
        document["components"]["schemas"] = {**bodies["$defs"], **schemas}
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, routes in document["paths"].items():
            for route in routes.values():
                route["security"] = [] if path in _OPEN else [{"key": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    parts: ServerParts = app.state.parts
    watch = asyncio.create_task(_follow(parts))
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        parts.pool.close()
        parts.authentication.close()


async def _follow(parts: ServerParts) -> None:
    """Look at the registry again and again; the first time is when the first model is opened."""
    while True:
        try:
            await asyncio.to_thread(parts.slot.follow)
        except Exception:
            _log.exception("the registry could not be followed")
        await asyncio.sleep(parts.settings.follow_s)


async def _answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _answer_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: ("no_route", "there is nothing here; GET /openapi.json lists all routes"),
        405: ("method", "another method is asked; the header Allow names it"),
    }
    code, message = words.get(error.status_code, ("refused", "the request is refused"))
    return Problem(error.status_code, code, message, headers=error.headers).response()


async def _answer_parameters(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part)[:64] for part in first["loc"])
    return Problem(422, "invalid", str(first["msg"]), field=place).response()
