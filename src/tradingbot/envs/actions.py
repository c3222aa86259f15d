"""Actions as they come from outside: shape and type are checked before any account moves.

What the numbers mean is the simulator's business (`market/actions/`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.errors import UserError
from tradingbot.market.params import ActionSpace

_BATCH = "actions of a step"
_CLIPS = "EnvConfig(strict=False) clips, and counts what it cannot read"


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
    discrete = space == "discrete"
    if array.shape not in ((1,), ()):
        rule = f"{space} action must have shape {'()' if discrete else '(1,)'}"
        remedy = "One environment takes one action; many need the vector environment"
        raise UserError(rule, was=array.shape, where="step", remedy=remedy)
    if array.dtype.kind not in readable_kinds(space):
        kind = "a whole number" if discrete else "a number"
        raise UserError(f"{space} action must be {kind}", was=array.dtype, where="step")
    number = float(array.item())
    low, high = _range_of(space)
    if strict and not low <= number <= high:  # true for NaN
        raise UserError(
            f"{space} action must lie in [{low}, {high}]",
            was=int(number) if number.is_integer() else number,  # every digit: 1.0000001 is not 1
            where="step",
            remedy=_CLIPS,
        )
    return number


def read_actions(
    actions: Tensor | NDArray[np.generic], shape: tuple[int], space: ActionSpace, *, strict: bool
) -> Tensor:
    """Return actions (B,) as a tensor: int64 codes, or floating point.

    Args:
        actions: (B,) or (B, 1); whole numbers for discrete actions.
        shape: (B,).
        space: What the numbers are.
        strict: Refuse what is not finite or out of range; else the simulator holds or clips, and
            counts it as a violation where it held.

    Raises:
        UserError: If the shape, the dtype or, in strict environments, a number is wrong.
    """
    tensor = _as_tensor(actions)
    if tensor.shape not in (shape, (*shape, 1)):
        raise UserError(f"actions must have shape {shape}", was=tuple(tensor.shape), where=_BATCH)
    discrete = space == "discrete"
    if not is_number(tensor.dtype, whole=discrete):
        kind = "whole numbers" if discrete else "numbers"
        raise UserError(f"{space} actions must be {kind}", was=tensor.dtype, where=_BATCH)
    tensor = tensor.reshape(shape)
    if discrete:
        tensor = tensor.long()
    elif not tensor.is_floating_point():
        tensor = tensor.float()
    if strict:
        _require_range(tensor, space)
    return tensor


def is_number(dtype: torch.dtype, *, whole: bool) -> bool:
    """Tell whether a dtype holds numbers that an action may be."""
    if dtype == torch.bool or dtype.is_complex:
        return False
    return not (whole and dtype.is_floating_point)


def _as_tensor(actions: Tensor | NDArray[np.generic]) -> Tensor:
    if isinstance(actions, Tensor):
        return actions
    try:
        return torch.from_numpy(np.ascontiguousarray(actions))
    except (TypeError, ValueError) as e:
        rule = "actions must be a tensor or an array of numbers"
        raise UserError(rule, was=type(actions).__name__, where=_BATCH) from e


def _require_range(actions: Tensor, space: ActionSpace) -> None:
    """Refuse actions (B,) that are not finite or out of the space's range; names the first."""
    low, high = _range_of(space)
    inside = (actions >= low) & (actions <= high)  # false for NaN
    if not bool(inside.all()):
        lane = int((~inside).int().argmax())
        rule, was = f"{space} actions must lie in [{low}, {high}]", actions[lane].item()
        raise UserError(rule, was=was, where=f"lane {lane}", remedy=_CLIPS)


def _range_of(space: ActionSpace) -> tuple[int, int]:
    return (0, len(Action) - 1) if space == "discrete" else (-1, 1)


def readable_kinds(space: ActionSpace) -> str:
    """Return kinds of NumPy's dtypes that an action may have."""
    return "iu" if space == "discrete" else "fiu"
