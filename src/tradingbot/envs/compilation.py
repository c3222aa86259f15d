"""Whether a step is compiled: asked for, worth it, and possible on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal, ParamSpec, TypeVar, cast

import torch

from tradingbot.market.compiled import missing_compiler

AUTO_LANES = 256
"""From so many lanes on, `auto` compiles: below, the seconds it takes are rarely repaid."""

P = ParamSpec("P")
R = TypeVar("R")


def compiled_or_eager(
    function: Callable[P, R],
    *,
    wanted: bool | Literal["auto"],
    device: torch.device,
    n_lanes: int,
) -> Callable[P, R]:
    """Return the function, compiled as one graph if that is wanted and possible.

    Warns:
        RuntimeWarning: If it is wanted and the machine cannot.
    """
    if not (wanted is True or (wanted == "auto" and n_lanes >= AUTO_LANES)):
        return function
    missing = missing_compiler(device)
    if missing is not None:
        warnings.warn(
            f"The step runs uncompiled, and slower: {missing} was not found on this machine.",
            RuntimeWarning,
            stacklevel=3,
        )
        return function
    return cast("Callable[P, R]", torch.compile(function, fullgraph=True, dynamic=False))
