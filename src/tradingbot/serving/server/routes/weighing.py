"""Weights of a portfolio: at the newest bar of the server's stream, or of a history of bars."""

from __future__ import annotations

from collections.abc import Sequence

from tradingbot.serving.server.bar_stream import ModelStream, PushedBar
from tradingbot.serving.server.parts import ServerParts
from tradingbot.serving.server.portfolios import refuse_accounts, refuse_portfolio, weigh_symbols
from tradingbot.serving.server.prediction import ServingModel
from tradingbot.serving.server.schemas import HistoryRequest, PredictionAnswer


def weigh_stream(
    serving: ServingModel, stream: ModelStream, symbols: Sequence[str]
) -> PredictionAnswer:
    """Ask a portfolio at the newest bar of a stream about some of its symbols."""
    known, present = serving.model.symbols, stream.features.present
    told = weigh_symbols(stream.sleeves, known, symbols, present)
    is_warm = stream.live.is_warm and stream.sleeves is not None and stream.sleeves.have_begun
    return PredictionAnswer(
        model=serving.identity, closed_at=stream.closed_at, is_warm=is_warm, signals=told
    )


def weigh_history(
    parts: ServerParts, serving: ServingModel, asked: HistoryRequest
) -> PredictionAnswer:
    """Ask a portfolio whose sleeves trade a history of bars, and nothing else.

    Raises:
        Problem: 422, if accounts or an explanation are asked for, or a symbol is unknown.
    """
    model = serving.model
    if asked.explain:
        refuse_portfolio(model, "to be explained")
    refuse_accounts(model, asked.accounts)
    symbols = tuple(asked.symbols or model.symbols)
    for place, symbol in enumerate(symbols):
        serving.agent_of(symbol, f"symbols.{place}")
    sleeves, zone = parts.slot.open_sleeves(model), parts.settings.time_zone
    stream = ModelStream(model, (), time_zone=zone, sleeves=sleeves)
    for bars in asked.history:
        stream.take(PushedBar.of(bars))
    return weigh_stream(serving, stream, symbols)
