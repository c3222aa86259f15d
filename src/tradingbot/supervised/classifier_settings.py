"""Settings of classifiers by name; torch is not imported, so mistakes are told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any, Literal

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import MissingExtraError, require_known
from tradingbot.supervised.boosting import BoostingConfig

NetworkKind = Literal["mlp", "lstm", "gru"]


@dataclass(frozen=True)
class NetworkConfig(CheckedFields):
    """Size of a network and how it is fitted."""

    kind: NetworkKind = "mlp"
    """`mlp` sees the window flattened; `lstm` and `gru` bar by bar."""
    width: int = bounded(32, ">= 1")
    """Of every layer."""
    n_layers: int = bounded(2, ">= 1")
    """Hidden layers of the MLP, cells of the LSTM; the GRU has one."""
    lookback_bars: int = bounded(8, ">= 1")
    """W, bars a prediction depends on, its own included; features remember further back."""
    learning_rate: float = bounded(5e-4, "(0, 1]")
    """Of AdamW."""
    weight_decay: float = bounded(1e-2, "[0, 10]")
    """Of AdamW, per update ÷ learning rate."""
    batch_windows: int = bounded(512, ">= 1")
    """Windows per update."""
    check_updates: int = bounded(20, ">= 1")
    """Updates between two looks at the bars that say when to stop."""
    max_updates: int = bounded(1_500, ">= 1")
    """Updates at most."""
    patience: int = bounded(6, ">= 1")
    """Looks without a better log loss after which fitting stops; the best weights are kept."""
    stop_windows: int = bounded(5_000, ">= 1")
    """Windows per look, at most; evenly spread."""
    device: str = "cpu"
    """Where it is fitted and asked."""


def network_settings(kind: NetworkKind, given: Mapping[str, Any]) -> NetworkConfig:
    """Return the settings of a network; what is left out has its default.

    Raises:
        ConfigError: If a setting is unknown, or a value is not allowed.

    Example:
        >>> network_settings("gru", {"width": 16}).n_layers
        1
    """
    own = {} if kind == "mlp" else {"n_layers": 1}
    config: NetworkConfig = _config(NetworkConfig, {**own, **given}, kind=kind)
    return config


def boosting_settings(given: Mapping[str, Any]) -> BoostingConfig:
    """Return the settings of boosted trees; what is left out has its default.

    Raises:
        ConfigError: If a setting is unknown, or a value is not allowed.
        MissingExtraError: If LightGBM is not installed: nothing could be fitted.
    """
    config: BoostingConfig = _config(BoostingConfig, given)
    if find_spec("lightgbm") is None:
        raise MissingExtraError("supervised", package="lightgbm")
    return config


def _config(kind_of_config: type[Any], given: Mapping[str, Any], **fixed: str) -> Any:
    known = {field.name for field in fields(kind_of_config)} - set(fixed)
    for name in given:
        if name not in fixed or given[name] != fixed[name]:
            require_known(name, known, "setting of a model must be a known one")
    return kind_of_config(**{**given, **fixed})
