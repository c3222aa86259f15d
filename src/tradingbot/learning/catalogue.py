"""The learners by name. To add one: write its folder with a `SPEC`, name it in `_BUILT_IN`.

See docs/how_to/add_a_learner.md; a plugin calls `register_learner` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.domain.extension import add_extension, extension_values, remove_extension
from tradingbot.learning.learner_spec import LearnerSpec

_NAMES = ("ppo", "sac", "direct", "es", "impala", "hierarchical_sac", "hybrid")
_BUILT_IN: Mapping[str, str] = MappingProxyType(
    {name: f"tradingbot.learning.{name}.spec" for name in _NAMES}
)
"""Name → module of its `SPEC`, imported when it is first asked for: names alone cost nothing."""


def register_learner(spec: LearnerSpec) -> LearnerSpec:
    """Make a learner known by its name, to configurations and commands of this process.

    Raises:
        ConfigError: If another learner has that name.
    """
    known = extension_values("learner", ())
    if spec.name in _BUILT_IN or known.get(spec.name, spec) != spec:
        raise ConfigError(
            "learner name must be free",
            was=repr(spec.name),
            remedy=f"Choose a name besides: {', '.join(known_learners())}",
        )
    if spec.name not in known:
        add_extension("learner", spec.name, spec)
    return spec


def unregister_learner(name: str) -> None:
    """Forget a learner that was registered; of one that was not, nothing is to forget."""
    remove_extension("learner", name)


def known_learners() -> tuple[str, ...]:
    """Return the names of all learners, those of the package first."""
    return (*_BUILT_IN, *extension_values("learner", _BUILT_IN))


def learner_spec(name: str) -> LearnerSpec:
    """Look a learner up.

    Raises:
        ConfigError: If there is none of that name; names the closest one.
    """
    if name in _BUILT_IN:
        spec: LearnerSpec = import_module(_BUILT_IN[name]).SPEC
        return spec
    registered = extension_values("learner", _BUILT_IN)
    if name not in registered:
        raise ConfigError(
            "learner must be a known one", was=repr(name), remedy=suggest(name, known_learners())
        )
    found: LearnerSpec = registered[name]
    return found
