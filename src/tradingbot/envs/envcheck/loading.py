"""From the text `module:object` on a command line to something the suite can run."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
from typing import Any

import gymnasium

from tradingbot.domain.errors import UserError, suggest
from tradingbot.envs.envcheck.probe import Probe, generic_probe

_FORMS = "Give module:object (a Probe, an environment class or a factory) or a Gymnasium id"


def load_subject(path: str) -> Probe:
    """Find what an import path or a Gymnasium id means.

    Args:
        path: `module:object`, `module:id` (the module registers the id), or a registered id. The
            current folder is searched first, as `python -m` does.

    Raises:
        UserError: If there is no such thing, or it is not an environment.
    """
    module_name, colon, name = path.partition(":")
    if not path.strip() or (colon and not (module_name and name)):
        raise UserError("an environment must be named", was=repr(path), remedy=_FORMS)
    if not colon:
        return _from_id(path)
    module = _import(module_name, path)
    if not hasattr(module, name.split(".")[0]):
        if name in gymnasium.registry:
            return _from_id(name)
        public = [entry for entry in vars(module) if not entry.startswith("_")]
        raise UserError(
            f"module {module_name!r} must have {name!r}", where=path, remedy=suggest(name, public)
        )
    try:
        found: Any = functools.reduce(getattr, name.split("."), module)
    except AttributeError as e:
        raise UserError(f"{path!r} must exist", was=str(e), remedy=_FORMS) from e
    return _from_object(found, path)


def _from_object(found: Any, path: str) -> Probe:
    if isinstance(found, Probe):
        return found
    if isinstance(found, gymnasium.Env):
        raise UserError(
            "an environment must be given as its class or a factory, for checks build it anew",
            was=f"an instance of {type(found).__name__}",
            where=path,
        )
    if not callable(found):
        raise UserError(
            f"{path!r} must be a Probe, an environment class or a factory",
            was=type(found).__name__,
            remedy=_FORMS,
        )
    if isinstance(found, type) and not issubclass(found, gymnasium.Env):
        raise UserError(f"class {path!r} must be a gymnasium.Env", was=found.__name__)
    return generic_probe(path, found)


def _from_id(identifier: str) -> Probe:
    if identifier not in gymnasium.registry:
        raise UserError(
            f"{identifier!r} must be module:object or a registered Gymnasium id",
            remedy=suggest(identifier, gymnasium.registry),
        )
    return generic_probe(identifier, functools.partial(gymnasium.make, identifier))


def _import(module_name: str, path: str) -> Any:
    folder = os.getcwd()
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(module_name)
    except Exception as e:
        raise UserError(
            f"module {module_name!r} must be importable",
            was=f"{type(e).__name__}: {e}",
            where=path,
            remedy="Run in the folder of the module, or install its package",
        ) from e
    finally:
        if added:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)
