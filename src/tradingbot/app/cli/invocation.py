"""What the options of every command say, wherever they stand: workspace, plugins, `--json`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

import typer
from typer import Option

from tradingbot.app.console import print_error, print_note
from tradingbot.data.mirror import Mirror, open_mirror
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.named_commands import name_options

WORKSPACE_VARIABLE = "TRADINGBOT_WORKSPACE"
DEBUG_VARIABLE = "TRADINGBOT_DEBUG"

_LONGEST_SHOWN = 80

JsonOption = Annotated[bool, Option("--json", help="Print one JSON document instead of tables.")]


@dataclass
class Invocation:
    """The options that stand before the noun; filled in while the command line is read."""

    workspace: Path = Path("workspace")
    """Folder for datasets, panels and reports."""
    workspace_is_given: bool = False
    """True where the user chose the folder, so that a configuration file may not."""
    workspace_option: str = ""
    """What the user wrote after `--workspace`; empty where a variable or the default holds, which
    the next command finds by itself."""
    debug: bool = False
    """Show tracebacks."""
    plugins: tuple[str, ...] = ()
    """Files and modules that were given with `--plugin`."""
    as_json: bool = False
    """Errors are JSON documents."""
    mirror: Mirror | None = None
    """Of a workspace in an object store: fetched before the command, published after it."""

    @property
    def options(self) -> str:
        """What the user wrote before the noun and the next command must have too."""
        options = [f"--plugin {shlex.quote(each)}" for each in self.plugins]
        if self.workspace_option:
            options.insert(0, f"--workspace {shlex.quote(self.workspace_option)}")
        return " ".join(options)

    def with_workspace(self, text: str) -> str:
        """Write the commands that a text names so that they find the user's workspace, plugins."""
        return name_options(text, self.options)

    def print_error(self, message: str, error: Exception | None = None) -> None:
        """Say on stderr what went wrong: in words, or as JSON with rule, value, place, remedy.

        Args:
            message: In one line.
            error: What was raised, if it is the user's to mend.
        """
        if not self.as_json:
            print_error(message)
            return
        found = {name: getattr(error, name, None) for name in ("rule", "was", "where", "remedy")}
        said = {
            name: None if value is None else self.with_workspace(str(value))
            for name, value in found.items()
        }
        print_error(message, details=said if error is not None else {})

    def print_hint(self, text: str) -> None:
        """Say on stderr which command comes next, with the user's workspace and plugins."""
        print_note(self.with_workspace(text))


def invocation_of(context: typer.Context) -> Invocation:
    """Return the invocation a command runs under."""
    found = context.find_object(Invocation)
    if found is None:  # a command called outside `application.main`
        found = context.obj = Invocation()
    return found


def find_mirror(option: str | None, environment: Mapping[str, str] = os.environ) -> Mirror | None:
    """Return the mirror of the workspace that the user chose; None where it is a folder itself."""
    text = _workspace_text(option, environment) or ""
    scheme, is_url, _ = text.partition("://")
    return open_mirror(text) if is_url and scheme != "file" else None


def _workspace_text(option: str | None, environment: Mapping[str, str]) -> str | None:
    return option if option is not None else environment.get(WORKSPACE_VARIABLE)


def find_workspace(option: str | None, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the workspace the user chose: the option, else the variable, else None.

    A URL of an object store means its mirror, a folder of this machine.

    Raises:
        ConfigError: If the option or the variable is set to nothing, for it is unclear what is
            meant, names a file, or is a URL of no store that is known, or with a secret in it.
    """
    text = _workspace_text(option, environment)
    if text is None:
        return None
    if not text.strip() or "\0" in text:
        raise ConfigError(
            f"{'--workspace' if option is not None else WORKSPACE_VARIABLE} must name a folder",
            was="empty" if not text.strip() else repr(text),
            where="command line" if option is not None else "environment",
            remedy=f"Give a folder, or unset {WORKSPACE_VARIABLE} to use ./workspace",
        )
    scheme, is_url, path = text.partition("://")
    if is_url and scheme != "file":
        return open_mirror(text).workspace
    folder = Path(unquote(path) if is_url else text).expanduser()
    if is_url and not folder.is_absolute():
        rule = "file:// must be followed by a whole path"
        raise ConfigError(rule, was=text[:_LONGEST_SHOWN], remedy="Write e.g. file:///srv/bars")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(
            "workspace must be a folder", was="a file", where=text, remedy="Choose another folder"
        )
    return folder


def is_debugging(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the environment asks for tracebacks."""
    return environment.get(DEBUG_VARIABLE, "") not in ("", "0")


_ANYWHERE = ("--workspace", "--debug")


def bring_forward(arguments: Sequence[str]) -> list[str]:
    """Put options of every command before the noun; what follows `--` is left alone.

    Example:
        >>> bring_forward(["data", "list", "--workspace", "w", "--json"])
        ['--workspace', 'w', 'data', 'list', '--json']
    """
    first: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
            break
        name, sign, _ = argument.partition("=")
        if name not in _ANYWHERE:
            rest.append(argument)
            continue
        first.append(argument)
        if name == "--workspace" and not sign:
            first += [each for each in [next(waiting, None)] if each is not None]
    return [*first, *rest]


_BITS = 63
_MOST_DIGITS = 19  # no number below 2^63 has more
_WHOLE_NUMBER = re.compile(r"[-+]?0*(\d+)")


def require_sane_arguments(arguments: Sequence[str]) -> None:
    """Refuse what no command can take: bytes that are no text, whole numbers beyond 64 bits.

    Raises:
        ConfigError: Naming the argument.
    """
    for before, argument in zip(("", *arguments), arguments, strict=False):
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            shown = ascii(argument)
            remedy = "Write it in UTF-8; rename a file whose name is not"
            raise ConfigError(
                "an argument must be text", was=shown[:_LONGEST_SHOWN], remedy=remedy
            ) from None
        name, sign, value = argument.rpartition("=")
        number = _WHOLE_NUMBER.fullmatch(value) if sign or before.startswith("-") else None
        if number and (len(number[1]) > _MOST_DIGITS or int(number[1]) >= 2**_BITS):
            where = (name or before)[:_LONGEST_SHOWN]
            rule, was = f"a whole number must be below 2^{_BITS}", f"{value[:12]}…"
            raise ConfigError(rule, was=was, where=where, remedy="Give a smaller one")


OPTION = "--plugin"


def take_plugins(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Separate plugins from the other arguments; what follows `--` is left alone.

    Example:
        >>> take_plugins(["backtest", "mine", "--plugin", "a.py", "--plugin=b.py"])
        (['backtest', 'mine'], ('a.py', 'b.py'))

    Raises:
        ConfigError: If nothing follows the option.
    """
    rest: list[str] = []
    plugins: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return [*rest, argument, *waiting], tuple(plugins)
        name, sign, value = argument.partition("=")
        if name != OPTION:
            rest.append(argument)
            continue
        chosen = value if sign else next(waiting, "")
        if not chosen or chosen.startswith("-"):
            rule = f"{OPTION} must name a Python file or module"
            remedy = f"Write e.g. {OPTION} my_strategies.py"
            raise ConfigError(rule, was=repr(chosen) if chosen else "nothing", remedy=remedy)
        plugins.append(chosen)
    return rest, tuple(plugins)
