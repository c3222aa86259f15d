"""Settings of the data of a portfolio over a run: that run's own, unless others are said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tradingbot.configuration.decoding import NOT_SPELLED
from tradingbot.configuration.files import lay_options, preset_folder, read_merged
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.plugins.reference import RUN_PREFIX
from tradingbot.runs import RunDirectory, find_run
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import OLD_KEYS, config_of_mapping, load_train_config
from tradingbot.training.own_dataset_names import with_own_dataset

_SECTIONS = ("dataset", "market", "symbols", "splits", "features", "scaling")
_MODELS = "task.probabilities"


def load_over_sleeves(
    reference: str | Path,
    overrides: Mapping[str, object],
    spelled: Mapping[str, str] = NOT_SPELLED,
    *,
    workspace: Path,
) -> TrainConfig:
    """Read a configuration as `load_train_config` does; a master over a run takes that run's data.

    Dataset or market, symbols, splits, features, scale and models of the run go before what presets
    of the package say, and behind options and files of the user's own.

    Raises:
        ConfigError: As `load_train_config` does.
    """
    presets = preset_folder("training")
    document, _ = read_merged(reference, presets, old_keys=OLD_KEYS)
    laid = lay_options(document, overrides, spelled, old_keys=OLD_KEYS).values
    run = _run_named(laid.get("environment"), workspace)
    if run is None:
        return load_train_config(reference, overrides, spelled)
    own_places = (keys for keys, at in document.places.items() if at.file.parent != presets)
    said = {*overrides, *(".".join(map(str, keys)) for keys in own_places)}
    own = _data_settings(config_of_mapping(run.record.config), run, workspace)
    if {"dataset", "market.name"} & said:
        own = {key: value for key, value in own.items() if not key.startswith("market.")}
    taken = {key: value for key, value in own.items() if key not in said}
    return load_train_config(reference, {**taken, **overrides}, spelled)


def explain_misfit(error: ConfigError, config: TrainConfig, workspace: Path) -> ConfigError:
    """Return a refusal of a run's agents that names the settings in which the portfolio differs."""
    run = _run_named(config.environment.model_dump(), workspace)
    if run is None:
        return error
    own = _data_settings(config_of_mapping(run.record.config), run, workspace)
    now = _data_settings(config, run, workspace)
    differ = [key for key in sorted(own | now) if own.get(key) != now.get(key)]
    if not differ:
        return error
    told = "; ".join(f"{key}={_text(now.get(key))}, there {_text(own.get(key))}" for key in differ)
    first = next((key for key in differ if key in own), differ[0])
    return ConfigError(
        error.rule,
        was=error.was,
        where=error.where,
        remedy=f"Settings that are not those of run {run.id}: {told}. Leave them out, and the "
        f"run's are taken, or say them as there, e.g. --set {first}={_text(own.get(first))}",
    )


def _run_named(environment: object, workspace: Path) -> RunDirectory | None:
    """Return the run that an environment's sleeves name; None where there is none to read."""
    if not isinstance(environment, Mapping) or environment.get("kind") != "portfolio":
        return None
    portfolio = environment.get("portfolio")
    sleeves = portfolio.get("sleeves") if isinstance(portfolio, Mapping) else None
    if not isinstance(sleeves, str) or not sleeves.startswith(RUN_PREFIX):
        return None
    try:
        return find_run(workspace / "runs", sleeves.removeprefix(RUN_PREFIX))
    except UserError:  # refused where it is opened
        return None


def _data_settings(config: TrainConfig, run: RunDirectory, workspace: Path) -> dict[str, object]:
    """Return what a run learned from, though its dataset's name may mean other bars by now."""
    return data_settings(with_own_dataset(config, run.record.data.dataset_sha256, workspace))


def data_settings(config: TrainConfig) -> dict[str, object]:
    """Return dotted keys of what agents learn from, which a master over them must have as well.

    No market where there is a dataset.
    """
    values = config.model_dump(include={*_SECTIONS})
    values["market"] = {} if config.dataset is not None else values["market"]
    return {**dict(_flatten(values)), _MODELS: config.task.probabilities}


def _flatten(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{above}{key}.")
        else:
            yield above + key, list(value) if isinstance(value, tuple) else value


def _text(value: object) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)
