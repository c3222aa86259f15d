"""Arguments and options that several commands share, and how they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tradingbot.configuration.option_values import read_values
from tradingbot.data.atomic import is_special
from tradingbot.domain.errors import ConfigError, join_choices

if TYPE_CHECKING:
    from tradingbot.app.cli.invocation import Invocation
    from tradingbot.configuration.pipeline import PipelineConfig
    from tradingbot.runs import RunDirectory

DatasetArgument = Annotated[str, Argument(help="Name of a dataset, or digits of its hash.")]
RunArgument = Annotated[
    str, Argument(metavar="RUN", help="Id of a run, the beginning of it, or its folder.")
]
MarketOption = Annotated[
    str | None, Option("--market", help="A synthetic market instead; see: tradingbot market list.")
]
ConfigOption = Annotated[
    str | None,
    Option("--preset", "--config", help="Preset or YAML file: splits, scaling and proof."),
]

GENERATED_DAYS = (date(2024, 10, 1), date(2025, 10, 1))
"""First and last day of a synthetic market that commands generate, where none are given."""
USUAL_UNIVERSE, USUAL_SEED = "prototype10", 7
"""Of a synthetic market, where options name no other; `None` tells that they did not."""
MarketSeedOption = Annotated[
    int | None,
    Option("--seed", min=0, help=f"Of a --market, and of random; {USUAL_SEED} if left out."),
]
MarketParamsOption = Annotated[
    list[str] | None, Option("--set", help="PARAMETER=VALUE of a --market.")
]
_RUNS_FOLDER = "runs"  # `app.training.session.RUNS_FOLDER`, which takes seconds to import


def runs_root(invocation: Invocation) -> Path:
    """Return the folder that the workspace's runs are in."""
    return invocation.workspace / _RUNS_FOLDER


def look_up_run(invocation: Invocation, reference: str) -> RunDirectory:
    """Open a run without importing torch: what is not there is refused at once.

    Raises:
        UserError: If no run answers to the reference, several do, or it is damaged.
    """
    from tradingbot.runs import find_run

    return find_run(runs_root(invocation), reference)


def require_run_name(invocation: Invocation, name: str) -> None:
    """Refuse a name that no new run of the workspace can have.

    Raises:
        ConfigError: Saying why.
    """
    from tradingbot.runs.names import require_new_name

    require_new_name(runs_root(invocation), name)


def read_settings(invocation: Invocation, reference: str | None) -> tuple[PipelineConfig, Path]:
    """Return the configuration a preset or file describes, and the workspace under it."""
    from tradingbot.configuration.files import load_config
    from tradingbot.configuration.pipeline import PipelineConfig

    settings = load_config(reference).config if reference else PipelineConfig()
    return settings, choose_workspace(invocation, settings)


def choose_workspace(invocation: Invocation, settings: PipelineConfig) -> Path:
    """Return the workspace: the option or variable before the file's, else the default."""
    configured = settings.workspace_path()
    if configured is None or invocation.workspace_is_given:
        return invocation.workspace
    return configured


def require_picture(path: Path, option: str, endings: tuple[str, ...] = (".png",)) -> None:
    """Refuse a picture's path that has another ending, or lies in a folder that is not there.

    Raises:
        ConfigError: Naming the option.
    """
    remedy = f"Write e.g. {option} picture{endings[0]}"
    if path.suffix.lower() not in endings:
        article = "an" if endings[0] == ".html" else "a"
        rule = f"{option} must name {article} {join_choices(endings)} file"
        raise ConfigError(rule, was=repr(path.name), remedy=remedy)
    require_file(path, option, f"picture{endings[0]}")


def require_file(path: Path | None, option: str, example: str) -> None:
    """Refuse a folder in the place of a file, and a file in a folder that is not there.

    Raises:
        ConfigError: Naming the option.
    """
    if path is None:
        return
    if ":/" in str(path):  # it may hold a password, which is not repeated
        rule, remedy = f"{option} must name a file", f"Write e.g. {example}"
        raise ConfigError(rule, was="the address of something else", remedy=remedy)
    if is_special(path):
        rule, remedy = f"{option} must name a plain file", f"Write e.g. {example}"
        raise ConfigError(rule, was="a device, pipe or socket", where=str(path), remedy=remedy)
    if path.is_dir():
        remedy = f"Write e.g. {option} {path / example}"
        rule = f"{option} must name a file"
        raise ConfigError(rule, was="a folder", where=str(path), remedy=remedy)
    if not path.absolute().parent.is_dir():
        rule = f"{option} must name a file in a folder that exists"
        remedy = f"Make the folder {path.absolute().parent}, or name another"
        raise ConfigError(rule, was=repr(str(path)), remedy=remedy)


