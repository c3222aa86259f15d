"""The Typer application, its global options, and the boundary where errors become exit codes.

Exit codes: 0 fine, 1 findings, 2 a mistake of the user's or unusable input, 70 a bug of ours,
130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.main import get_command

from tradingbot import __version__
from tradingbot.app.cli.exhaustion import describe_exhaustion
from tradingbot.app.cli.invocation import (
    Invocation,
    bring_forward,
    find_mirror,
    find_workspace,
    invocation_of,
    is_debugging,
    require_sane_arguments,
    take_plugins,
)
from tradingbot.app.cli.usage_errors import asked_command, describe_usage
from tradingbot.app.console import print_note
from tradingbot.data.publishing import use_mirror
from tradingbot.domain.errors import TradingBotError
from tradingbot.plugins.loading import load_installed, load_plugin

# (noun, module); None puts the module's commands at the top level.
_VERBS = (
    "demo",
    "doctor",
    "train",
    "tune",
    "run",
    "backtest",
    "evaluate",
    "power",
    "gates",
    "compare",
    "envcheck",
    "export",
    "serve",
    "dashboard",
)
_ORDER = (
    *("demo", "doctor", "data", "universe", "features", "market", "train", "tune", "run"),
    *("supervised", "runs", "plugins", "backtest", "evaluate", "power", "gates", "compare"),
    *("export", "models", "serve"),
    *("keys", "paper", "journal", "dashboard", "alerts", "cluster", "envcheck", "config"),
)
COMMAND_MODULES: tuple[tuple[str | None, str], ...] = (
    *((None if name in _VERBS else name, f"tradingbot.app.cli.{name}") for name in _ORDER),
    ("bench", "tradingbot_benchmarks.cli.commands"),
)

_USING_PLUGINS = frozenset(
    (
        *("features", "market", "train", "tune", "run", "runs", "backtest", "evaluate", "power"),
        *("compare", "plugins"),
    )
)
"""Commands that look parts up by name: installed plugins are loaded for these."""
_CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED, EXIT_PIPE_CLOSED = 2, 70, 130, 141


def build_application() -> typer.Typer:
    """Assemble the application from the modules in `COMMAND_MODULES`."""
    application = typer.Typer(
        name="tradingbot",
        help="Checked market data, causal features, and markets with known answers.",
        epilog="Start with: tradingbot doctor",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings=_CONTEXT,
    )
    application.callback()(_read_global_options)
    for noun, module in COMMAND_MODULES:
        commands = import_module(module).app
        if noun is None:
            application.add_typer(commands)
        else:
            application.add_typer(commands, name=noun, no_args_is_help=True)
    return application


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with an exit code; the installed entry point."""
    # A caller may have closed our output; what we would say then goes nowhere.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 - open to the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. No exception leaves this function."""
    invocation = Invocation(debug=is_debugging(), as_json=_wants_json(arguments))
    try:
        require_sane_arguments(arguments)
        rest, invocation.plugins = take_plugins(arguments)
        code = _invoke(bring_forward(rest), invocation)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _forget_reader()
        return EXIT_PIPE_CLOSED
    except OSError as e:
        # Files of ours are written through `data.atomic`, so a full disk here is stdout's.
        if e.errno == errno.ENOSPC:
            _forget_reader()
            invocation.print_error(
                "output must fit on its disk, was full. Free space or write elsewhere."
            )
            return EXIT_USAGE
        return _explain(e, invocation)
    except TradingBotError as e:
        _show_traceback(invocation)
        invocation.print_error(invocation.with_workspace(str(e)), e)
    except typer.TyperException as e:
        message = " ".join(e.format_message().split())
        if message:  # empty where no arguments were given and the help has been shown
            told = describe_usage(message, arguments, asked_command(e))
            invocation.print_error(invocation.with_workspace(told))
    except (KeyboardInterrupt, typer.Abort):
        invocation.print_error("interrupted")
        return EXIT_INTERRUPTED
    except Exception as e:
        return _explain(e, invocation)
    return EXIT_USAGE


