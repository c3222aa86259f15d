"""`--plugin FILE`, which may stand anywhere on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from tradingbot.domain.errors import ConfigError

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
            raise ConfigError(
                f"{OPTION} must name a Python file or module",
                was=repr(chosen) if chosen else "nothing",
                remedy=f"Write e.g. {OPTION} my_strategies.py",
            )
        plugins.append(chosen)
    return rest, tuple(plugins)
