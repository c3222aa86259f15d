"""From presets, files and options to a checked `TrainConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tradingbot.configuration.decoding import NOT_SPELLED, decode
from tradingbot.configuration.files import (
    lay_options,
    preset_folder,
    read_merged,
    rename_old_keys,
)
from tradingbot.configuration.yaml_reader import Document
from tradingbot.training.account_rules import check_accounts
from tradingbot.training.budget import check_budget, resolve_schedules
from tradingbot.training.config import TrainConfig
from tradingbot.training.inert_settings import check_effects

DEFAULT_PRESET = "prototype10"
OLD_KEYS = {
    "guards.spread": "low_entropy",
    "guards.spread_critical": "low_entropy_critical",
    "guards.spread_fall": "entropy_fall",
    "guards.spread_fall_updates": "entropy_fall_updates",
    "learner.ppo.entropy.guard_spread": "guard_entropy",
    "learner.sac.target_spread": "target_normalised_entropy",
}
"""Until entropies were called by their name; see `configuration.files`."""
_DIVISION = ("by", "train", "validation", "test", "train_from")
"""Keys of `splits` that say where parts end; the others say how far they are apart."""


def load_train_config(
    reference: str | Path = DEFAULT_PRESET,
    overrides: Mapping[str, object] | None = None,
    spelled: Mapping[str, str] = NOT_SPELLED,
) -> TrainConfig:
    """Read a preset by name or a file by path, follow `extends:`, lay options over it, check.

    Args:
        reference: Name of a preset, or a .yaml file.
        overrides: Dotted key → value, e.g. `budget.n_envs` → 4; they go before what files say.
        spelled: Dotted key → its option of the command line, for messages.

    Dates in a preset are those of its own market. Where a dataset is named, they are left out and
    its bars are divided by ratio, unless one of `splits.by`, `train`, `validation`, `test` or
    `train_from` is said elsewhere: `splits.by=date` asks for the preset's dates.

    Raises:
        ConfigError: Naming file and line, rule, value and remedy of the first broken rule.
    """
    document, _ = read_merged(reference, preset_folder("training"), old_keys=OLD_KEYS)
    document = lay_options(document, overrides, spelled, old_keys=OLD_KEYS)
    config = _checked(_follow_dataset(document))
    check_budget(config, document.places)
    check_effects(config, document.places)
    check_accounts(config, document.places)
    return config


def config_of_mapping(
    values: Mapping[str, Any], tracking: Mapping[str, str] | None = None
) -> TrainConfig:
    """Read what `TrainConfig.as_mapping` wrote, as a run directory keeps it.

    Args:
        values: Everything that can move a result.
        tracking: What `TrainConfig.tracking_mapping` wrote; nothing in runs of older versions.

    Raises:
        ConfigError: If a later version of the configuration does not take it.
    """
    told = {"tracking": dict(tracking)} if tracking else {}
    return _checked(rename_old_keys(Document(_as_written({**values, **told})), OLD_KEYS))


def override_config(
    config: TrainConfig, overrides: Mapping[str, object], spelled: Mapping[str, str] = NOT_SPELLED
) -> TrainConfig:
    """Lay options over a configuration; see `load_train_config`.

    Whether a learner can learn in the budget is not asked: not every use is training.
    """
    told = {"tracking": config.tracking.model_dump(mode="json")}
    base = Document(_as_written({**config.as_mapping(), **told}))
    return _checked(lay_options(base, overrides, spelled, old_keys=OLD_KEYS))


def _follow_dataset(document: Document) -> Document:
    """Leave out the dates of a packaged preset where a dataset is named."""
    values, splits = document.values, document.values.get("splits")
    if values.get("dataset") is None or not isinstance(splits, Mapping):
        return document
    said = [document.places[("splits", key)].file for key in _DIVISION if key in splits]
    presets = preset_folder("training")
    if splits.get("by") != "date" or any(file.parent != presets for file in said):
        return document
    kept = {key: value for key, value in splits.items() if key not in _DIVISION}
    return Document({**values, "splits": kept}, document.places)


def _checked(document: Document) -> TrainConfig:
    return decode(TrainConfig, Document(resolve_schedules(document.values), document.places))


def _as_written(values: dict[str, Any]) -> dict[str, Any]:
    """Say what `TrainConfig.as_mapping` leaves out, and turn text back into days.

    Agents of runs before `task.neutral_bars` and `budget.recency` learned from prices as they were,
    of all training bars alike.
    """
    values["task"] = {"neutral_bars": False, **values.get("task", {})}
    values["budget"] = {"recency": 0.0, **values.get("budget", {})}
    for section, keys in (
        ("market", ("start", "end")),
        ("splits", ("train_from", "train", "validation", "test")),
    ):
        if isinstance(values.get(section), Mapping):
            part = values[section] = dict(values[section])
            for key in keys:
                if isinstance(part.get(key), str):
                    part[key] = date.fromisoformat(part[key])
    return values
