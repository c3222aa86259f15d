"""Checks that configurations make of themselves when they are built.

A field says its bounds beside its default; `require_kinds` holds every field to its type, to the
choices of a `Literal` and to those bounds. What relates fields to each other is told by `require`.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable
from dataclasses import field, fields
from functools import cache
from inspect import get_annotations
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from tradingbot.domain.errors import ConfigError, join_choices, suggest

_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float)}
_BOUNDS = "bounds"
_OPENING = {">=": "[", ">": "("}
_Number = TypeVar("_Number", bound=float)


class NumberBounds(NamedTuple):
    """Where a number may lie."""

    words: str
    """What it must, e.g. `be 1 or more`."""
    hold: Callable[[float], bool]


def bounded(default: _Number, bounds: str) -> _Number:
    """Return a field of a dataclass whose number has bounds.

    Args:
        default: Its default; not checked before an instance is built.
        bounds: `>= 1`, `> 0`, `0 or >= 2`, or an interval such as `[0, 1)`; `(-inf, inf)` are
            the finite numbers.
    """
    made: _Number = field(default=default, metadata={_BOUNDS: read_bounds(bounds)})
    return made


@cache
def read_bounds(text: str) -> NumberBounds:
    """Read bounds as `bounded` takes them; NaN lies within none.

    Example:
        >>> [read_bounds(text).words for text in (">= 1", "(0, inf)", "(0, 1]", "0 or >= 2")]
        ['be 1 or more', 'be above 0', 'lie in (0, 1]', 'be 0, or 2 or more']
    """
    if text.startswith("0 or "):
        rest = read_bounds(text.removeprefix("0 or "))
        words = f"be 0, or {rest.words.removeprefix('be ')}"
        return NumberBounds(words, lambda number: number == 0 or rest.hold(number))
    sign, _, least = text.partition(" ")
    interval = f"{_OPENING[sign]}{least}, inf]" if sign in _OPENING else text
    opening, low, high, closing = interval[0], *interval[1:-1].split(", "), interval[-1]
    above = operator.ge if opening == "[" else operator.gt
    below = operator.le if closing == "]" else operator.lt
    words = f"lie in {text}"
    if high == "inf":
        words = f"be {low} or more" if opening == "[" else f"be above {low}"
    return NumberBounds(
        "be a finite number" if (low, high) == ("-inf", "inf") else words,
        lambda number: above(number, float(low)) and below(number, float(high)),
    )


class CheckedFields:
    """Base of a dataclass whose fields are all that it checks: `require_kinds` when it is built."""

    def __post_init__(self) -> None:
        """Refuse a field that holds what it must not."""
        require_kinds(self)


def require_kinds(rules: object) -> None:
    """Refuse a field that holds something else than it is declared as, or breaks its bounds.

    "no" is true to Python, and half a bar is none.
    """
    own: Any = type(rules)
    for name, kind, choices, bounds in _declared(own):
        value, kinds = getattr(rules, name), _KINDS.get(kind)
        words = join_choices(choices) if choices else f"of type {kind}"
        is_kind = kinds is None or (
            isinstance(value, kinds) and (kind == "bool") == isinstance(value, bool)
        )
        if not is_kind or (choices and value not in choices):
            where = f"{own.__name__}.{name}"
            remedy = suggest(str(value), choices) if choices else None
            raise ConfigError(
                f"{name} must be {words}", was=repr(value), where=where, remedy=remedy
            )
        if bounds is not None:
            rule = f"{name} must {bounds.words}"
            require(bounds.hold(value), rule, rules, remedy="Give such a number")


@cache
def _declared(kind: Any) -> list[tuple[str, str, tuple[str, ...], NumberBounds | None]]:
    """Return name, type, choices and bounds of every field of a dataclass."""
    found = []
    for each in fields(kind):
        hint = str(each.type)
        owner = next(base for base in kind.__mro__ if each.name in get_annotations(base))
        named = vars(sys.modules[owner.__module__]).get(hint)
        choices = get_args(named) if get_origin(named) is Literal else ()
        if hint.startswith("Literal[") and hint.endswith("]"):
            choices = tuple(ast.literal_eval(hint.removeprefix("Literal")))
        found.append((each.name, hint, choices, each.metadata.get(_BOUNDS)))
    return found


def require(holds: bool, rule: str, rules: object, *, remedy: str = "Give another value") -> None:
    """Raise ConfigError unless a rule holds; the first word of the rule names the field."""
    if not holds:
        name = rule.split()[0]
        where = f"{type(rules).__name__}.{name}"
        raise ConfigError(rule, was=getattr(rules, name, None), where=where, remedy=remedy)
