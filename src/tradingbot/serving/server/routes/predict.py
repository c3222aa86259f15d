"""Predictions: from features, from a history of bars, and from the server's own stream."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from time import perf_counter
from typing import Annotated, TypeVar

import numpy as np
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from tradingbot.domain.errors import TradingError, suggest
from tradingbot.serving.server.bar_stream import PushedBar
from tradingbot.serving.server.body import decode, read_body
from tradingbot.serving.server.explanation import MAX_EXPLAINED, explain
from tradingbot.serving.server.identity import identity_headers, require_pin
from tradingbot.serving.server.model_slot import ServingSnapshot
from tradingbot.serving.server.parts import Parts, Predictor, ServerParts
from tradingbot.serving.server.portfolios import refuse_accounts, refuse_portfolio
from tradingbot.serving.server.prediction import (
    SeenWindows,
    ServingModel,
    answer_windows,
    hold_all,
    read_history,
    read_signals,
    read_windows,
    signal_answers,
)
from tradingbot.serving.server.problems import Problem, invalid
from tradingbot.serving.server.routes.documents import ASKED, WITH_BODY, body_of, errors
from tradingbot.serving.server.routes.freshness import age_s, require_fresh, require_past
from tradingbot.serving.server.routes.weighing import weigh_history, weigh_stream
from tradingbot.serving.server.schemas import (
    FeaturesRequest,
    HistoryRequest,
    NextBarRequest,
    PredictionAnswer,
)

router = APIRouter(tags=["predict"])
B = TypeVar("B", bound=BaseModel)


@router.post(
    "/v1/predict/features",
    response_model=PredictionAnswer,
    openapi_extra=body_of(FeaturesRequest),
    responses=errors(*WITH_BODY, 409),
)
async def predict_features(request: Request, parts: Parts, _: Predictor) -> Response:
    """Predict from raw features of one or more symbols."""

    def work(asked: FeaturesRequest, snapshot: ServingSnapshot) -> PredictionAnswer:
        serving = snapshot.serving
        refuse_portfolio(serving.model, "features of some")
        _require_rows(parts, sum(len(each.features) for each in asked.inputs), "inputs")
        _require_few(asked.explain, len(asked.inputs))
        symbols = [each.symbol for each in asked.inputs]
        if not asked.allow_stale and asked.closed_at is not None:
            require_fresh(parts, serving, asked.closed_at, symbols)
        seen = read_windows(serving, asked)
        return _answer(serving, seen, asked.closed_at, explained=asked.explain)

    return await _predict(request, parts, "features", FeaturesRequest, work)


@router.post(
    "/v1/predict/bars",
    response_model=PredictionAnswer,
    openapi_extra=body_of(HistoryRequest),
    responses=errors(*WITH_BODY, 409),
)
async def predict_bars(request: Request, parts: Parts, _: Predictor) -> Response:
    """Predict from a history of bars; nothing of it is kept."""

    def work(asked: HistoryRequest, snapshot: ServingSnapshot) -> PredictionAnswer:
        serving = snapshot.serving
        _require_rows(parts, sum(len(each.bars) for each in asked.history), "history")
        symbols = asked.symbols or serving.model.symbols
        _require_few(asked.explain, len(symbols))
        if not asked.allow_stale:
            require_fresh(parts, serving, asked.history[-1].closed_at, symbols)
        if serving.model.portfolio is not None:
            return weigh_history(parts, serving, asked)
        zone = parts.settings.time_zone
        seen, closed_at = read_history(serving, asked, time_zone=zone)
        return _answer(serving, seen, closed_at, explained=asked.explain)

    return await _predict(request, parts, "bars", HistoryRequest, work)


@router.post(
    "/v1/stream/bars",
    response_model=PredictionAnswer,
    openapi_extra=body_of(NextBarRequest),
    responses=errors(*WITH_BODY, 409),
)
async def push_bar(request: Request, parts: Parts, _: Predictor) -> Response:
    """Push the next bar of all symbols to the server's own stream, and predict all of them.

    A bar that is older than allowed is taken, to warm the stream up, and answered with HOLD.
    """

    def work(asked: NextBarRequest, _: ServingSnapshot) -> PredictionAnswer:
        with parts.slot.bars_lock:
            serving = parts.slot.require().serving
            require_pin(serving, asked.model_sha256)
            require_past(parts, asked.closed_at)
            refuse_accounts(serving.model, asked.accounts)
            for symbol in asked.accounts:
                serving.agent_of(symbol, f"accounts.{symbol}")
            accounts = [asked.accounts.get(each, {}) for each in serving.model.symbols]
            places = [f"accounts.{each}" for each in serving.model.symbols]
            private = serving.private_of(accounts, places)
            snapshot = parts.slot.push(PushedBar.of(asked))
            is_old = age_s(parts, asked.closed_at) > parts.settings.max_bar_age_s
            if is_old and not asked.allow_stale:
                held = hold_all(serving, serving.model.symbols, "the bar is too old")
                return held.model_copy(update={"closed_at": asked.closed_at})
            return _answer_stream(snapshot, private)

    return await _predict(request, parts, "stream", NextBarRequest, work)


@router.get("/v1/signals", response_model=PredictionAnswer, responses=errors(*ASKED, 409))
async def signals(request: Request, parts: Parts, _: Predictor) -> Response:
    """Return the signals of flat accounts at the newest bar of the server's own stream."""

    def work(snapshot: ServingSnapshot) -> PredictionAnswer:
        with parts.slot.bars_lock:
            serving = _require_stream(parts, snapshot)
            private = serving.private_of([{}] * len(serving.agents), [""] * len(serving.agents))
            return _answer_stream(snapshot, private)

    return await _run(request, parts, "signals", work)


