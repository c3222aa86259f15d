"""From what a client sends to signals, by one model and nothing else.

Everything here works on the snapshot that a request took when it began: no answer mixes models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import suggest
from tradingbot.domain.plain_values import read_record
from tradingbot.market.params import ActionRules
from tradingbot.risk.limits import RiskLimits
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.served_stream import Floats, ServedAnswer
from tradingbot.serving.server.accounts import allowed_codes, private_numbers
from tradingbot.serving.server.bar_stream import (
    UNDEFINED,
    BarFeatures,
    PushedBar,
    name_undefined,
    padded,
)
from tradingbot.serving.server.problems import Problem, invalid
from tradingbot.serving.server.schemas import (
    FeaturesRequest,
    FeatureWindow,
    HistoryRequest,
    ModelIdentity,
    PredictionAnswer,
    SignalAnswer,
)
from tradingbot.serving.server.signals import HOLD, Signal, neutralise_targets, read_signal


@dataclass(frozen=True, eq=False)
class ServingModel:
    """A model that serves, as a request takes it: never changed."""

    model: ServedModel
    version: str
    state: Literal["fresh", "last_good"] = "fresh"

    @property
    def identity(self) -> ModelIdentity:
        """What answers say of it."""
        return ModelIdentity(version=self.version, sha256=self.model.sha256, state=self.state)

    @cached_property
    def rules(self) -> ActionRules:
        """How its actions are read."""
        return read_record(ActionRules, self.model.manifest.acting.action.rules, name="action")

    @cached_property
    def limits(self) -> RiskLimits:
        """What its accounts were limited by."""
        return read_record(RiskLimits, self.model.manifest.acting.action.limits, name="limits")

    @cached_property
    def agents(self) -> Mapping[str, int]:
        """Symbol → number of its agent."""
        return {symbol: place for place, symbol in enumerate(self.model.symbols)}

    def agent_of(self, symbol: str, field: str) -> int:
        """Return the agent of a symbol.

        Raises:
            Problem: 422, if there is none.
        """
        agent = self.agents.get(symbol)
        if agent is None:
            message = f"a symbol must be one of the model. {suggest(symbol, self.agents)}"
            raise invalid(message, field, code="unknown_symbol")
        return agent

    def private_of(
        self, accounts: Sequence[Mapping[str, float]], places: Sequence[str]
    ) -> NDArray[Any]:
        """Return the private numbers of accounts, (18, B); see `accounts.private_numbers`."""
        return private_numbers(self.model.manifest.account_numbers, accounts, places)

    def allowed(self, private: NDArray[Any]) -> NDArray[np.bool_] | None:
        """Return codes that may be executed, (7, B); None unless actions are codes."""
        if not self.model.manifest.sizes.has_codes:
            return None
        return allowed_codes(self.rules, self.model.manifest.account_numbers, private)

    def held(self, private: NDArray[Any]) -> NDArray[Any]:
        """Return positions (B,), of the largest one."""
        held: NDArray[Any] = private[self.model.manifest.account_numbers.index("size")]
        return held

    def read(self, action: float, held: float) -> Signal:
        """Read one action."""
        return read_signal(self.rules, action, held, allow_short=self.limits.allow_short)


@dataclass(frozen=True, eq=False)
class SeenWindows:
    """What B agents are asked about: the windows that they see, and their accounts."""

    symbols: tuple[str, ...]
    agent: NDArray[np.int64]
    """(B,)."""
    window: Floats
    """(B, W, F) scaled."""
    known: NDArray[np.int64]
    """(B,) bars of each window that exist."""
    valid: NDArray[np.bool_]
    """(B,) whether every feature of the last bar is defined."""
    private: NDArray[Any]
    """(18, B)."""
    reasons: tuple[str, ...]
    """B; why each is not valid, where it is not."""


def read_windows(serving: ServingModel, request: FeaturesRequest) -> SeenWindows:
    """Scale the windows of raw features that a client sent.

    Raises:
        Problem: 422, naming the field that is not as the model needs it.
    """
    model = serving.model
    _require_columns(request, model)
    agents, windows, known, valid, reasons = [], [], [], [], []
    for place, sent in enumerate(request.inputs):
        agents.append(serving.agent_of(sent.symbol, f"inputs.{place}.symbol"))
        rows, defined = _scale_rows(model, sent, f"inputs.{place}.features")
        window, count = padded(list(rows), model)
        windows.append(window)
        known.append(count)
        valid.append(bool(defined[-1]))
        last = np.array(sent.features[-1], dtype=np.float64)
        reasons.append(f"{UNDEFINED}: {name_undefined(model.feature_ids, last)}")
    accounts = [sent.account for sent in request.inputs]
    places = [f"inputs.{place}.account" for place in range(len(accounts))]
    return SeenWindows(
        tuple(sent.symbol for sent in request.inputs),
        np.array(agents, dtype=np.int64),
        np.stack(windows),
        np.array(known, dtype=np.int64),
        np.array(valid),
        serving.private_of(accounts, places),
        tuple(reasons),
    )


def read_history(
    serving: ServingModel, request: HistoryRequest, *, time_zone: str
) -> tuple[SeenWindows, datetime]:
    """Turn a history of bars into windows; return them and when the last bar closed.

    Raises:
        Problem: 422 or 409, if symbols are unknown or bars are not in order.
    """
    model = serving.model
    asked = tuple(request.symbols or model.symbols)
    agent = np.array(
        [serving.agent_of(each, f"symbols.{place}") for place, each in enumerate(asked)]
    )
    for symbol in request.accounts:
        serving.agent_of(symbol, f"accounts.{symbol}")
    bars = [PushedBar.of(each) for each in request.history]
    features, rows = BarFeatures(model, time_zone=time_zone), []
    valid = np.zeros(len(model.symbols), dtype=bool)
    for place, bar in enumerate(bars):
        try:
            raw = features.push(bar)
        except Problem as e:
            e.field = f"history.{place}.{e.field}"
            raise
        if place >= len(bars) - model.lookback_bars:
            row, valid = model.scale(raw, features.present)
            rows.append(row)
    window = np.stack([padded([row[each] for row in rows], model)[0] for each in agent])
    accounts = [request.accounts.get(symbol, {}) for symbol in asked]
    private = serving.private_of(accounts, [f"accounts.{symbol}" for symbol in asked])
    known = np.full(len(asked), min(len(rows), model.lookback_bars), dtype=np.int64)
    reasons = tuple("" if valid[each] else features.tell_reason(each) for each in agent)
    seen = SeenWindows(asked, agent, window, known, valid[agent], private, reasons)
    return seen, bars[-1].closed_at


def answer_windows(serving: ServingModel, seen: SeenWindows) -> tuple[ServedAnswer, list[Signal]]:
    """Ask the agents.

    Raises:
        Problem: 422, if a market-neutral model is asked about some symbols only.
        TradingError: If an answer is not finite.
    """
    embedding = serving.model.embed_windows(seen.window, seen.known)
    allowed = serving.allowed(seen.private)
    answer = serving.model.decide(seen.agent, embedding, seen.private, allowed)
    return answer, read_signals(serving, seen.agent, answer, seen.private, seen.valid)


def read_signals(
    serving: ServingModel,
    agent: NDArray[np.int64],
    answer: ServedAnswer,
    private: NDArray[Any],
    valid: NDArray[np.bool_],
) -> list[Signal]:
    """Read what B agents want; agents that saw something undefined hold."""
    action = np.asarray(answer.action, dtype=np.float64)
    if gross_frac := serving.rules.neutral_gross_frac:
        if sorted(agent.tolist()) != list(range(len(serving.model.symbols))):
            message = "a market-neutral model must be asked about all its symbols together"
            raise invalid(message, "inputs", code="all_symbols")
        action = neutralise_targets(action, valid, gross_frac)
    held = serving.held(private)
    return [
        serving.read(float(action[lane]), float(held[lane])) if valid[lane] else HOLD
        for lane in range(len(agent))
    ]


def signal_answers(
    symbols: Sequence[str],
    answer: ServedAnswer,
    signals: Sequence[Signal],
    valid: NDArray[np.bool_],
    reasons: Sequence[str],
) -> list[SignalAnswer]:
    """Write signals as answers; those that are not valid with their reasons."""
    return [
        SignalAnswer(
            symbol=symbol,
            signal=signal.direction,
            size=signal.size,
            order_type=signal.order_type,
            strength=signal.strength,
            confidence=float(answer.confidence[lane]) if valid[lane] else 0.0,
            action=float(answer.action[lane]) if valid[lane] else None,
            reason=None if valid[lane] else reasons[lane],
        )
        for lane, (symbol, signal) in enumerate(zip(symbols, signals, strict=True))
    ]


def hold_all(serving: ServingModel, symbols: Sequence[str], reason: str) -> PredictionAnswer:
    """Return a HOLD of every symbol: what is done where a model cannot be believed."""
    held = [
        SignalAnswer(
            symbol=each,
            signal="HOLD",
            size=0.0,
            order_type=None,
            strength=0.0,
            confidence=0.0,
            action=None,
            reason=reason,
        )
        for each in symbols
    ]
    return PredictionAnswer(model=serving.identity, closed_at=None, is_warm=False, signals=held)


def _require_columns(request: FeaturesRequest, model: ServedModel) -> None:
    if request.feature_ids is None:
        return
    wanted = list(model.feature_ids)
    if request.feature_ids != wanted:
        odd = next(
            (
                place
                for place, pair in enumerate(zip(request.feature_ids, wanted, strict=False))
                if pair[0] != pair[1]
            ),
            min(len(request.feature_ids), len(wanted)),
        )
        expected = wanted[odd] if odd < len(wanted) else "no more"
        message = f"features must be those of the model in its order; here {expected} was expected"
        raise invalid(message, f"feature_ids.{odd}", code="other_features")


def _scale_rows(
    model: ServedModel, sent: FeatureWindow, field: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return scaled rows (T, F) and where all is defined (T,)."""
    count = len(model.feature_ids)
    last = sent.features[-model.lookback_bars :]
    for place, row in enumerate(sent.features):
        if len(row) != count:
            message = f"a bar must have {count} features, has {len(row)}"
            raise invalid(message, f"{field}.{place}", code="shape")
    raw = np.array(last, dtype=np.float64)
    names = (sent.symbol,) * len(raw)
    return model.scale(raw, np.ones(len(raw), dtype=bool), symbols=names)
