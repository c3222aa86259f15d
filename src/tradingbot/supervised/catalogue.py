"""The classifiers by name. To add one: write its file, name it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tradingbot.domain.errors import require_known
from tradingbot.supervised.boosting import BoostingClassifier
from tradingbot.supervised.classifier import Classifier
from tradingbot.supervised.classifier_settings import boosting_settings, network_settings
from tradingbot.supervised.network_classifier import NetworkClassifier

_Maker = Callable[[Mapping[str, Any]], Classifier]

CLASSIFIERS: Mapping[str, _Maker] = MappingProxyType(
    {
        "mlp": lambda given: NetworkClassifier(network_settings("mlp", given)),
        "lstm": lambda given: NetworkClassifier(network_settings("lstm", given)),
        "gru": lambda given: NetworkClassifier(network_settings("gru", given)),
        "lightgbm": lambda given: BoostingClassifier(boosting_settings(given)),
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
