"""What the master and the policy of its sleeves answer, checked before any capital moves."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import UserError
from tradingbot.envs.batch.actions import read_actions
from tradingbot.envs.config import EnvConfig

_POLICY = "policy of the sleeves"


def on_simplex(action: NDArray[np.generic], n_sleeves: int) -> NDArray[np.float64]:
    """Read an action (N + 1,) as weights: divided by their sum; all zeros is all cash.

    Raises:
        UserError: If they are no numbers, the shape is wrong, or one is negative or not finite.
    """
    try:
        given = np.asarray(action)
    except ValueError:  # rows of different lengths
        given = np.empty(0, object)
    if given.dtype.kind not in "fiu":
        raise UserError("weights must be an array of numbers", was=repr(action)[:60], where="step")
    numbers = given.astype(np.float64)
    if numbers.shape != (n_sleeves + 1,):
        raise UserError(f"weights must have shape ({n_sleeves + 1},)", was=numbers.shape)
    if not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise UserError("weights must be 0 or more and finite", was=numbers.round(4).tolist())
    total = numbers.sum()
    if total == 0.0:
        return np.append(np.zeros(n_sleeves), 1.0)
    return np.asarray(numbers / total)


def read_answer(answer: Tensor | NDArray[np.generic], config: EnvConfig, n_sleeves: int) -> Tensor:
    """Return what the policy of the sleeves answered as actions (N,).

    Raises:
        UserError: If shape or dtype are wrong or a number is not finite: a frozen policy that
            gives one is broken, and holding on it would hide that.
    """
    try:
        actions = read_actions(
            answer, (n_sleeves,), config.rules.action.space, strict=config.strict
        )
    except UserError as e:
        raise UserError(e.rule, was=e.was, where=_POLICY) from e
    if not bool(torch.isfinite(actions).all()):
        raise UserError("actions must be finite", was=actions.tolist(), where=_POLICY)
    return actions
