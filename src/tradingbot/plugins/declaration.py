"""What a declared strategy or reward term says of itself, before any room reads it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tradingbot.domain.errors import ConfigError, suggest


@dataclass(frozen=True, eq=False)
class DeclaredStrategy:
    """A strategy of one's own: a function of a `MarketView`, or a class whose instances are one."""

    name: str
    target: Callable[..., Any]
    """Function (view, **parameters) → targets, or class (**parameters) with `__call__(view)`."""
    warm_up_bars: int | str = 0
    """Bars that must lie before the first decision, or the parameter that says how many."""
    vectorised: bool = False
    """It is given the whole history at once and returns targets (N, T)."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What was set of its parameters."""

    @property
    def known_parameters(self) -> dict[str, Any]:
        """Parameters that can be set, with their defaults."""
        return keyword_parameters(self.target)

    def with_parameters(self, values: Mapping[str, Any]) -> DeclaredStrategy:
        """Return the same with some parameters set.

        Raises:
            ConfigError: If it has none of that name, or the value is of another kind.
        """
        known = self.known_parameters
        chosen = read_parameters(values, known, f"strategy {self.name}")
        return replace(self, parameters={**self.parameters, **chosen})

    def build(self) -> Callable[[Any], Any]:
        """Return a fresh function of a view; what an instance remembers stays with it.

        Raises:
            ConfigError: If instances of its class cannot be called.
        """
        if inspect.isroutine(self.target):
            return lambda view: self.target(view, **self.parameters)
        is_class = isinstance(self.target, type)
        made = self.target(**self.parameters) if is_class else copy.deepcopy(self.target)
        if not callable(made):
            raise ConfigError("a strategy class must have __call__(self, view)", was=self.name)
        return made

    def warm_up(self) -> int:
        """Bars before the first decision; an instance may say so by an attribute `warm_up_bars`."""
        if isinstance(self.warm_up_bars, str):
            return int({**self.known_parameters, **self.parameters}[self.warm_up_bars])
        return int(getattr(self.build(), "warm_up_bars", self.warm_up_bars))


@dataclass(frozen=True, eq=False)
class DeclaredReward:
    """A reward term of one's own: a function (step, xp, **options) → number per account."""

    name: str
    formula: Callable[..., Any]
    low: float
    high: float
    objective: str
    version: int

    @property
    def options(self) -> dict[str, Any]:
        """Options with their defaults."""
        return keyword_parameters(self.formula)


def keyword_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return keyword-only parameters, and others that have a default, by name."""
    signature = inspect.signature(function)
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


def read_parameters(
    values: Mapping[str, Any], known: Mapping[str, Any], owner: str
) -> dict[str, Any]:
    """Match given values with known parameters; `fast` may stand for `fast_bars`.

    Raises:
        ConfigError: If there is none of that name, or the value is of another kind.
    """
    chosen: dict[str, Any] = {}
    for given, value in values.items():
        name = given if given in known else f"{given}_bars"
        if name not in known:
            rule = f"a parameter of {owner} must be known"
            remedy = suggest(given, map(_short, known)) if known else "It has none"
            raise ConfigError(rule, was=repr(given), remedy=remedy)
        chosen[name] = _of_kind(value, known[name], f"{owner}: {name}")
    return chosen


def configure(config: Any, values: Mapping[str, Any], owner: str) -> Any:
    """Return a dataclass of parameters with some of them set; messages name them as they are set.

    Args:
        config: Parameters with their defaults; None: there are none.
        values: Name → value.
        owner: Whose they are, in words: `rule sma_cross`.

    Raises:
        ConfigError: If there is none of that name, or the values do not fit together.
    """
    known = {} if config is None else asdict(config)
    chosen = read_parameters(values, known, owner)
    if not chosen:
        return config
    try:
        return type(config)(**{**known, **chosen})
    except ConfigError as e:
        given = ", ".join(f"{_short(key)}={value}" for key, value in {**known, **chosen}.items())
        usual = ",".join(f"{_short(key)}={value}" for key, value in known.items())
        remedy = f"Write e.g. {owner.split()[-1]}:{usual}"
        rule = e.rule.replace(_BARS, "")
        raise ConfigError(rule, was=given, where=owner, remedy=remedy) from e


_BARS = "_bars"


def _short(name: str) -> str:
    """Return a parameter as people write it."""
    return name.removesuffix(_BARS)


def _of_kind(value: Any, default: Any, where: str) -> Any:
    """Return a value of the default's kind; whole numbers are numbers too."""
    kind = type(default)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if default is None or (isinstance(value, kind) and isinstance(value, bool) == (kind is bool)):
        return value
    rule, remedy = f"the value must be of kind {kind.__name__}", f"Write e.g. {default!r}"
    raise ConfigError(rule, was=repr(value), where=where, remedy=remedy)
