"""Whether a space fits what is tuned, told before torch is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tradingbot.configuration.decoding import NOT_SPELLED, document_of_options
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.training.budget import check_budget
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.early_refusals import refuse_data_early, refuse_parts_early
from tradingbot.training.inert_settings import check_effects
from tradingbot.tuning.search_space import SearchSpace


def require_tunable(config: TrainConfig, space: SearchSpace) -> None:
    """Refuse a space with a key that the configuration does not have, or that would do nothing.

    Both ends of every range and all choices are tried, each beside the lowest values of the others:
    a value that cannot be trained must not be found by the trial that draws it.

    Raises:
        UserError: Naming the space, the key and what to write instead.
    """
    refuse_parts_early(config)  # what is wrong without the space is not put down to it
    corner, names = dict(space.corner()), ", ".join(space.names)
    try:
        lowest = override_config(config, corner)
        check_effects(lowest, document_of_options(corner, NOT_SPELLED).places)
    except UserError as e:
        where = f"search space {names}"
        raise ConfigError(e.rule, was=e.was, where=where, remedy=_remedy(e, space)) from e
    for each in space.parameters:
        for value in each.tested:
            try:
                changed = override_config(config, {**corner, each.key: value})
                refuse_parts_early(changed)
                check_budget(changed)
            except UserError as e:
                where = f"{each.key}: {value} in search space {names}"
                raise ConfigError(e.rule, was=e.was, where=where, remedy=_remedy(e, space)) from e


def _remedy(refused: UserError, space: SearchSpace) -> str | None:
    """Say how a range becomes one of whole numbers, where the value is to be one."""
    ranges = [each.key for each in space.parameters if not each.choices and not each.step]
    is_whole = refused.rule.endswith("must be a whole number")
    if is_whole and any(refused.rule.startswith(f"{key} ") for key in ranges):
        return "Add a step to its range, e.g. step: 1, with whole numbers as low and high"
    return refused.remedy


def require_symbols(config: TrainConfig, symbols: Sequence[str], workspace: Path) -> None:
    """Refuse symbols of trials that the data do not have.

    Raises:
        UserError: Naming one.
    """
    if symbols:
        refuse_data_early(override_config(config, {"symbols": list(symbols)}), workspace)


def without_tuned(options: Sequence[tuple[str, object]], keys: Sequence[str]) -> dict[str, object]:
    """Return options without those of keys that were searched, whose best values go first."""
    return {key: value for key, value in options if not _touched(key, value, keys)}


def refuse_tuned(options: Mapping[str, object], space: SearchSpace) -> None:
    """Refuse options of keys that are searched: they would be searched, and not what was said.

    Raises:
        ConfigError: Naming the first.
    """
    keys = [each.key for each in space.parameters]
    for key, value in options.items():
        if _touched(key, value, keys):
            names = ", ".join(space.names)
            raise ConfigError(
                "a setting that tuning searches must not be given as well",
                was=f"--set {key}={value}",
                where=f"search space {names}",
                remedy="Leave it out, search another space, or write it into the preset that "
                "tuning begins with",
            )


def _touched(key: str, value: object, keys: Sequence[str]) -> bool:
    """Tell whether an option sets one of some keys, what is below it, or all that is above it."""
    if isinstance(value, Mapping):
        return any(_touched(f"{key}.{name}", below, keys) for name, below in value.items())
    return any(f"{key}.".startswith(f"{each}.") or each.startswith(f"{key}.") for each in keys)
