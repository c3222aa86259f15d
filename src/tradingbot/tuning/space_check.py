"""Whether a space fits what is tuned, told before torch is imported."""

from __future__ import annotations

from collections.abc import Sequence
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
