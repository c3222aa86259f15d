"""Which inputs of a head belong to single members of a set, and which are shared. Without torch."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import bounded, require, require_kinds


@dataclass(frozen=True)
class MemberInputs:
    """Columns of inputs (…, I) that describe M members, e.g. the sleeves of a portfolio.

    Column `first + m · width + k` of a span is number k of member m; all other columns are shared.

    Example:
        >>> MemberInputs(3, ((0, 2), (7, 1))).member_width
        3
    """

    n_members: int = bounded(2, ">= 1")
    """M."""
    spans: tuple[tuple[int, int], ...] = ()
    """(first column, numbers per member), in order, without overlap."""

    def __post_init__(self) -> None:
        """Refuse spans that overlap or are empty."""
        require_kinds(self)
        require(bool(self.spans), "spans must name columns", self)
        end = 0
        for first, width in self.spans:
            require(width >= 1 and first >= end, "spans must be in order and not overlap", self)
            end = first + width * self.n_members

    @classmethod
    def beside(cls, n_members: int, width: int, shared: int, own: int) -> MemberInputs:
        """Return those of a view of members and shared numbers, before `own` numbers of each.

        Example:
            >>> MemberInputs.beside(3, width=2, shared=1, own=1)
            MemberInputs(n_members=3, spans=((0, 2), (7, 1)))
        """
        return cls(n_members, ((0, width), (n_members * width + shared, own)))

    @property
    def member_width(self) -> int:
        """Numbers of one member."""
        return sum(width for _, width in self.spans)

    def shared_columns(self, n_inputs: int) -> tuple[tuple[int, int], ...]:
        """Return what lies between the spans, as (first column, end)."""
        edges = [0]
        for first, width in self.spans:
            edges += [first, first + width * self.n_members]
        edges.append(n_inputs)
        return tuple(
            pair for pair in zip(edges[::2], edges[1::2], strict=True) if pair[0] < pair[1]
        )

    def shared_width(self, n_inputs: int) -> int:
        """Return how many of the inputs are shared."""
        return n_inputs - self.member_width * self.n_members
