"""Options: courses of action that last until they end, and which one each account follows.

Sutton, Precup & Singh 1999: where an option may begin, what it does, when it ends. What they read
is a row of the market and what an account knows of itself; what they mean is not known here.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class OptionRun(NamedTuple):
    """Which option N agents follow in B accounts each."""

    option: Tensor
    """(N, B) int64 number of the option."""
    elapsed: Tensor
    """(N, B) int64 bars since it began; 0 at the first decision under it."""
    mark: Tensor
    """(N, B) what success is measured from: `Options.mark` where it began."""

    @classmethod
    def none(cls, like: Tensor) -> OptionRun:
        """Return runs of nothing for rows (N, B), on their device."""
        zeros = torch.zeros_like(like, dtype=torch.int64)
        return cls(zeros, zeros.clone(), torch.zeros(like.shape, device=like.device))

    def where(self, mask: Tensor, other: OptionRun) -> OptionRun:
        """Return this one where a mask (N, B) is true, else the other one."""
        pairs = zip(self, other, strict=True)
        return OptionRun(*(torch.where(mask, mine, theirs) for mine, theirs in pairs))

    def later(self) -> OptionRun:
        """Return it one bar later."""
        return self._replace(elapsed=self.elapsed + 1)


class Options(Protocol):
    """O options of a task; pure functions of rows (N, B) and private numbers (N, B, P)."""

    @property
    def names(self) -> tuple[str, ...]:
        """O names."""

    @property
    def timeout(self) -> int:
        """Bars after which every option ends."""

    def available(self, row: Tensor, private: Tensor) -> Tensor:
        """Return where each may begin, (N, B, O) bool; one at least may."""

    def propose(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        """Return what the options that are followed want to do, (N, B) numbers in the range."""

    def ends(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        """Return where the options that are followed end by themselves, (N, B) bool."""

    def mark(self, row: Tensor, private: Tensor) -> Tensor:
        """Return what success is measured from, (N, B), where an option begins."""

    def succeeds(self, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
        """Return where options that end here have reached their aim, (N, B) bool."""


def is_over(options: Options, row: Tensor, private: Tensor, run: OptionRun) -> Tensor:
    """Return where the options that are followed end, (N, B): by themselves or by the timeout."""
    return options.ends(row, private, run) | (run.elapsed >= options.timeout)


class OptionMemory:
    """Follows options from bar to bar where only rows are told; asked again, it answers the same.

    A row that follows the last one goes on with the option; the same row is asked anew; any other
    begins anew.
    """

    def __init__(self) -> None:
        """Begin without a past."""
        self._row: Tensor | None = None
        self._before = self._after = OptionRun.none(torch.empty(0, 0))
        self._was_new = torch.empty(0, 0, dtype=torch.bool)

    def recall(self, options: Options, row: Tensor, private: Tensor) -> tuple[OptionRun, Tensor]:
        """Return the runs so far, and where a new option must be chosen (N, B)."""
        fresh = OptionRun.none(row)
        everywhere = torch.ones_like(row, dtype=torch.bool)
        if self._row is None or self._row.shape != row.shape or self._row.device != row.device:
            return fresh, everywhere
        later = self._after.later()
        over = is_over(options, row, private, later)
        follows, again = row == self._row + 1, row == self._row
        run = later.where(follows, self._before.where(again, fresh))
        is_new = torch.where(follows, over, torch.where(again, self._was_new, everywhere))
        return run, is_new

    def keep(self, row: Tensor, before: OptionRun, was_new: Tensor, after: OptionRun) -> None:
        """Remember what was decided at a row; simulators write over the rows that they show."""
        self._row = row.clone()
        self._before, self._was_new, self._after = before, was_new, after
