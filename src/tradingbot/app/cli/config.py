"""`tradingbot config show`, `config check` and `config list`."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, print_table, print_text, show_json

app = typer.Typer(help="Show, check and list configuration files and presets.")


@app.command("show")
def show_config(
    reference: Annotated[
        str, Argument(metavar="[FILE|PRESET]", help="A .yaml file or a preset.")
    ] = "demo",
    as_json: JsonOption = False,
) -> None:
    """Show a configuration as the pipeline sees it: merged, with defaults and its hash.

    Example: [bold]tradingbot config show us143 --json[/bold]
    """
    import yaml

    from tradingbot.configuration.files import load_config

    loaded = load_config(reference)
    config = loaded.config
    if show_json(
        as_json, {"config_hash": config.config_hash, "files": loaded.files, "config": config}
    ):
        return
    print_text(yaml.safe_dump(config.as_mapping(), sort_keys=False, allow_unicode=True).rstrip())
    print_text(f"# config_hash: {config.config_hash}")
    print_note(f"from {' → '.join(str(file) for file in loaded.files)}")


@app.command("check")
def check_config(
    reference: Annotated[str, Argument(metavar="FILE|PRESET", help="A .yaml file or a preset.")],
    as_json: JsonOption = False,
) -> None:
    """Check a configuration, and that its market, universe and calendar exist.

    Exits with 0 where all is well, with 2 and one line where a rule is broken.

    Example: [bold]tradingbot config check us143[/bold]
    """
    from tradingbot.configuration.files import check_resources, load_config

    loaded = load_config(reference)
    check_resources(loaded)
    if as_json:
        print_json({"valid": True, "config_hash": loaded.config.config_hash})
    else:
        print_text(f"{reference} is valid, config_hash {loaded.config.config_hash[:16]}")


@app.command("list")
def list_presets(as_json: JsonOption = False) -> None:
    """List the presets that come with the package.

    Example: [bold]tradingbot config list[/bold]
    """
    from tradingbot.configuration.files import known_presets, load_config

    rows = [(name, load_config(name).config.config_hash[:16]) for name in known_presets()]
    if as_json:
        print_json([{"name": name, "config_hash": digest} for name, digest in rows])
    else:
        print_table("Presets", ["name", "config hash"], rows)
