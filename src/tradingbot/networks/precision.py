"""Precision of matrix products, by name."""

from __future__ import annotations

from typing import Literal

Precision = Literal["float32", "bfloat16"]
"""That of the weights, or bfloat16 by autocast. Results keep their type."""