@router.get(
    "/v1/signals/{symbol}",
    response_model=PredictionAnswer,
    responses=errors(*ASKED, 404, 409),
)
async def signal_of(
    request: Request,
    parts: Parts,
    _: Predictor,
    symbol: Annotated[str, Path(min_length=1, max_length=32)],
    explained: Annotated[bool, Query(alias="explain")] = False,
) -> Response:
    """Return the signal of one symbol at the newest bar of the server's own stream."""

    def work(snapshot: ServingSnapshot) -> PredictionAnswer:
        with parts.slot.bars_lock:
            place = snapshot.serving.agents.get(symbol)
            if place is None:
                hint = suggest(symbol, snapshot.serving.agents)
                raise Problem(404, "unknown_symbol", f"a symbol must be one of the model. {hint}")
            serving, stream = _require_stream(parts, snapshot), snapshot.stream
            if serving.model.portfolio is not None:
                if explained:
                    refuse_portfolio(serving.model, "to be explained")
                return weigh_stream(serving, stream, [symbol])
            window, known = stream.window(place)
            valid, closed_at = stream.valid[place : place + 1].copy(), stream.closed_at
            reasons = (stream.features.tell_reason(place),)
        lane = np.array([place])
        private = serving.private_of([{}], [""])
        seen = SeenWindows(
            (symbol,), lane, window[None], np.array([known]), valid, private, reasons
        )
        return _answer(serving, seen, closed_at, explained=explained)

    return await _run(request, parts, "signals", work)


async def _predict(
    request: Request,
    parts: ServerParts,
    label: str,
    kind: type[B],
    work: Callable[[B, ServingSnapshot], PredictionAnswer],
) -> Response:
    """Read a body and predict on a thread; shed before anything is read where none is free."""
    parts.pool.require_place()
    body = await read_body(request, parts.settings)

    def decoded(snapshot: ServingSnapshot) -> PredictionAnswer:
        asked = decode(body, kind, parts.settings)
        require_pin(snapshot.serving, getattr(asked, "model_sha256", None))
        return work(asked, snapshot)

    return await _run(request, parts, label, decoded)


