"""Whether a step is compiled: asked for, worth it, and possible on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
import warnings
from collections.abc import Callable
from typing import Literal, ParamSpec, TypeVar, cast

import torch

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


def missing_compiler(device: torch.device) -> str | None:
    """Name what compiling for a device would need and is not there; None if nothing is."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    if not any(name and shutil.which(name) for name in names):
        return "a C++ compiler"
    if device.type == "cuda" and importlib.util.find_spec("triton") is None:
        return "package 'triton'"
    return None
