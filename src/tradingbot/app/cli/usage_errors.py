"""What the parser of the command line says, with the value that was given and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BOUND = re.compile(
    r"Invalid value for '(?P<name>[^']+)': Input should be (?P<side>greater|less) than or equal to "
    r"(?P<end>\S+)"
)
_KIND = re.compile(r"Invalid value for '(?P<name>[^']+)': Input should be a valid (?P<kind>\w+)")
_CHOICE = re.compile(
    r"Invalid value for '(?P<name>[^']+)': (?:Value error, )?(?P<was>'.*') is not one of "
    r"(?P<all>.+)\."
)
_KINDS = {"integer": ("a whole number", "7"), "number": ("a number", "0.5")}
_DAY = "does not match the formats '%Y-%m-%d'"


def describe_usage(message: str, arguments: Sequence[str]) -> str:
    """Return a message of the parser with rule, value and remedy, in one line.

    Args:
        message: As Typer words it.
        arguments: Of the command line.

    Example:
        >>> told = "Invalid value for '--seed': Input should be greater than or equal to 0"
        >>> describe_usage(told, ["train", "--seed", "-1"])
        '--seed must be 0 or more, was -1. Give such a number.'
    """
    if _DAY in message:
        return f"{message} Write a day as e.g. 2025-01-31"
    if found := _BOUND.match(message):
        return _describe_bound(message, found, arguments)
    if found := _KIND.match(message):
        words, example = _KINDS.get(found["kind"], (f"a {found['kind']}", ""))
        name, was = found["name"], _value(found["name"], arguments)
        remedy = f" Write e.g. {name} {example}." if example else ""
        return f"{name} must be {words}, was {was!r}.{remedy}"
    if found := _CHOICE.match(message):
        choices = found["all"].replace("'", "")
        return f"{found['name']} must be {choices}, was {found['was']}. Choose one of them."
    if message.startswith("Missing "):
        command = [word for word in arguments if not word.startswith("-")][:2]
        return f"{message} See: tradingbot {' '.join([*command, '--help'])}"
    return message


def _describe_bound(message: str, found: re.Match[str], arguments: Sequence[str]) -> str:
    name, was = found["name"], _value(found["name"], arguments)
    if was.lower() == "nan":
        # No comparison holds for it, so the parser names whichever end it looks at first.
        return f"{message}. It must be a number, was nan"
    words = "or more" if found["side"] == "greater" else "or less"
    return f"{name} must be {found['end']} {words}, was {was}. Give such a number."


def _value(name: str, arguments: Sequence[str]) -> str:
    """Return what was written after an option."""
    option = name.split(" / ")[0]
    for before, argument in zip(("", *arguments), arguments, strict=False):
        if before == option:
            return argument[:80]
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2][:80]
    return "something else"
