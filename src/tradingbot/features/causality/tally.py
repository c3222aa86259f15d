"""The account of one output through all rounds of a proof, compared bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.features.causality import subject as claims
from tradingbot.features.causality.perturbations import COVARIATE_KINDS, SYMBOL_KINDS
from tradingbot.features.causality.subject import Offence, ProofVerdict, Status
from tradingbot.features.inputs import TimeArray

_WORD = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def differs(expected: NDArray[Any], got: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the elements whose bits differ.

    -0.0 differs from 0.0. Two NaN are equal whatever their payload: arithmetic does not fix the
    payload, and no price can be read out of it.

    Args:
        expected: Any shape; boolean, integer, float or time.
        got: Same shape and dtype.
    """
    if expected.dtype.itemsize not in _WORD or expected.dtype.hasobject:
        return np.asarray(expected != got, dtype=bool)
    word = _WORD[expected.dtype.itemsize]
    marked: NDArray[np.bool_] = expected.view(word) != got.view(word)
    if expected.dtype.kind == "f" and marked.any():
        marked &= ~(np.isnan(expected) & np.isnan(got))
    return marked


def defined_count(values: NDArray[Any]) -> int:
    """Number of elements that are not NaN."""
    if values.dtype.kind == "f":
        return int(values.size - np.count_nonzero(np.isnan(values)))
    return int(values.size)


def is_constant(values: NDArray[Any]) -> bool:
    """Tell whether all elements are the same: such an output can carry no information."""
    return (
        values.size == 0 or not differs(values, np.broadcast_to(values.flat[0], values.shape)).any()
    )


_IGNORES = (
    "it is the same for another market: it ignores its inputs "
    '(scope "grid" is for what only rises or only falls with the row number)'
)


@dataclass(frozen=True)
class Round:
    """One recomputation."""

    number: int
    kind: str  # one of GRID_KINDS, or "staggered"
    cuts: NDArray[np.int64]  # (N,) last untouched row of each symbol

    @property
    def is_common(self) -> bool:
        """True if all symbols are cut at the same row."""
        return self.kind != "staggered"

    @property
    def cut(self) -> int:
        """The last row that is untouched in every symbol."""
        return int(self.cuts.min())

    def describe(self, column: int | None) -> str:
        """Name what was done, to one symbol if `column` is given."""
        if self.kind in ("truncate", "regrow") or column is None:
            return self.kind
        bars = SYMBOL_KINDS[(self.number + column) % len(SYMBOL_KINDS)]
        events = COVARIATE_KINDS[(self.number + column) % len(COVARIATE_KINDS)]
        return f"{self.kind}: bars {bars}, covariates {events}"


