"""The command line `tradingbot <noun> <verb>`: one module per noun.

How to add a command
--------------------
1. Write `app/cli/<noun>.py` with a module-level `app: typer.Typer` and one function per verb::

    app = typer.Typer(help="Import, generate, check and list market data.")

    @app.command("list")
    def list_datasets(context: typer.Context, as_json: JsonOption = False) -> None:
        '''List stored datasets.

        Example: [bold]tradingbot data list --json[/bold]
        '''
        from tradingbot.data.store import BarStore        # heavy: inside the command

        names = BarStore(invocation_of(context).workspace).names()
        if as_json:
            print_json(names)
        else:
            print_table("Datasets", ["name", "id"], names.items())

2. Add the module to `application.COMMAND_MODULES`; a name of None puts its commands at the top
   level (`tradingbot doctor`).

Rules: import polars, torch and pydantic inside commands, because `tradingbot --help` imports every
command module (a test checks); raise `UserError` and let the boundary in `application` print it;
refuse what can be known without torch before importing it, and name a mistake for each option in
`tests/conformance/test_early_refusals.py`; exit with `raise typer.Exit(code)` for 1 (findings) or 2
(unusable); results go to stdout through `tradingbot.app.console`, progress and notes to stderr;
every docstring has an example.
"""

from tradingbot.app.cli.application import main

__all__ = ["main"]