async def _run(
    request: Request,
    parts: ServerParts,
    label: str,
    work: Callable[[ServingSnapshot], PredictionAnswer],
) -> Response:
    def timed() -> PredictionAnswer:
        snapshot = parts.slot.require()
        if parts.slot.is_holding:
            raise _not_believed(snapshot.serving, (), "answers of the model were no numbers")
        begin = perf_counter()
        try:
            answer = work(snapshot)
        except TradingError as e:
            parts.slot.note_answer(snapshot, is_finite=False)
            raise _not_believed(snapshot.serving, (), "the answer was no number") from e
        parts.slot.note_answer(snapshot, is_finite=True)
        parts.metrics.inference_seconds.labels(label).observe(perf_counter() - begin)
        return answer

    answer = await parts.pool.run(request, timed)
    headers = {"x-model-sha256": answer.model.sha256, "x-model-version": answer.model.version}
    body = answer.model_dump_json().encode()
    return Response(body, headers=headers, media_type="application/json")


def _answer(
    serving: ServingModel, seen: SeenWindows, closed_at: datetime | None, *, explained: bool
) -> PredictionAnswer:
    answer, found = answer_windows(serving, seen)
    told = signal_answers(seen.symbols, answer, found, seen.valid, seen.reasons)
    if explained:
        told = [
            each.model_copy(update={"explanation": explain(serving, seen, lane)})
            if seen.valid[lane]
            else each
            for lane, each in enumerate(told)
        ]
    is_warm = bool((seen.known >= serving.model.lookback_bars).all())
    return PredictionAnswer(
        model=serving.identity, closed_at=closed_at, is_warm=is_warm, signals=told
    )


def _answer_stream(snapshot: ServingSnapshot, private: np.ndarray) -> PredictionAnswer:
    """Ask all agents at the newest bar of the stream."""
    serving, stream = snapshot.serving, snapshot.stream
    if serving.model.portfolio is not None:
        return weigh_stream(serving, stream, serving.model.symbols)
    answer = stream.act(private, serving.allowed(private))
    agent = np.arange(len(serving.model.symbols))
    found = read_signals(serving, agent, answer, private, stream.valid)
    reasons = [
        "" if valid else stream.features.tell_reason(place)
        for place, valid in enumerate(stream.valid.tolist())
    ]
    told = signal_answers(serving.model.symbols, answer, found, stream.valid, reasons)
    return PredictionAnswer(
        model=serving.identity,
        closed_at=stream.closed_at,
        is_warm=stream.live.is_warm,
        signals=told,
    )


def _require_stream(parts: ServerParts, snapshot: ServingSnapshot) -> ServingModel:
    closed_at = snapshot.stream.closed_at
    if closed_at is None or not snapshot.stream.live.bars_taken:
        raise Problem(409, "no_bars", "bars must be pushed first: POST /v1/stream/bars")
    require_fresh(parts, snapshot.serving, closed_at, snapshot.serving.model.symbols)
    return snapshot.serving


def _require_rows(parts: ServerParts, count: int, field: str) -> None:
    if count > parts.settings.max_rows:
        message = f"a request must hold {parts.settings.max_rows} bars of all symbols at most"
        raise invalid(message, field, code="batch")


def _require_few(is_asked: bool, count: int) -> None:
    if is_asked and count > MAX_EXPLAINED:
        message = f"{MAX_EXPLAINED} symbols at most are explained in one request"
        raise invalid(message, "explain", code="batch")


def _not_believed(serving: ServingModel, symbols: tuple[str, ...], why: str) -> Problem:
    """Return the 503 of a model that answers in no numbers: hold everything."""
    held = hold_all(serving, symbols or serving.model.symbols, why)
    headers = {"retry-after": "5", **identity_headers(serving)}
    more = {"signals": [each.model_dump() for each in held.signals]}
    return Problem(503, "not_finite", why, headers=headers, more=more)
