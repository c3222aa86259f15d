"""Another model that takes a session over, from the next bar on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tradingbot.domain.errors import ConfigError
from tradingbot.runtime.session.model import ModelReference
from tradingbot.runtime.session.model_health import ModelHealth

if TYPE_CHECKING:
    from tradingbot.runtime.session.session import TradingSession


def change_model(session: TradingSession, reference: ModelReference) -> None:
    """Decide by another model; bars so far are streamed into it.

    Raises:
        ConfigError: If it is for other symbols, or models cannot be changed here.
    """
    if session.models is None:
        raise ConfigError("models of this session cannot be changed", was=reference.path)
    model = session.models(reference)
    if model.symbols != session.symbols or bool(model.portfolio) != bool(session.model.portfolio):
        rule = "a model that takes over must decide for the symbols and accounts of the session"
        raise ConfigError(rule, was=", ".join(model.symbols[:5]), where=reference.path)
    decider = session.decider_of(model)
    if session.bar is not None:
        for bar in session.source.known_bars(session.bar.number):
            decider.take(session.basis.turn(bar, session.source.symbols))
    session.model, session.decider, session.desk.health = model, decider, ModelHealth()
    session.changes = (session.changes[0], reference)
