"""Names of sets of features; what they hold is in `features.registry`."""

from __future__ import annotations

from typing import Literal

FeatureSet = Literal["default", "relative"]
