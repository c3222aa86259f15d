"""What serves, and what shall serve from now on."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from tradingbot.domain.errors import UserError
from tradingbot.serving.access.audit import AuditKind
from tradingbot.serving.server.authentication import Caller
from tradingbot.serving.server.body import decode, read_body
from tradingbot.serving.server.identity import identity_headers
from tradingbot.serving.server.model_slot import ServingSnapshot
from tradingbot.serving.server.parts import Administrator, Parts, Reader, ServerParts
from tradingbot.serving.server.problems import Problem
from tradingbot.serving.server.routes.documents import ASKED, WITH_BODY, body_of, errors
from tradingbot.serving.server.schemas import ServedModelAnswer, SwapRequest

router = APIRouter(tags=["models"])


@router.get("/v1/model", response_model=ServedModelAnswer, responses=errors(*ASKED))
async def model(parts: Parts, _: Reader) -> Response:
    """Say which model serves, and what it takes."""
    return _describe(parts.slot.require())


@router.post(
    "/v1/admin/swap",
    response_model=ServedModelAnswer,
    openapi_extra=body_of(SwapRequest),
    responses=errors(*WITH_BODY, 404, 409),
)
async def swap(request: Request, parts: Parts, caller: Administrator) -> Response:
    """Serve another version: decided in the registry, opened and proved, then put in place.

    Where it is refused, what served before serves on. A server that starts again serves it.
    """
    asked = decode(await read_body(request, parts.settings), SwapRequest, parts.settings)

    def work() -> ServingSnapshot:
        told = f"{asked.version}: {asked.reason}"
        try:
            made = parts.slot.swap(asked.version, reason=asked.reason, accept=asked.accept)
        except Problem as e:
            _write_down(parts, "swap refused", caller, f"{told}; {e.message}")
            raise
        _write_down(parts, "model swapped", caller, told)
        return made

    return _describe(await asyncio.to_thread(work))


def _write_down(parts: ServerParts, kind: AuditKind, caller: Caller, detail: str) -> None:
    try:
        parts.authentication.audit.record(kind, at=parts.clock(), who=caller.id, detail=detail)
    except UserError as e:
        raise Problem(503, "audit", "what is done here cannot be audited now") from e


def _describe(snapshot: ServingSnapshot) -> Response:
    serving, manifest = snapshot.serving, snapshot.serving.model.manifest
    answer = ServedModelAnswer(
        model=serving.identity,
        run=manifest.run.id,
        verdict=manifest.verdict.status,
        synthetic=manifest.run.synthetic,
        periods={name: str(days) for name, days in manifest.periods.items()},
        symbols=list(manifest.symbols),
        feature_ids=list(serving.model.feature_ids),
        account_numbers=list(manifest.account_numbers),
        lookback_bars=serving.model.lookback_bars,
        warm_up_bars=snapshot.stream.features.warm_up_bars,
        covariates=list(snapshot.stream.features.covariates),
        action_space=serving.rules.space,
        confidence=manifest.confidence,
        bars_taken=snapshot.stream.live.bars_taken,
    )
    headers = identity_headers(serving)
    return Response(
        answer.model_dump_json().encode(), headers=headers, media_type="application/json"
    )
