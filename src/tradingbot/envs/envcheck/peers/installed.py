"""Getting at an installed package without letting it change this process."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from importlib import import_module, metadata
from typing import Any

from tradingbot.domain.errors import MissingExtraError, UserError
from tradingbot.envs.envcheck.bars import DictatedBars

EXTRA = "peers"


def load_module(package: str, module: str) -> Any:
    """Import a module of a peer; warning filters it sets globally are put back.

    Raises:
        MissingExtraError: If its package is not installed.
    """
    version_of(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(module)
        except ImportError as e:
            raise MissingExtraError(EXTRA, package=e.name or package) from e


def load_file(package: str, path: str) -> Any:
    """Run one file of an installed package as a module of its own, past the package's `__init__`.

    Args:
        package: Name of the distribution.
        path: The file within it, with slashes.

    Raises:
        UserError: If the package is missing, or the file is missing or cannot be run.
    """
    version_of(package)
    name = f"tradingbot_peer_{path.removesuffix('.py').replace('/', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    found = [file for file in metadata.files(package) or () if file.as_posix() == path]
    spec = importlib.util.spec_from_file_location(name, str(found[0].locate())) if found else None
    if spec is None or spec.loader is None:
        raise UserError(f"package {package!r} must have the file {path!r}")
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            spec.loader.exec_module(module)
        except Exception as e:
            was = f"{type(e).__name__}: {e}"
            raise UserError(f"{path!r} of {package!r} must load", was=was) from e
    sys.modules[name] = module
    return module


def version_of(package: str) -> str:
    """Return the installed version of a distribution.

    Raises:
        MissingExtraError: If it is not installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as e:
        raise MissingExtraError(EXTRA, package=package) from e


def frame(bars: DictatedBars, **columns: Any) -> Any:
    """Put bars into the pandas frame peers want: open, high, low, close, volume and `columns`."""
    pandas = import_module("pandas")
    names = ("open", "high", "low", "close", "volume")
    return pandas.DataFrame({name: getattr(bars, f"{name}s") for name in names} | columns)


def hours(bars: DictatedBars) -> Any:
    """Return an hourly index for frames that must have times; the dates mean nothing."""
    return import_module("pandas").date_range("2020-01-01", periods=len(bars), freq="h")
