"""Exits of a kill that the gate denied: why, what was told, and when they are tried again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from tradingbot.domain.denial import SessionDenial
from tradingbot.domain.errors import TradingError

NOT_TRADED = "NOT_TRADED"
"""In the place of a rule: the session does not trade the symbol, so it has no price of it."""
_LASTING = frozenset(
    {
        NOT_TRADED,
        *(
            each.name
            for each in (
                SessionDenial.SYMBOL_RESTRICTED,
                SessionDenial.MAX_QUANTITY,
                SessionDenial.MIN_QUANTITY,
            )
        ),
    }
)
"""Rules that no later price or bar lets pass: limits of a session stay what they are."""


class ExitsDeniedError(TradingError):
    """The gate denied exits that it may allow later: they are tried again."""


@dataclass
class PendingExits:
    """Positions that a kill could not close."""

    denied: dict[str, str] = field(default_factory=dict)
    """Symbol → rule with its numbers, at the last attempt."""
    told: str | None = None
    """Text of the alert that was raised last; None where none stands."""
    has_recalled: bool = False
    """Whether what an earlier process told was read."""
    used_ids: set[str] = field(default_factory=set)
    """Ids under which a denial is journaled: no order is sent under them."""
    n_attempts: int = 0
    _tried: set[Path] = field(default_factory=set)
    _tried_at: datetime | None = None
    _next_at: datetime | None = None
    _bar: int | None = None
    _journaled: str | None = None

    @property
    def waits(self) -> bool:
        """Whether something is denied that may pass later."""
        return any(rule_of(words) not in _LASTING for words in self.denied.values())

    @property
    def words(self) -> str:
        """What is denied, by rule: `PRICE_COLLAR: AAPL, MSFT; PRICE_JUMP: TSLA`."""
        return describe_denied(self.denied)

    def is_due(self, request: Path, bar: int | None, now: datetime) -> bool:
        """Tell whether a kill is tried now: it is new, a bar came, or its rest is over."""
        if request not in self._tried or bar != self._bar:
            return True
        assert self._tried_at is not None
        assert self._next_at is not None
        return not self._tried_at <= now < self._next_at  # a clock that went back waits for none

    def rest(self, request: Path, bar: int | None, now: datetime, seconds: float) -> None:
        """Try that kill again after so many seconds, or at the next bar."""
        self._tried.add(request)
        self._bar, self._tried_at = bar, now
        self._next_at = now + timedelta(seconds=seconds)
        self.n_attempts += 1

    def is_news(self, n_sent: int) -> bool:
        """Tell whether an attempt is to be journaled: exits left, or others are denied."""
        return n_sent > 0 or self._journaled != self.words

    def note_journaled(self) -> None:
        """Know that the journal holds what is denied."""
        self._journaled = self.words

    def clear(self) -> None:
        """Wait for nothing any more."""
        self.denied, self.told, self.n_attempts = {}, None, 0
        self._tried, self._journaled = set(), None


def rule_of(words: str) -> str:
    """Return the rule of a denial.

    Example:
        >>> rule_of("PRICE_COLLAR: limit=0.05 observed=0.1")
        'PRICE_COLLAR'
    """
    return words.partition(":")[0]


def describe_denied(denied: Mapping[str, str]) -> str:
    """Name symbols by the rule that denied them, without its numbers.

    Example:
        >>> describe_denied({"B": "PRICE_JUMP: limit=0.5 observed=1", "A": "PRICE_JUMP: …"})
        'PRICE_JUMP: A, B'
    """
    rules: dict[str, list[str]] = {}
    for symbol, words in sorted(denied.items()):
        rules.setdefault(rule_of(words), []).append(symbol)
    return "; ".join(f"{rule}: {', '.join(symbols)}" for rule, symbols in sorted(rules.items()))
