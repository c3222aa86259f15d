"""Loading plugins: a file, a module, or what installed distributions offer as an entry point.

Errors in a user's own code become one line with its file and line, not a bug of the package.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType, TracebackType

from tradingbot.domain.errors import ConfigError, UserError, suggest
from tradingbot.domain.extension import Origin, declared_by

_PACKAGE = Path(__file__).resolve().parents[1]


def plugin_error(rule: str, error: BaseException, file: str | None = None) -> UserError:
    """Say what failed in a plugin, and at which line of it.

    Args:
        rule: What must hold, e.g. "a plugin must be importable".
        error: What it raised.
        file: Where the plugin is; by default the last frame outside this package is named.
    """
    if isinstance(error, SyntaxError) and error.lineno is not None:
        where, text = f"{error.filename}:{error.lineno}", error.msg
    else:
        where = place_of(error.__traceback__, file) or file or ""
        text = error.rule if isinstance(error, UserError) else str(error)
        if isinstance(error, UserError) and error.was is not None:
            text += f", was {error.was}"
    name = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return ConfigError(
        rule,
        was=f"{name}{' '.join(text.split())[:200]}",
        where=where,
        remedy=error.remedy if isinstance(error, UserError) else "--debug shows the traceback",
    )


def place_of(tb: TracebackType | None, file: str | None = None) -> str:
    """Return `file:line` of the innermost frame in a file, or outside this package."""
    found = ""
    for frame in traceback.extract_tb(tb):
        inside = _PACKAGE in Path(frame.filename).resolve().parents
        is_code = not frame.filename.startswith("<")
        if frame.filename == file or (file is None and not inside and is_code):
            found = f"{frame.filename}:{frame.lineno}"
    return found


ENTRY_POINTS = "tradingbot.plugins"
"""Group under which distributions offer plugins."""
PLUGINS_VARIABLE = "TRADINGBOT_PLUGINS"
"""Files and modules, separated as in PATH, which processes that this one starts load as well."""
_LOADED: dict[str, Origin] = {}


def loaded_plugins() -> Mapping[str, Origin]:
    """Return every plugin that was loaded, by name."""
    return dict(_LOADED)


def load_plugin(reference: str) -> Origin:
    """Run a plugin, so that what it declares is known by name; twice does no harm.

    Args:
        reference: A .py file, or the name of a module that can be imported.

    Raises:
        ConfigError: If there is none, it fails (naming its file and line), or a name is taken.
    """
    path = Path(reference)
    is_file = path.suffix == ".py" or os.sep in reference
    if is_file:
        path = path.expanduser().absolute()
        name = path.stem
        if not path.is_file():
            rule = "a plugin must be a Python file that exists, or a module"
            was = "a folder" if path.is_dir() else "a pipe or a device"
            remedy = "Name a .py file, or a module that Python finds"
            raise ConfigError(
                rule, was=was if path.exists() else "nothing", where=reference, remedy=remedy
            )
    else:
        name = reference
    if name in _LOADED:
        _require_same(name, path if is_file else None)
        return _LOADED[name]
    origin = _run_file(path) if is_file else _run_module(reference)
    _LOADED[name] = origin
    _hand_down(str(path) if is_file else reference)
    return origin


@cache
def load_installed() -> tuple[Origin, ...]:
    """Load what installed distributions offer in the group `tradingbot.plugins`; once.

    An entry point names a module that declares parts, or a function that does so.

    Raises:
        ConfigError: If one fails, naming its distribution.
    """
    found = []
    for point in metadata.entry_points(group=ENTRY_POINTS):
        if point.name not in _LOADED:
            _LOADED[point.name] = _run_entry_point(point)
        found.append(_LOADED[point.name])
    return tuple(found)


def load_from_environment() -> None:
    """Load what the process that started this one had loaded."""
    for reference in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep):
        if reference:
            load_plugin(reference)
    load_installed()


def import_object(reference: str) -> object:
    """Return the object that `module:name` or `file.py:name` names; the file becomes a plugin.

    Raises:
        ConfigError: If there is no such module, file or object.
    """
    module_name, _, name = reference.partition(":")
    load_plugin(module_name)
    key = _module_key(Path(module_name)) if module_name.endswith(".py") else module_name
    found: object = sys.modules[key]
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigError(
                f"{module_name!r} must have {name!r}",
                was="nothing of that name",
                where=reference,
                remedy=suggest(part, [each for each in vars(found) if not each.startswith("_")])
                if hasattr(found, "__dict__")
                else None,
            )
        found = getattr(found, part)
    return found


def _run_file(path: Path) -> Origin:
    key = _module_key(path)
    spec = importlib.util.spec_from_file_location(key, path)
    assert spec is not None  # a .py file has a loader
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    origin = Origin(path.stem, str(path))
    before = set(sys.modules)
    sys.modules[key] = module
    try:
        with _searched(path.parent), declared_by(origin):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        del sys.modules[key]
        raise plugin_error("a plugin must run without an error", e, str(path)) from e
    # What it imported from its own folder is part of what it does.
    beside = [sys.modules[name] for name in set(sys.modules) - before - {key}]
    files = {path, *(file for file in _files(beside) if path.parent in file.parents)}
    return _signed(origin, files)


def _run_module(name: str) -> Origin:
    origin = Origin(name, name)
    try:
        with _searched(Path.cwd()), declared_by(origin):
            module = importlib.import_module(name)
    except (Exception, SystemExit) as e:
        raise plugin_error("a plugin must be a module that can be imported", e) from e
    return _signed(origin, _sources(module))


def _run_entry_point(point: metadata.EntryPoint) -> Origin:
    place = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    origin = Origin(point.name, place)
    try:
        with declared_by(origin):
            loaded = point.load()
            if callable(loaded) and not isinstance(loaded, type | ModuleType):
                loaded()
    except (Exception, SystemExit) as e:
        raise plugin_error(f"plugin {point.name} of {place} must load", e) from e
    return _signed(origin, _sources(sys.modules[point.module]))


def _signed(origin: Origin, files: set[Path]) -> Origin:
    """Fill in the hash of the sources."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    origin.sha256 = digest.hexdigest()
    return origin


def _sources(module: ModuleType) -> set[Path]:
    """Return the sources of a module's whole package."""
    file = Path(str(module.__file__))
    if "." not in module.__name__ and file.name != "__init__.py":
        return {file}
    depth = module.__name__.count(".") + (file.name == "__init__.py")
    return set(file.parents[max(depth - 1, 0)].rglob("*.py"))


def _files(modules: list[ModuleType]) -> Iterator[Path]:
    for module in modules:
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and "site-packages" not in Path(file).parts:
            yield Path(file)


def _require_same(name: str, path: Path | None) -> None:
    known = _LOADED[name]
    if path is not None and known.place != str(path):
        rule = "plugins must have names of their own"
        where = f"{known.place} and {path}"
        raise ConfigError(rule, was=f"{name} twice", where=where, remedy="Rename one of the files")


def _module_key(path: Path) -> str:
    return f"tradingbot_plugin_{path.stem}"


def _hand_down(reference: str) -> None:
    known = [each for each in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep) if each]
    if reference not in known:
        os.environ[PLUGINS_VARIABLE] = os.pathsep.join([*known, reference])


@contextmanager
def _searched(folder: Path) -> Iterator[None]:
    """Let imports find modules of a folder in the block."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(str(folder))
