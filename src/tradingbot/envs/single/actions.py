"""One action as it comes from outside: shape and type are checked before the account moves.

What the number means is the simulator's business (`market/actions`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tradingbot.domain.action import Action
from tradingbot.domain.errors import UserError
from tradingbot.market.params import ActionSpace

_SHAPES = {"continuous": "(1,)", "target": "(1,)", "discrete": "()"}


def read_action(action: Any, *, space: ActionSpace, strict: bool) -> float:
    """Return an action as one number.

    Args:
        action: A number, or an array of shape () or (1,); a whole number for discrete actions.
        space: What the number is.
        strict: Refuse what is not finite or out of range; else the simulator holds or clips, and
            counts it as a violation where it held.

    Raises:
        UserError: If the shape, the type or, in strict environments, the number is wrong.
    """
    array = action if isinstance(action, np.ndarray) else np.asarray(action)
    if array.shape not in ((1,), ()):
        raise UserError(
            f"{space} action must have shape {_SHAPES[space]}",
            was=array.shape,
            where="step",
            remedy="One environment takes one action; many need the vector environment",
        )
    kinds = "iu" if space == "discrete" else "fiu"
    if array.dtype.kind not in kinds:
        kind = "a whole number" if space == "discrete" else "a number"
        raise UserError(f"{space} action must be {kind}", was=array.dtype, where="step")
    number = float(array.item())
    if strict:
        _require_range(number, space)
    return number


def _require_range(number: float, space: ActionSpace) -> None:
    low, high = (0, len(Action) - 1) if space == "discrete" else (-1, 1)
    if not low <= number <= high:  # true for NaN
        raise UserError(
            f"{space} action must lie in [{low}, {high}]",
            was=int(number) if number.is_integer() else number,  # every digit: 1.0000001 is not 1
            where="step",
            remedy="EnvConfig(strict=False) clips, and counts what it cannot read",
        )
