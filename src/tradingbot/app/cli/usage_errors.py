"""What the parser of the command line says, with the value that was given and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

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
_DAY = re.compile(
    r"Invalid value for '(?P<name>[^']+)'.*: (?:Value error, )?(?P<was>'.*') does not match the "
    r"formats '%Y-%m-%d'"
)
_NEAR = 0.7  # of two names, from 0 to 1: below it a suggestion is another word


@dataclass(frozen=True)
class AskedCommand:
    """What the parser was reading when it refused."""

    path: str = ""
    """As it is called: `tradingbot paper start`; empty where that is not known."""
    options: tuple[str, ...] = ()
    """That it has."""
    commands: tuple[str, ...] = ()
    """Below it."""
    usual: int | float | None = None
    """What the option that was refused is where it is left out, if that is a number."""


def asked_command(error: object) -> AskedCommand:
    """Return what an error of the parser knows of the command that was read."""
    context: Any = getattr(error, "ctx", None)
    if context is None:
        return AskedCommand()
    usual = getattr(getattr(error, "param", None), "default", None)
    is_number = isinstance(usual, int | float) and not isinstance(usual, bool)
    below = getattr(context.command, "commands", {})
    return AskedCommand(
        context.command_path,
        tuple(name for each in context.command.params for name in each.opts),
        tuple(name for name, each in below.items() if not each.hidden),
        usual if is_number else None,
    )


def describe_usage(
    message: str,
    arguments: Sequence[str],
    asked: AskedCommand = AskedCommand(),  # noqa: B008 - frozen
) -> str:
    """Return a message of the parser with rule, value and remedy, in one line.

    Args:
        message: As Typer words it.
        arguments: Of the command line.
        asked: The command that was read.

    Example:
        >>> told = "Invalid value for '--seed': Input should be greater than or equal to 0"
        >>> describe_usage(told, ["train", "--seed", "-1"])
        '--seed must be 0 or more, was -1. Give such a number.'
    """
    if found := _DAY.match(message):
        return f"{found['name']} must be a day, was {found['was']}. Write a day as e.g. 2025-01-31."
    if found := _BOUND.match(message):
        return _describe_bound(message, found, arguments)
    if found := _KIND.match(message):
        words, example = _KINDS.get(found["kind"], (f"a {found['kind']}", ""))
        name, was = found["name"], _value(found["name"], arguments)
        example = example if asked.usual is None else f"{asked.usual:g}"
        remedy = f" Write e.g. {name} {example}." if example else ""
        return f"{name} must be {words}, was {was!r}.{remedy}"
    if found := _CHOICE.match(message):
        choices = found["all"].replace("'", "")
        return f"{found['name']} must be {choices}, was {found['was']}. Choose one of them."
    if message.startswith("No such option: "):
        return _describe_option(message, asked, arguments)
    if message.startswith("No such command ") and "Did you mean" not in message:
        known = f" Known: {', '.join(asked.commands)}." if asked.commands else ""
        return f"{message}{known} {_see(asked, arguments)}"
    if message.startswith(_WITHOUT_REMEDY):
        return f"{message} {_see(asked, arguments)}"
    return message


_WITHOUT_REMEDY = ("Missing ", "Got unexpected extra argument", "Option '", "Invalid value for ")
"""How messages begin that say no more than what is wrong."""


def _describe_option(message: str, asked: AskedCommand, arguments: Sequence[str]) -> str:
    rule = message.partition(" (Possible options")[0]
    name = rule.removeprefix("No such option: ").lstrip("-")
    known = {each.lstrip("-"): each for each in asked.options if each.startswith("--")}
    near = get_close_matches(name, known, n=1, cutoff=_NEAR)
    meant = f" Did you mean {known[near[0]]}?" if near else ""
    return f"{rule}.{meant} {_see(asked, arguments)}"


def _see(asked: AskedCommand, arguments: Sequence[str]) -> str:
    return f"See: {asked.path or _called(arguments)} --help"


def _called(arguments: Sequence[str]) -> str:
    """Return the command of a line as far as it stands before its options."""
    words, waiting = ["tradingbot"], iter(arguments)
    for argument in waiting:
        if argument == "--workspace":
            next(waiting, None)
        elif argument.startswith("-") and words[1:]:
            break
        elif not argument.startswith("-"):
            words.append(argument)
    return " ".join(words[:3])


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
