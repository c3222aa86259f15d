"""Universes: which symbols exist for us at which time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tradingbot.domain.errors import DataError
from tradingbot.domain.symbol import require_symbol


@dataclass(frozen=True)
class Member:
    """One symbol's stay in a universe."""

    symbol: str
    kind: str = "stock"
    sector: str = "unknown"
    joined_on: date | None = None
    """First day of membership; None means since before our data."""
    left_on: date | None = None
    """First day *after* membership; None means still a member."""

    def __post_init__(self) -> None:
        """Check the symbol and the order of the two dates."""
        require_symbol(self.symbol)
        if self.joined_on and self.left_on and self.left_on <= self.joined_on:
            raise DataError(
                "left_on must be after joined_on",
                was=f"{self.joined_on} … {self.left_on}",
                where=self.symbol,
                remedy="Correct the universe file",
            )

    def is_member(self, on: date) -> bool:
        """Tell whether the symbol belongs to the universe on a day."""
        return (self.joined_on is None or self.joined_on <= on) and (
            self.left_on is None or on < self.left_on
        )


@dataclass(frozen=True)
class Universe:
    """An ordered, point-in-time set of symbols.

    Example:
        >>> Universe("two", (Member("AAPL"), Member("SPY", kind="etf"))).symbols
        ('AAPL', 'SPY')
    """

    name: str
    members: tuple[Member, ...]
    calendar: str = "XNYS"

    def __post_init__(self) -> None:
        """Refuse empty universes and symbols whose stays overlap."""
        if not self.members:
            raise DataError("universe must have a member", was="none", where=self.name)
        seen: dict[str, Member] = {}
        for member in self.members:
            before = seen.get(member.symbol)
            if before and (
                before.left_on is None
                or member.joined_on is None
                or member.joined_on < before.left_on
            ):
                rule = "stays of one symbol must not overlap and must be in order"
                where = f"universe {self.name}"
                remedy = "Give joined_on and left_on so that each stay ends before the next"
                raise DataError(rule, was=member.symbol, where=where, remedy=remedy)
            seen[member.symbol] = member

    @property
    def symbols(self) -> tuple[str, ...]:
        """Every symbol that was ever a member, in order, once."""
        return tuple(dict.fromkeys(member.symbol for member in self.members))

    def as_of(self, on: date) -> tuple[str, ...]:
        """Symbols that are members on a day, in universe order."""
        return tuple(
            dict.fromkeys(member.symbol for member in self.members if member.is_member(on))
        )
