"""Whether a space fits what is tuned, told before torch is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tradingbot.configuration.decoding import NOT_SPELLED, document_of_options
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.early_refusals import refuse_data_early
from tradingbot.training.inert_settings import check_effects
from tradingbot.tuning.search_space import SearchSpace


def require_tunable(config: TrainConfig, space: SearchSpace) -> None:
    """Refuse a space with a key that the configuration does not have, or that would do nothing.

    Raises:
        ConfigError: Naming the space.
    """
    where = f"search space {', '.join(space.names)}"
    corner = dict(space.corner())
    try:
        changed = override_config(config, corner)
        check_effects(changed, document_of_options(corner, NOT_SPELLED).places)
    except UserError as e:
        raise ConfigError(e.rule, was=e.was, where=where, remedy=e.remedy) from e


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
