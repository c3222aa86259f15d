"""A portfolio behind a server: what is wanted of all symbols together by an account all in cash.

Sleeves are simulated, which takes torch: a server has none, and is given what runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tradingbot.market.params import ActionRules
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.problems import Problem, invalid
from tradingbot.serving.server.schemas import SignalAnswer
from tradingbot.serving.server.signals import read_signal

_WEIGHTS = ActionRules(space="target", smoothing_bars=1)
"""How a weight is read: as the exposure to go to."""
_SLEEVES_WAIT = "the sleeves have not begun: most symbols lack a feature"


class WantedWeights(NamedTuple):
    """What a portfolio wants at a bar."""

    weight: NDArray[np.float64]
    """(N,) of each symbol, of the portfolio's value."""
    confidence: NDArray[Any]
    """(N,) of the sleeves' agents."""


class RunningSleeves(Protocol):
    """The sleeves of a model on a stream of bars, and the master above them."""

    @property
    def have_begun(self) -> bool:
        """Whether the sleeves trade yet."""
        ...

    def take(
        self,
        closed_at: datetime,
        present: NDArray[np.bool_],
        fields: Mapping[str, NDArray[np.float64]],
        covariates: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Take the next bar of N symbols."""
        ...

    def weigh(self) -> WantedWeights:
        """Return what a portfolio that is all in cash wants at the bar that was taken last.

        Raises:
            ModelAnswerError: If an agent or the master answers what is no number.
        """
        ...


SleeveRunner = Callable[[ServedModel, str], RunningSleeves]
"""Opens the sleeves of a model on bars of a time zone; `app` has one."""


def refuse_portfolio(model: ServedModel, what: str) -> None:
    """Refuse what a portfolio cannot be asked.

    Raises:
        Problem: 422, saying where it can be asked.
    """
    if model.portfolio is not None:
        raise invalid(
            f"a portfolio must be asked with bars of all its symbols, not {what}: its weights "
            "follow from what its sleeves did; use POST /v1/stream/bars or /v1/predict/bars",
            code="portfolio",
        )


def refuse_accounts(model: ServedModel, accounts: Mapping[str, object]) -> None:
    """Refuse accounts of symbols where one account holds them all.

    Raises:
        Problem: 422, saying what to do.
    """
    if model.portfolio is not None and accounts:
        raise invalid(
            "a portfolio is answered as one account that is all in cash: leave accounts out; what "
            "it holds counts in a session: tradingbot paper start",
            "accounts",
            code="portfolio",
        )


def weigh_symbols(
    sleeves: RunningSleeves | None,
    symbols: Sequence[str],
    asked: Sequence[str],
    present: NDArray[np.bool_],
) -> list[SignalAnswer]:
    """Write the portfolio's weights of symbols as signals of an account all in cash.

    Args:
        sleeves: At the newest bar.
        symbols: N names.
        asked: Those that are told.
        present: (N,) which have that bar.
    """
    if sleeves is None:
        raise Problem(503, "no_model", "no sleeves run for this model")
    made = sleeves.weigh()
    told = []
    for symbol in asked:
        lane = symbols.index(symbol)
        weight = float(made.weight[lane])
        signal = read_signal(_WEIGHTS, weight, 0.0, allow_short=True)
        reason = None if present[lane] else "no bar of the symbol"
        told.append(
            SignalAnswer(
                symbol=symbol,
                signal=signal.direction,
                size=signal.size,
                order_type=signal.order_type,
                strength=signal.strength,
                confidence=float(made.confidence[lane]),
                action=weight,
                weight=weight,
                reason=reason if sleeves.have_begun else _SLEEVES_WAIT,
            )
        )
    return told
