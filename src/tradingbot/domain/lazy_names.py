"""Names of a package that are imported when they are first asked for.

A package that offers what computes beside what configures it would import torch, which takes
seconds, wherever a configuration is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Return a package's `__getattr__`.

    Args:
        package: Its `__name__`.
        places: Name → module below the package that has it.

    Example::

        __getattr__ = lazy_names(__name__, {"PPO": "learner", "PPOConfig": "config"})
    """

    def find(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find


def import_on_call(path: str) -> Callable[..., Any]:
    """Return what calls `module:name`, which is imported when it is first called."""

    def call(*args: Any, **options: Any) -> Any:
        module, _, name = path.partition(":")
        return getattr(import_module(module), name)(*args, **options)

    return call
