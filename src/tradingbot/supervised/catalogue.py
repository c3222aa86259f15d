"""The classifiers by name. To add one: write its file, name it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from tradingbot.domain.errors import require_known
from tradingbot.supervised.boosting import BoostingClassifier, BoostingConfig
from tradingbot.supervised.classifier import Classifier
from tradingbot.supervised.move_network import NetworkConfig
from tradingbot.supervised.network_classifier import NetworkClassifier

_Maker = Callable[[Mapping[str, Any]], Classifier]

CLASSIFIERS: Mapping[str, _Maker] = MappingProxyType(
    {
        "mlp": lambda given: NetworkClassifier(_config(NetworkConfig, given, kind="mlp")),
        "lstm": lambda given: NetworkClassifier(_recurrent(given, "lstm")),
        "gru": lambda given: NetworkClassifier(_recurrent(given, "gru")),
        "lightgbm": lambda given: BoostingClassifier(_config(BoostingConfig, given)),
    }
)
"""Name → maker of a classifier from settings; what is left out has its default."""


def build_classifier(name: str, settings: Mapping[str, Any] | None = None) -> Classifier:
    """Make a classifier.

    Args:
        name: One of `CLASSIFIERS`.
        settings: Fields of its configuration.

    Raises:
        ConfigError: If the name or a setting is unknown, or a value is not allowed.

    Example:
        >>> build_classifier("gru", {"width": 16}).config.width
        16
    """
    make = CLASSIFIERS[require_known(name, CLASSIFIERS, "model must be a known one")]
    return make(settings or {})


def _recurrent(given: Mapping[str, Any], kind: str) -> NetworkConfig:
    config: NetworkConfig = _config(NetworkConfig, {"n_layers": 1, **given}, kind=kind)
    return config


def _config(kind_of_config: type[Any], given: Mapping[str, Any], **fixed: str) -> Any:
    known = {field.name for field in fields(kind_of_config)} - set(fixed)
    for name in given:
        if name not in fixed or given[name] != fixed[name]:
            require_known(name, known, "setting of a model must be a known one")
    return kind_of_config(**{**given, **fixed})
