"""Names that settings and options may say, told without torch: the unknown is refused at once.

The catalogues themselves compute, and take seconds to import; tests hold that the names agree.
"""

from __future__ import annotations

from tradingbot.domain.errors import require_known
from tradingbot.domain.extension import Kind, extension_values

COST_NAMES = ("free", "alpaca", "retail", "impact")
"""Those of `market.costs.COST_PROFILES`."""
FILL_COST_NAMES = ("free", "alpaca")
"""Profiles without impact and borrowing: a cost per fill replaces all of them."""
REWARD_PRESET_NAMES = ("v31", "prototype", "sharpe", "log_growth", "differential_sharpe")
"""Those of `rewards.presets.REWARD_PRESETS`."""
REWARD_TERM_NAMES = (
    *("cost", "differential_sharpe", "diversity", "drawdown", "hold", "intrinsic_action"),
    *("log_growth", "pnl", "repeat", "sharpe", "sizing", "time_efficiency"),
)
"""Those of `rewards.catalogue`, without plugins'."""
ENCODER_NAMES = ("full", "small", "tiny", "lstm", "mlp", "skip", "row")
"""Those of `networks.encoders.catalogue.ENCODER_PRESETS`."""
CLASSIFIER_NAMES = ("mlp", "lstm", "gru", "lightgbm")
"""Those of `supervised.catalogue.CLASSIFIERS`."""


def require_costs(name: str, where: str | None = None) -> None:
    """Refuse an unknown cost profile.

    Raises:
        ConfigError: Naming the closest one.
    """
    require_known(name, COST_NAMES, "cost profile must be known", where=where)


def require_reward(name: str, where: str | None = None) -> None:
    """Refuse a reward that is neither a preset nor a term.

    Raises:
        ConfigError: Naming the closest one.
    """
    own = (*REWARD_PRESET_NAMES, *REWARD_TERM_NAMES)
    require_known(name, _with(own, "reward_term"), "reward preset must be known", where=where)


def require_encoder(name: str, where: str | None = None) -> None:
    """Refuse an unknown preset of an encoder.

    Raises:
        ConfigError: Naming the closest one.
    """
    require_known(name, _with(ENCODER_NAMES, "encoder"), "encoder must be known", where=where)


def require_classifier(name: str, where: str | None = None) -> None:
    """Refuse an unknown classifier.

    Raises:
        ConfigError: Naming the closest one.
    """
    require_known(name, CLASSIFIER_NAMES, "model must be a known one", where=where)


def _with(names: tuple[str, ...], kind: Kind) -> tuple[str, ...]:
    return (*names, *extension_values(kind, names))
