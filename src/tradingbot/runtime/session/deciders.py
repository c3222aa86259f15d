"""What a model decides by in a session: agents with an account each, or one portfolio."""

from __future__ import annotations

import torch

from tradingbot.runtime.session.bars import BarFeed
from tradingbot.runtime.session.decision import Decider, SessionDecider
from tradingbot.runtime.session.model import DecidingModel
from tradingbot.runtime.session.portfolio import PortfolioDecider
from tradingbot.runtime.session.terms import SessionTerms


def open_decider(model: DecidingModel, source: BarFeed, terms: SessionTerms) -> SessionDecider:
    """Return a model that has taken no bar yet.

    Args:
        model: What decides.
        source: Whose bars it will take.
        terms: Rules and costs.
    """
    rates = terms.costs.rates(dtype=torch.float64)
    given = (model, source.symbols, source.time_zone, terms.rules, rates)
    if model.portfolio is not None:
        return PortfolioDecider(*given)
    return Decider(*given, first_bar=terms.first_bar)