def require_order(start: datetime | None, end: datetime | None) -> None:
    """Refuse a first day after the last.

    Raises:
        ConfigError: Naming both.
    """
    if start is not None and end is not None and start > end:
        was = f"{start:%Y-%m-%d} after {end:%Y-%m-%d}"
        raise ConfigError("--from must not be after --to", was=was, remedy="Exchange them")


def require_market_options(
    market: str | None,
    universe: str | None,
    params: list[str] | None,
    seed: int | None,
    *,
    draws: bool,
) -> tuple[str, int]:
    """Refuse options of a synthetic market where none is named.

    Args:
        market: Its name; None: something else is traded.
        universe: After --universe, or None.
        params: After --set, or None.
        seed: After --seed, or None.
        draws: The rule random is among the policies, which reads the seed too.

    Returns:
        Universe and seed, the usual ones where none is given.

    Raises:
        ConfigError: Naming an option that nothing would read.
    """
    unread = {"--universe": universe, "--set": params or None, "--seed": None if draws else seed}
    for option, given in unread.items():
        if given is not None and market is None:
            rule = f"{option} must come with --market{' or random' * (option == '--seed')}"
            raise ConfigError(rule, was=f"{option} alone", remedy=f"Leave {option} out")
    return universe or USUAL_UNIVERSE, USUAL_SEED if seed is None else seed


def require_market(name: str, universe: str, params: Mapping[str, object]) -> None:
    """Refuse a synthetic market, a parameter of it or a universe that there is not.

    Raises:
        UserError: Naming the closest one.
    """
    from tradingbot.data.synthetic.registry import market, parse_params
    from tradingbot.data.universes import load_universe

    parse_params(market(name), params)
    load_universe(universe)


def require_one_market(dataset: str | None, market: str | None, remedy: str) -> None:
    """Refuse a dataset beside a synthetic market.

    Raises:
        ConfigError: If both are given.
    """
    if dataset is not None and market is not None:
        raise ConfigError("either --dataset or --market must be given", was="both", remedy=remedy)


def split_commas(text: str, option: str, what: str, example: str) -> list[str]:
    """Read words with commas between them.

    Raises:
        ConfigError: Naming the option, if a word is empty.
    """
    words = [part.strip() for part in text.split(",")]
    if not all(words):
        rule = f"{option} must be {what} with commas between them"
        remedy = f"Write e.g. {option} {example}, or leave it out for all"
        raise ConfigError(rule, was=repr(text), remedy=remedy)
    return words


def spell_options(
    keys: Iterable[str], named: Mapping[str, str], option: str = "--set"
) -> dict[str, str]:
    """Say how keys of a configuration stand on the command line, for messages.

    Args:
        keys: Dotted, as they were given.
        named: Key → option of its own that it was given by.
        option: After which the others were given.
    """
    return {key: named.get(key, f"{option} {key}") for key in keys}


def read_options(texts: list[str] | None, option: str) -> dict[str, object]:
    """Read NAME=VALUE texts; numbers and truth values are not kept as text.

    Raises:
        ConfigError: Naming the option, if a side is missing.
    """
    return read_values(read_pairs(texts, option))


def read_pairs(
    texts: list[str] | None, option: str, form: str = "NAME=VALUE", example: str = ""
) -> dict[str, str]:
    """Read NAME=VALUE texts.

    Args:
        texts: What was written.
        option: After which.
        form: What the two sides are, for messages.
        example: One that is right.

    Raises:
        ConfigError: Naming the option, if a side is missing, or a name stands twice with different
            values.
    """
    pairs: dict[str, str] = {}
    for text in texts or []:
        key, sign, value = text.partition("=")
        if not (key and sign and value):
            shown = example or f"{key or 'NAME'}=1"
            remedy = f"Write e.g. {option} {shown}"
            raise ConfigError(f"{option} must be {form}", was=repr(text), remedy=remedy)
        if pairs.setdefault(key, value) != value:
            was = f"{pairs[key]} and {value}"
            raise ConfigError(f"{option} {key} must have one value", was=was, remedy="Give it once")
    return pairs
