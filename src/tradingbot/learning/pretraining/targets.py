"""What auxiliary tasks ask an encoder for: one answer per series and bar, and where it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from tradingbot.domain.errors import DataError


@dataclass(frozen=True, eq=False)
class AuxiliaryTarget:
    """The answers of one task. They look ahead: never an input, nor known when one acts."""

    values: Tensor
    """(M, T) numbers (float32), or classes (int64); 0 where not valid."""
    valid: Tensor
    """(M, T) bool: the answer exists and lies within the training period."""
    horizon_bars: int
    """Bars after t that the answer of bar t looks at; 0 if none."""
    n_classes: int = 0
    """Classes; 0 for numbers."""

    def __post_init__(self) -> None:
        """Refuse answers and mask that do not belong together."""
        if self.values.dim() != 2 or self.values.shape != self.valid.shape:
            rule = "answers and their mask must share one (M, T) shape"
            raise DataError(rule, was=f"{tuple(self.values.shape)} and {tuple(self.valid.shape)}")
        if self.n_classes and self.values.dtype.is_floating_point:
            raise DataError("classes must be whole numbers", was=str(self.values.dtype))


Targets = Mapping[str, AuxiliaryTarget]
"""Name of a task, a field of `AuxiliaryWeights` → its answers."""


@dataclass(frozen=True)
class Period:
    """Bars first … held_out − 1 are learned from, held_out … stop − 1 are held out."""

    first: int
    held_out: int
    stop: int

    @classmethod
    def of(cls, targets: Targets, *, held_out_frac: float, lookback_bars: int) -> Period:
        """Cut the span of valid answers in two; the encoder's whole lookback comes before it.

        With a share of 0 nothing is held out.

        Raises:
            DataError: If a part is left without bars.
        """
        valid = torch.stack([target.valid.any(0) for target in targets.values()]).any(0)
        bars = valid.nonzero().flatten().tolist()
        if not bars:
            remedy = "Use more training bars: regime features are defined after 192"
            raise DataError("auxiliary targets must have a valid answer", was="none", remedy=remedy)
        first, stop = max(bars[0], lookback_bars - 1), bars[-1] + 1
        held_out = stop - round(held_out_frac * (stop - first))
        if not first < held_out <= stop - (held_out_frac > 0.0):
            raise DataError(
                "training bars must outlast the encoder's lookback, with some to hold out",
                was=f"valid bars {bars[0]} … {bars[-1]}",
                where=f"lookback {lookback_bars} bars, {held_out_frac:g} held out",
                remedy="Use more training bars or a shorter lookback",
            )
        return cls(first, held_out, stop)

    def learning_mask(self, target: AuxiliaryTarget) -> Tensor:
        """Return where (M, T) a task is learned from: no answer looks into the held-out part."""
        bar = torch.arange(target.valid.shape[1], device=target.valid.device)
        inside = (bar >= self.first) & (bar + target.horizon_bars < self.held_out)
        return target.valid & inside

    def scoring_mask(self, target: AuxiliaryTarget) -> Tensor:
        """Return where (M, stop − held_out) a task is judged."""
        return target.valid[:, self.held_out : self.stop]


def draw_segments(
    period: Period, *, n_series: int, count: int, length: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw runs of bars that are learned from.

    Returns:
        Series (count,) and bars (count, length); shorter where the period is shorter.
    """
    length = min(length, period.held_out - period.first)
    device = generator.device
    series = torch.randint(n_series, (count,), generator=generator, device=device)
    starts = period.held_out - period.first - length + 1
    start = period.first + torch.randint(starts, (count,), generator=generator, device=device)
    return series, start[:, None] + torch.arange(length, device=device)
