"""Actions of a batch as they come from outside: shape and dtype are checked before any lane moves.

What the numbers mean is the simulator's business (`market/actions/`).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.errors import UserError
from tradingbot.envs.config import EnvConfig
from tradingbot.market.params import ActionSpace

_WHERE = "actions of a step"


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
        raise UserError(f"actions must have shape {shape}", was=tuple(tensor.shape), where=_WHERE)
    discrete = space == "discrete"
    if not is_number(tensor.dtype, whole=discrete):
        kind = "whole numbers" if discrete else "numbers"
        raise UserError(f"{space} actions must be {kind}", was=tensor.dtype, where=_WHERE)
    tensor = tensor.reshape(shape)
    if discrete:
        tensor = tensor.long()
    elif not tensor.is_floating_point():
        tensor = tensor.float()
    if strict:
        require_range(tensor, space)
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
        raise UserError(
            "actions must be a tensor or an array of numbers",
            was=type(actions).__name__,
            where=_WHERE,
        ) from e


def require_range(actions: Tensor, space: ActionSpace) -> None:
    """Refuse actions (B,) that are not finite or out of the space's range.

    Raises:
        UserError: Naming the first such lane.
    """
    low, high = (0, len(Action) - 1) if space == "discrete" else (-1, 1)
    inside = (actions >= low) & (actions <= high)  # false for NaN
    if not bool(inside.all()):
        lane = int((~inside).int().argmax())
        raise UserError(
            f"{space} actions must lie in [{low}, {high}]",
            was=actions[lane].item(),
            where=f"lane {lane}",
            remedy="EnvConfig(strict=False) clips, and counts what it cannot read",
        )


def readable_kinds(config: EnvConfig) -> str:
    """Return kinds of NumPy's dtypes whose numbers need no further look: none where strict."""
    if config.strict:
        return ""
    return "iu" if config.rules.action.space == "discrete" else "fiu"