@dataclass
class Tally:
    """Counts comparisons of one output and keeps the first offence."""

    subject: str
    output: str
    expected: NDArray[Any]
    scope: claims.Scope | Literal["fitted"]
    known_from: int
    symbols: tuple[str, ...]
    comparisons: int = 0
    differing: int = 0
    offence: Offence | None = None

    @classmethod
    def of(
        cls,
        subject: claims.ProofSubject,
        name: str,
        output: claims.Output,
        symbols: tuple[str, ...],
    ) -> Tally:
        """Begin the account of one output with its expected values."""
        claim = output if isinstance(output, claims.Rows | claims.Fitted) else claims.Rows(output)
        scope: claims.Scope | Literal["fitted"] = "fitted"
        known_from = claim.as_of if isinstance(claim, claims.Fitted) else claim.known_from
        if isinstance(claim, claims.Rows):
            scope = claim.scope or subject.scope
        values = np.asarray(claim.values)
        if scope == "symbol" and (values.ndim < 2 or values.shape[1] != len(symbols)):
            rule = "output of scope symbol must have shape (T, N, …)"
            raise DataError(rule, was=values.shape, where=f"{subject.name}:{name}")
        return cls(subject.name, name, values, scope, known_from, symbols)

    def takes_part(self, planned: Round) -> bool:
        """Tell whether the output makes a claim that this round can refute."""
        return planned.cut >= self.known_from and (planned.is_common or self.scope == "symbol")

    def compare(
        self,
        planned: Round,
        got: Mapping[str, claims.Output] | str,
        closed_at: TimeArray,
        length: int,
    ) -> None:
        """Compare what was known by the cut with what came out now.

        Args:
            planned: The round.
            got: The subject's outputs under the other future, or why it failed.
            closed_at: (T,) closes of the original grid.
            length: Rows of the other market.
        """
        if not self.takes_part(planned):
            return
        values = self._readable(got, length)
        if isinstance(values, str):
            self.differing += 1
            self.comparisons += 1
            self.offence = self.offence or Offence(
                None, None, str(closed_at[planned.cut]), planned.describe(None), "values", values
            )
            return
        expected, known = self.expected, slice(None)
        if self.scope != "fitted":
            known = slice(0, int(planned.cuts.max()) + 1)
            expected, values = expected[known], values[known]
        marked = differs(expected, values)
        if not planned.is_common:
            past = np.arange(len(expected))[:, None] <= planned.cuts
            marked &= past.reshape(past.shape + (1,) * (marked.ndim - 2))
            self.comparisons += int(past.sum()) * int(np.prod(marked.shape[2:]))
        else:
            self.comparisons += marked.size
        if marked.any():
            self.differing += int(marked.sum())
            self.offence = self.offence or self._offence(planned, marked, values, closed_at)

    def compare_end(self, cut: int, first: int, values: NDArray[Any], closed_at: TimeArray) -> None:
        """Compare rows `first` … `cut` with those of a market that ends at the cut."""
        expected = self.expected[first : cut + 1]
        marked = differs(np.ascontiguousarray(expected), np.ascontiguousarray(values))
        self.comparisons += marked.size
        if marked.any():
            self.differing += int(marked.sum())
            before = [(0, 0)] * marked.ndim
            before[0] = (first, 0)
            planned = Round(cut, "truncate", np.full(len(self.symbols), cut, dtype=np.int64))
            whole = np.pad(marked, before), np.pad(values, before)
            self.offence = self.offence or self._offence(planned, *whole, closed_at)

    def verdict(self, elsewhere: Mapping[str, claims.Output] | str) -> ProofVerdict:
        """Close the account.

        Args:
            elsewhere: The subject's outputs for a wholly different market. An output that varies
                but is the same there does not look at its inputs, so nothing was proved; unless it
                claims to be made of the grid alone and, like a count of rows, never turns.
        """
        status: Status = "causal"
        reason = ""
        if self.differing:
            status = "leaks"
        elif not self.comparisons or not defined_count(self.expected):
            status, reason = "unproved", "no defined value lies before a cut"
        elif self.scope == "grid" and not self._is_same_for_all_symbols():
            status, reason = "unproved", "it differs between symbols: it is not made of the grid"
        elif self._ignores_inputs(elsewhere) and not (self.scope == "grid" and self._counts()):
            status, reason = "unproved", _IGNORES
        return ProofVerdict(
            *(self.subject, self.output, self.scope, self.known_from, status),
            *(self.comparisons, self.differing, self.offence, reason),
        )

    def _readable(self, got: Mapping[str, claims.Output] | str, length: int) -> NDArray[Any] | str:
        if isinstance(got, str):
            return got
        if self.output not in got:
            return "no such output"
        output = got[self.output]
        values = np.asarray(
            output.values if isinstance(output, claims.Rows | claims.Fitted) else output
        )
        if values.dtype != self.expected.dtype:
            return f"dtype {values.dtype} instead of {self.expected.dtype}"
        shape = (
            self.expected.shape if self.scope == "fitted" else (length, *self.expected.shape[1:])
        )
        if values.shape != shape:
            return f"shape {values.shape} instead of {shape}"
        return values

    def _is_same_for_all_symbols(self) -> bool:
        if self.expected.ndim < 2:
            return True
        first = np.broadcast_to(self.expected[:, :1], self.expected.shape)
        return not differs(self.expected, np.ascontiguousarray(first)).any()

    def _counts(self) -> bool:
        """Tell whether values only rise or only fall with the row: prices remembered do not."""
        steps = np.diff(self.expected.astype(np.float64), axis=0)
        return not (steps < 0).any() or not (steps > 0).any()

    def _ignores_inputs(self, elsewhere: Mapping[str, claims.Output] | str) -> bool:
        """Tell whether another market gives the same; a constant, which tells nothing, may."""
        if isinstance(elsewhere, str) or self.output not in elsewhere or is_constant(self.expected):
            return False
        output = elsewhere[self.output]
        values = np.asarray(
            output.values if isinstance(output, claims.Rows | claims.Fitted) else output
        )
        if self.scope == "fitted":
            return values.shape == self.expected.shape and not differs(self.expected, values).any()
        rows = min(len(values), len(self.expected))
        return not differs(self.expected[:rows], values[:rows]).any()

    def _offence(
        self, planned: Round, marked: NDArray[np.bool_], values: NDArray[Any], closed_at: TimeArray
    ) -> Offence:
        place = tuple(int(i) for i in np.argwhere(marked)[0])
        has_symbols = marked.ndim > 1 and marked.shape[1] == len(self.symbols)
        column = place[1] if self.scope != "fitted" and has_symbols else None
        cut = int(planned.cuts[column]) if column is not None else planned.cut
        return Offence(
            symbol=None if column is None else self.symbols[column],
            closed_at=None if self.scope == "fitted" else str(closed_at[place[0]]),
            cut_at=str(closed_at[cut]),
            perturbation=planned.describe(column),
            expected=repr(self.expected[place].item()),
            got=repr(values[place].item()),
        )
