"""Arithmetic that reads the same for a batch of tensors and for one plain number.

Rewards and observations are written once against `Maths`; the batched simulator calls them with
tensors, the single environment with floats.
"""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

import torch
from torch import Tensor

T = TypeVar("T", Tensor, float)


class Maths(Protocol[T]):
    """What a formula may use besides the arithmetic operators."""

    def where(self, condition: T | bool, chosen: T | float, other: T | float) -> T:
        """Take `chosen` where the condition holds, else `other`; both are evaluated."""

    def minimum(self, a: T, b: T | float) -> T:
        """Return the smaller."""

    def maximum(self, a: T, b: T | float) -> T:
        """Return the larger."""

    def clip(self, a: T, low: float, high: float) -> T:
        """Cut to an interval."""

    def absolute(self, a: T) -> T:
        """Return the magnitude."""

    def sign(self, a: T) -> T:
        """Return −1, 0 or 1."""

    def sqrt(self, a: T) -> T:
        """Return the square root."""

    def log(self, a: T) -> T:
        """Return the natural logarithm."""

    def log1p(self, a: T) -> T:
        """Return the natural logarithm of 1 + a, exact for small a."""


class TensorMaths:
    """`Maths` of tensors."""

    def where(
        self, condition: Tensor | bool, chosen: Tensor | float, other: Tensor | float
    ) -> Tensor:
        """Choose element by element."""
        if not isinstance(condition, Tensor):
            condition = torch.as_tensor(condition)
        return torch.where(condition, chosen, other)

    def minimum(self, a: Tensor, b: Tensor | float) -> Tensor:
        """Return the smaller, element by element."""
        return torch.minimum(a, b) if isinstance(b, Tensor) else a.clamp_max(b)

    def maximum(self, a: Tensor, b: Tensor | float) -> Tensor:
        """Return the larger, element by element."""
        return torch.maximum(a, b) if isinstance(b, Tensor) else a.clamp_min(b)

    def clip(self, a: Tensor, low: float, high: float) -> Tensor:
        """Cut each element."""
        return a.clamp(low, high)

    absolute = staticmethod(torch.abs)
    sign = staticmethod(torch.sign)
    sqrt = staticmethod(torch.sqrt)
    log = staticmethod(torch.log)
    log1p = staticmethod(torch.log1p)


class FloatMaths:
    """`Maths` of one number."""

    def where(self, condition: float | bool, chosen: float, other: float) -> float:
        """Choose one."""
        return chosen if condition else other

    def minimum(self, a: float, b: float) -> float:
        """Return the smaller."""
        return a if a < b else b

    def maximum(self, a: float, b: float) -> float:
        """Return the larger."""
        return a if a > b else b

    def clip(self, a: float, low: float, high: float) -> float:
        """Cut to an interval."""
        if a < low:
            return low
        return high if a > high else a

    def sign(self, a: float) -> float:
        """Return −1, 0 or 1."""
        return float((a > 0.0) - (a < 0.0))

    absolute = staticmethod(math.fabs)
    sqrt = staticmethod(math.sqrt)
    log = staticmethod(math.log)
    log1p = staticmethod(math.log1p)


TENSOR_MATHS = TensorMaths()
FLOAT_MATHS = FloatMaths()
