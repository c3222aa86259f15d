"""Checks that configurations make of themselves when they are built."""

from __future__ import annotations

from tradingbot.domain.errors import ConfigError

_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float)}


def require_kinds(rules: object) -> None:
    """Refuse a field that is declared as truth value or number and holds something else.

    "no" is true to Python, and half a bar is none.
    """
    for name, kind in type(rules).__annotations__.items():
        value, kinds = getattr(rules, name), _KINDS.get(kind)
        if kinds is None or (
            isinstance(value, kinds) and (kind == "bool") == (value is True or value is False)
        ):
            continue
        raise ConfigError(
            f"{name} must be of type {kind}",
            was=repr(value),
            where=f"{type(rules).__name__}.{name}",
        )


def require(holds: bool, rule: str, rules: object) -> None:
    """Raise ConfigError unless a rule holds; the first word of the rule names the field."""
    if not holds:
        name = rule.split()[0]
        raise ConfigError(
            rule, was=getattr(rules, name, None), where=f"{type(rules).__name__}.{name}"
        )
