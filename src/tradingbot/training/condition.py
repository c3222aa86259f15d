"""What must be so for settings to act; see `setting_conditions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tradingbot.training.config import TrainConfig


class Condition(NamedTuple):
    """Where settings act."""

    keys: tuple[str, ...]
    """Dotted keys, or beginnings of them that end at a dot."""
    acts: Callable[[TrainConfig], bool]
    needs: Callable[[TrainConfig], str]
    """(configuration) → what must be so for them to act."""
    is_alternative: bool = False
    """Files may hold it beside what acts instead: sections of several learners, a market to use
    without a dataset. Then options alone are asked about."""