def _invoke(arguments: Sequence[str], invocation: Invocation) -> int:
    try:
        result = _assemble_commands(COMMAND_MODULES).main(
            list(arguments), prog_name="tradingbot", standalone_mode=False, obj=invocation
        )
    except SystemExit as e:
        # Typer and Rich both exit with 1 when the pipe breaks, which would read as "findings".
        if isinstance(e.__context__, BrokenPipeError):
            raise e.__context__ from e
        result = e.code
    finally:  # what was made before a failure or an interruption is kept too
        if invocation.mirror is not None:
            invocation.mirror.publish()
    return result if isinstance(result, int) else 0


@cache
def _assemble_commands(_modules: tuple[tuple[str | None, str], ...]) -> Any:
    """Build the commands of these modules once: signatures of all take a tenth of a second."""
    command = get_command(build_application())
    _hide_types_of_flags(command)
    return command


def _hide_types_of_flags(command: Any) -> None:
    """Let help show a flag by its name alone, not as one that takes a `<bool>`."""
    context = typer.Context(command, **_CONTEXT)
    for each in (*command.params, command.get_help_option(context)):
        if getattr(each, "is_flag", False):
            each.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _hide_types_of_flags(below)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tradingbot {__version__}")
        raise typer.Exit


def _read_global_options(
    context: typer.Context,
    workspace: Annotated[
        str | None,  # not Path, for which "" is the same as "."
        Option(
            help="Folder for datasets, panels and reports, or the URL of an object store. "
            "[dim]Default: $TRADINGBOT_WORKSPACE, else ./workspace[/dim]",
            show_default=False,
            metavar="FOLDER",
        ),
    ] = None,
    debug: Annotated[
        bool, Option("--debug", help="Show tracebacks, as TRADINGBOT_DEBUG=1 does.")
    ] = False,
    _plugins: Annotated[
        list[str] | None,
        Option(
            "--plugin",
            help="Python file or module with parts of your own: strategies, reward terms, features "
            "… It may also stand after the noun, and several times.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    version: Annotated[
        bool,
        Option(
            "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    invocation = invocation_of(context)
    invocation.debug = invocation.debug or debug
    chosen = find_workspace(workspace)
    if chosen is not None:
        invocation.workspace, invocation.workspace_is_given = chosen, True
        invocation.workspace_option = workspace or ""
        mirror = find_mirror(workspace)
        if mirror is not None:
            mirror.fetch()
            use_mirror(mirror)
            invocation.mirror = mirror
    for reference in invocation.plugins:
        load_plugin(reference)
    if context.invoked_subcommand in _USING_PLUGINS:
        load_installed()


def _wants_json(arguments: Sequence[str]) -> bool:
    words = list(arguments)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _show_traceback(invocation: Invocation) -> None:
    if invocation.debug:
        print_note(traceback.format_exc())


def _explain(error: Exception, invocation: Invocation) -> int:
    """Say in one line what the machine or the input is to blame for; admit a bug otherwise."""
    told = describe_exhaustion(error)
    if told is None:
        return _admit_bug(error, invocation)
    _show_traceback(invocation)
    invocation.print_error(invocation.with_workspace(str(told)), told)
    return EXIT_USAGE


def _admit_bug(error: Exception, invocation: Invocation) -> int:
    _show_traceback(invocation)
    text = " ".join(str(error).split())[:200]
    invocation.print_error(
        f"this is a bug in tradingbot {__version__}: {type(error).__name__}: {text}. "
        "Please report it with the command you ran and the output of the same command with "
        "--debug (or TRADINGBOT_DEBUG=1)."
    )
    return EXIT_BUG


def _forget_reader() -> None:
    # The interpreter flushes stdout once more on its way out and would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
