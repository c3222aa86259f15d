"""`tradingbot config show`, `config check` and `config list`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, print_table, print_text, show_json

app = typer.Typer(help="Show, check and list configuration files and presets.")

Kind = Literal["pipeline", "training", "evaluation"]
KINDS: dict[Kind, str] = {
    "pipeline": "demo, data, features",
    "training": "train, supervised train",
    "evaluation": "evaluate",
}
"""Kind of a configuration → commands that take it with --preset."""
KindOption = Annotated[
    Kind | None,
    Option(
        help="What it configures; if left out, pipeline where there is such a preset, else the "
        "others. A file is of the kind that knows most of its keys."
    ),
]


@dataclass(frozen=True)
class _Shown:
    """A configuration, merged and checked."""

    kind: Kind
    values: dict[str, Any]
    config_hash: str
    files: Sequence[Path]


@app.command("show")
def show_config(
    reference: Annotated[
        str, Argument(metavar="[FILE|PRESET]", help="A .yaml file or a preset.")
    ] = "demo",
    kind: KindOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a configuration as commands see it: merged, with defaults and its hash.

    Example: [bold]tradingbot config show us143 --json[/bold]

    Example: [bold]tradingbot config show us143 --kind training[/bold]
    """
    import yaml

    found = _load(reference, kind)
    document = {"kind": found.kind, "config_hash": found.config_hash, "files": found.files}
    if show_json(as_json, {**document, "config": found.values}):
        return
    print_text(yaml.safe_dump(found.values, sort_keys=False, allow_unicode=True).rstrip())
    print_text(f"# config_hash: {found.config_hash}")
    print_note(f"{found.kind}, from {' → '.join(str(file) for file in found.files)}")
    _note_others(reference, found.kind, kind)


@app.command("check")
def check_config(
    reference: Annotated[str, Argument(metavar="FILE|PRESET", help="A .yaml file or a preset.")],
    kind: KindOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a configuration; of a pipeline also that market, universe and calendar exist.

    Exits with 0 where all is well, with 2 and one line where a rule is broken.

    Example: [bold]tradingbot config check us143[/bold]

    Example: [bold]tradingbot config check mine.yaml --kind training[/bold]
    """
    from tradingbot.configuration.files import check_resources, load_config

    found = _load(reference, kind)
    if found.kind == "pipeline":
        check_resources(load_config(reference))
    if as_json:
        print_json({"valid": True, "kind": found.kind, "config_hash": found.config_hash})
    else:
        print_text(f"{reference} is valid ({found.kind}), config_hash {found.config_hash[:16]}")
        _note_others(reference, found.kind, kind)


@app.command("list")
def list_presets(as_json: JsonOption = False) -> None:
    """List the presets that come with the package: of pipelines, trainings and evaluations.

    Example: [bold]tradingbot config list[/bold]
    """
    rows = [
        (name, kind, KINDS[kind], _load(name, kind).config_hash[:16])
        for kind in KINDS
        for name in _presets(kind)
    ]
    if as_json:
        keys = ("name", "kind", "commands", "config_hash")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        caption = "show one with: tradingbot config show NAME --kind KIND"
        columns = ["name", "kind", "--preset of", "config hash"]
        print_table("Presets", columns, rows, caption=caption)


def _note_others(reference: str, shown: Kind, asked: Kind | None) -> None:
    """Say which other presets have the same name, unless one kind was asked for."""
    if asked is None:
        for kind, commands in KINDS.items():
            if kind != shown and reference in _presets(kind):
                print_note(f"--preset {reference} of {commands} is another: --kind {kind}")


def _presets(kind: Kind) -> tuple[str, ...]:
    from tradingbot.configuration.files import known_presets

    return known_presets("" if kind == "pipeline" else kind)


def _load(reference: str, kind: Kind | None) -> _Shown:
    """Read a preset or file of a kind; without one, of the first kind that knows the name."""
    from tradingbot.configuration.files import load_config, preset_folder, read_merged

    fitting = [each for each in KINDS if reference in _presets(each)]
    chosen: Kind = kind or (fitting[0] if fitting else _kind_of_file(reference))
    if chosen == "pipeline":
        loaded = load_config(reference)
        config = loaded.config
        return _Shown(chosen, config.as_mapping(), config.config_hash, loaded.files)
    _, files = read_merged(reference, preset_folder(chosen))
    if chosen == "training":
        from tradingbot.training.config_files import load_train_config

        trained = load_train_config(reference)
        return _Shown(chosen, trained.as_mapping(), trained.config_hash, files)
    from tradingbot.domain.plain_values import as_plain_values
    from tradingbot.evaluation.pipeline.config import load_evaluate_config

    evaluated = load_evaluate_config(reference)
    return _Shown(chosen, as_plain_values(evaluated), evaluated.config_hash, files)


def _kind_of_file(reference: str) -> Kind:
    """Return the kind that knows most of a file's own keys, a pipeline where several do."""
    from dataclasses import fields

    from tradingbot.configuration.pipeline import PipelineConfig
    from tradingbot.configuration.yaml_reader import read_document
    from tradingbot.domain.errors import UserError
    from tradingbot.evaluation.pipeline.config import EvaluateConfig
    from tradingbot.training.config import TrainConfig

    known: dict[Kind, set[str]] = {
        "pipeline": {*PipelineConfig.model_fields},
        "training": {*TrainConfig.model_fields},
        "evaluation": {each.name for each in fields(EvaluateConfig)},
    }
    try:
        values = read_document(Path(reference)).values
    except UserError:  # said again, with what is wrong, where it is loaded
        return "pipeline"
    parents = [each for each in KINDS if values.get("extends") in _presets(each)]
    return max(
        KINDS, key=lambda each: (len(known[each] & values.keys()), not parents or each in parents)
    )
