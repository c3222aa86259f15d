"""Paper sessions of the workspace: which run, and the way to stop one from afar."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from tradingbot.domain.errors import ConfigError, TradingError, UserError
from tradingbot.serving.server.body import decode, read_body
from tradingbot.serving.server.parts import Parts, Reader, SessionDesk, Trader
from tradingbot.serving.server.problems import Problem, invalid, of_user_error
from tradingbot.serving.server.routes.documents import ASKED, WITH_BODY, body_of, errors
from tradingbot.serving.server.schemas import SessionAct

_log = logging.getLogger("tradingbot.serving")
router = APIRouter(tags=["sessions"])


class SessionAnswer(BaseModel):
    """A session of the workspace."""

    name: str
    is_running: bool


class SessionsAnswer(BaseModel):
    """All of them."""

    sessions: list[SessionAnswer]


class AskedAnswer(BaseModel):
    """The request lies where the session looks after every bar."""

    session: str
    act: str


@router.get("/v1/sessions", response_model=SessionsAnswer, responses=errors(*ASKED))
async def sessions(parts: Parts, _: Reader) -> Response:
    """List paper sessions."""
    found = await asyncio.to_thread(_desk(parts.desk).sessions)
    told = [SessionAnswer(name=name, is_running=runs) for name, runs in found]
    return JSONResponse(SessionsAnswer(sessions=told).model_dump())


@router.post(
    "/v1/sessions/{name}/{act}",
    response_model=AskedAnswer,
    status_code=202,
    openapi_extra=body_of(SessionAct),
    responses=errors(*WITH_BODY, 404, 409),
)
async def ask_session(
    request: Request,
    parts: Parts,
    caller: Trader,
    name: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,47}$")],
    act: Annotated[Literal["stop", "kill"], Path()],
) -> Response:
    """Ask a session to stop after the present bar, or to kill: cancel everything and halt.

    Nothing can be opened or armed from here: this only ever takes risk away.
    """
    asked = decode(await read_body(request, parts.settings), SessionAct, parts.settings)
    desk = _desk(parts.desk)
    if asked.flatten and act == "stop":
        raise invalid("only a kill flattens", "flatten")

    def work() -> None:
        by = f"key {caller.id}"
        try:
            desk.ask(name, act, by=by, reason=asked.reason, flatten=asked.flatten)
        except ConfigError as e:  # names of others are told to who may read
            raise Problem(404, "no_session", "a session must be one that was started") from e
        except TradingError as e:
            raise of_user_error(e, 409, "not_running") from e
        except UserError as e:  # a disk that refuses: it was not asked
            raise of_user_error(e, 503, "not_asked") from e
        # Audited after: what takes risk away does not wait for a disk.
        told = {"who": caller.id, "subject": name, "detail": f"{act}: {asked.reason}"}
        try:
            parts.authentication.audit.record("session asked", at=parts.clock(), **told)
        except UserError as e:
            _log.error("the audit trail cannot be written: %s", e)

    await asyncio.to_thread(work)
    return JSONResponse(AskedAnswer(session=name, act=act).model_dump(), 202)


def _desk(desk: SessionDesk | None) -> SessionDesk:
    if desk is None:
        raise Problem(503, "no_sessions", "sessions cannot be reached from here")
    return desk
