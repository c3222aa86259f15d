"""From the text `module:object` on a command line to something the suite can run."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import gymnasium

from tradingbot.domain.errors import UserError, suggest
from tradingbot.envs.envcheck.ours import our_probe
from tradingbot.envs.envcheck.peers import anytrading, trading_env
from tradingbot.envs.envcheck.probe import EnvProbe, generic_probe
from tradingbot.envs.registration import ENV_IDS, register_environments

_FORMS = (
    "Give module:object (a Probe, an environment class, or a function that returns either) "
    "or a Gymnasium id"
)
# Classes that come with a probe: our own, and peers.
_PROBED: dict[str, Callable[[], EnvProbe]] = {
    "tradingbot.envs.single.env.TradingEnv": functools.partial(our_probe, "continuous"),
    "gym_anytrading.envs.stocks_env.StocksEnv": anytrading.stocks_probe,
    "gym_trading_env.environments.TradingEnv": trading_env.trading_env_probe,
}


def load_subject(path: str) -> EnvProbe:
    """Find what an import path or a Gymnasium id means.

    Args:
        path: `module:object`, `module:id` (the module registers the id), or a registered id. The
            current folder is searched first, as `python -m` does.

    Raises:
        UserError: If there is no such thing, or it is not an environment.
    """
    register_environments()
    module_name, colon, name = path.partition(":")
    if not path.strip() or (colon and not (module_name and name)):
        raise UserError("an environment must be named", was=repr(path), remedy=_FORMS)
    if not colon:
        return _from_id(path)
    module = _import(module_name, path)
    try:
        found: Any = functools.reduce(getattr, name.split("."), module)
    except AttributeError as e:
        if name in gymnasium.registry:
            return _from_id(name)
        public = [entry for entry in vars(module) if not entry.startswith("_")]
        raise UserError(
            f"module {module_name!r} must have {name!r}", where=path, remedy=suggest(name, public)
        ) from e
    return _from_object(found, path)


def _from_object(found: Any, path: str) -> EnvProbe:
    if isinstance(found, EnvProbe):
        return found
    if isinstance(found, type):
        if not issubclass(found, gymnasium.Env):
            raise UserError("a class to check must be a gymnasium.Env", was=path, remedy=_FORMS)
        known = _PROBED.get(f"{found.__module__}.{found.__qualname__}")
        return known() if known is not None else generic_probe(path, found)
    if isinstance(found, gymnasium.Env):
        rule = "an environment must be given as its class or a factory, for checks build it anew"
        raise UserError(rule, was=f"an instance of {type(found).__name__}", where=path)
    if not callable(found):
        raise UserError(f"{path!r} must be an environment", was=type(found).__name__, remedy=_FORMS)
    return _from_factory(found, path)


def _from_factory(factory: Callable[[], Any], path: str) -> EnvProbe:
    """Call it once, to learn whether it makes a probe or an environment."""
    try:
        made = factory()
    except UserError:
        raise
    except Exception as e:
        rule = f"{path!r} must be callable without arguments"
        raise UserError(rule, was=f"{type(e).__name__}: {e}", remedy=_FORMS) from e
    if isinstance(made, EnvProbe):
        return made
    if isinstance(made, gymnasium.Env):
        made.close()
        return generic_probe(path, factory)
    was = type(made).__name__
    raise UserError(f"{path!r} must return an environment or a Probe", was=was, remedy=_FORMS)


def _from_id(identifier: str) -> EnvProbe:
    if identifier in ENV_IDS:
        return our_probe(ENV_IDS[identifier])
    if identifier not in gymnasium.registry:
        raise UserError(
            f"{identifier!r} must be module:object or a registered Gymnasium id",
            remedy=guess
            if (guess := suggest(identifier, gymnasium.registry))[-1] == "?"
            else _FORMS,
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
        rule = f"module {module_name!r} must be importable"
        remedy = "Run in the folder of the module, or install its package"
        raise UserError(rule, was=f"{type(e).__name__}: {e}", where=path, remedy=remedy) from e
    finally:
        if added:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)
