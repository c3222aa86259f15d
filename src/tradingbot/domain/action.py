"""The seven discrete actions, which are also the common language of every action space."""

from __future__ import annotations

from enum import IntEnum


class Action(IntEnum):
    """What an agent may ask for; see `docs/concepts/simulator.md` for sizes and mask."""

    HOLD = 0
    BUY_SMALL = 1
    BUY_MEDIUM = 2
    BUY_LARGE = 3
    SELL_PARTIAL = 4
    SELL_ALL = 5
    ADD_POSITION = 6
