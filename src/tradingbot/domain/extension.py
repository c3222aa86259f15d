"""Parts that come from outside the package: by kind and name, with the plugin each came from.

Declaring a part costs nothing: catalogues of the rooms read this registry when they are asked, so a
plugin that declares a strategy does not load tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tradingbot.domain.errors import ConfigError

Kind = Literal["strategy", "baseline", "reward_term", "feature", "learner", "encoder"]

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(eq=False)
class Origin:
    """A plugin; the same object for all its parts."""

    name: str
    """Stem of its file, name of its module or entry point."""
    place: str
    """File, module, or distribution with version."""
    sha256: str = ""
    """Hash of its sources; known when it has run and has imported what it needs."""

    @property
    def id(self) -> str:
        """Name and the first digits of the hash, as results show it."""
        return f"{self.name}@{self.sha256[:12]}"


@dataclass(frozen=True, eq=False)
class Extension:
    """One part."""

    kind: Kind
    name: str
    value: Any
    """What the catalogue of that kind takes."""
    origin: Origin | None
    """None where it was declared in a program or a notebook, not by a plugin."""


_PARTS: dict[tuple[Kind, str], Extension] = {}
_LOADING: list[Origin] = []


def add_extension(kind: Kind, name: str, value: Any) -> None:
    """Declare a part; in a program or notebook a later one of the same name replaces it.

    Raises:
        ConfigError: If the name is no identifier, or another plugin's part has it.
    """
    if not name.isidentifier():
        raise ConfigError(
            f"the name of a {kind} must be letters, digits and underscores", was=repr(name)
        )
    origin = _LOADING[-1] if _LOADING else None
    taken = _PARTS.get((kind, name))
    if taken is not None and (taken.origin, origin) != (None, None):
        rule = f"the name of a {kind} must be free"
        where = f"also in {taken.origin.place}" if taken.origin else "declared before"
        raise ConfigError(rule, was=name, where=where, remedy="Rename one of them")
    _PARTS[kind, name] = Extension(kind, name, value, origin)


def remove_extension(kind: Kind, name: str) -> None:
    """Forget a part; of one that was not declared, nothing is to forget."""
    _PARTS.pop((kind, name), None)


def extensions(kind: Kind) -> dict[str, Extension]:
    """Return every part of a kind by name, in the order of declaration."""
    return {name: part for (each, name), part in _PARTS.items() if each == kind}


def extension_values(kind: Kind, taken: Iterable[str]) -> dict[str, Any]:
    """Return what was declared of a kind, for a catalogue that has names of its own.

    Raises:
        ConfigError: If a part has the name of one of the catalogue's.
    """
    found, own = extensions(kind), set(taken)
    for name, part in found.items():
        if name in own:
            rule = f"the name of a {kind} must be free"
            where = part.origin.place if part.origin else "declared here"
            remedy = "The package has one of that name: rename yours"
            raise ConfigError(rule, was=name, where=where, remedy=remedy)
    return {name: part.value for name, part in found.items()}


def origins_of(parts: Iterable[tuple[Kind, str]]) -> dict[str, Origin]:
    """Return the plugins that some parts came from, by name of the plugin."""
    found = [_PARTS[part].origin for part in parts if part in _PARTS]
    return {origin.name: origin for origin in found if origin is not None}


@contextmanager
def declared_by(origin: Origin) -> Iterator[None]:
    """Let what is declared in the block belong to a plugin; nothing of it stays after an error."""
    before = dict(_PARTS)
    _LOADING.append(origin)
    try:
        yield
    except BaseException:
        _PARTS.clear()
        _PARTS.update(before)
        raise
    finally:
        _LOADING.pop()
