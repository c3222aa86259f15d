"""`tradingbot envcheck`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, print_text
from tradingbot.domain.errors import UserError

if TYPE_CHECKING:
    from tradingbot.envs.envcheck.scorecard import Scorecard

app = typer.Typer()


@app.command("envcheck")
def check_environment(
    environment: Annotated[
        str | None,
        Argument(
            metavar="[ENVIRONMENT]",
            help="module:object (a probe, an environment class or a factory) or a Gymnasium id.",
            show_default=False,
        ),
    ] = None,
    peers: Annotated[
        bool, Option("--peers", help="Check ours and every installed peer instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a Gymnasium trading environment on prices for which the answers are known.

    Cash, equity, fees, borrowing, rewards, fills, seeds, episodes: one verdict per promise, with
    the number that was seen. Without a probe only what needs no known prices can be told.

    Exits with 0 where nothing fails, with 1 where something does; with --peers only what ours do
    counts.

    Example: [bold]tradingbot envcheck TradingBot/Continuous-v1[/bold]

    Example: [bold]tradingbot envcheck my_package.probes:PROBE --json[/bold]

    Example: [bold]tradingbot envcheck --peers[/bold]
    """
    if peers == (environment is not None):
        rule = "either an environment or --peers must be given"
        remedy = "Try: tradingbot envcheck TradingBot/Continuous-v1"
        raise UserError(rule, was="both" if peers else "neither", remedy=remedy)
    failed = _check_all(as_json) if environment is None else _check_one(environment, as_json)
    raise typer.Exit(1 if failed else 0)


def _require_module(environment: str) -> None:
    """Refuse a module that there is not; what is in it is told by the import."""
    module, colon, _ = environment.partition(":")
    top = module.partition(".")[0]
    folder = Path.cwd() / top
    is_there = top in sys.modules or folder.is_dir() or folder.with_suffix(".py").is_file()
    if colon and module and not is_there and find_spec(top) is None:
        rule = "module of an environment must be importable"
        remedy = "Run in the folder of the module, or install its package"
        raise UserError(rule, was=repr(module), remedy=remedy)


def _check_one(environment: str, as_json: bool) -> bool:
    _require_module(environment)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.envs.envcheck import load_subject, run_checks

    card = run_checks(load_subject(environment))
    if as_json:
        print_json(card.to_dict())
    else:
        print_text(card.to_text())
    return bool(card.failed)


def _check_all(as_json: bool) -> bool:
    from tradingbot.envs.envcheck import run_checks
    from tradingbot.envs.envcheck.ours import our_probes
    from tradingbot.envs.envcheck.peers import find_peers
    from tradingbot.envs.envcheck.scorecard import comparison_text

    probes, absent = find_peers()
    ours: list[Scorecard] = [run_checks(probe) for probe in our_probes()]
    cards = [*ours, *(run_checks(probe) for probe in probes)]
    if as_json:
        print_json({"scorecards": [card.to_dict() for card in cards], "absent": absent})
    else:
        print_text(comparison_text(cards))
        for peer in absent:
            print_note(f"{peer.name} is not installed: {peer.reason}")
    return any(card.failed for card in ours)
