"""Names that settings and options may say, told without torch: the unknown is refused at once.

The catalogues themselves compute, and take seconds to import; tests hold that the names agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tradingbot.domain.errors import require_known
from tradingbot.domain.extension import Kind, extension_values

COST_NAMES = ("free", "alpaca", "retail", "impact")
"""Those of `market.costs.COST_PROFILES`."""
FILL_COST_NAMES = ("free", "alpaca")
"""Profiles without impact and borrowing: a cost per fill replaces all of them."""
COST_RATE_NAMES = (
    "commission_frac",
    "slippage_frac",
    "spread_frac",
    "impact_coef",
    "borrow_frac_per_bar",
)
"""Fields of `market.costs.CostProfile`."""
REWARD_PRESET_NAMES = ("v31", "prototype", "sharpe", "log_growth", "differential_sharpe")
"""Those of `rewards.presets.REWARD_PRESETS`."""
REWARD_OPTION_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cost": ("scale",),
        "differential_sharpe": ("scale",),
        "diversity": ("bonus",),
        "drawdown": ("free_frac", "knee_frac", "knee_penalty"),
        "hold": ("winner", "loser"),
        "intrinsic_action": ("violation_price",),
        "log_growth": ("scale",),
        "pnl": (
            *("scale", "realised_only", "roi_slope", "roi_low", "roi_high", "entry_small"),
            *("entry_medium", "entry_large", "exit_partial", "exit_full", "exit_staged"),
            *("pyramiding", "multiply_losses"),
        ),
        "repeat": ("free_repeats", "grade", "floor"),
        "sharpe": ("target", "bars_per_year", "warmup_bars"),
        "sizing": ("full_drawdown_frac",),
        "time_efficiency": ("roi_unit", "horizon_bars"),
    }
)
"""Term → its options, of `rewards.catalogue`, without plugins'."""
REWARD_TERM_NAMES = tuple(REWARD_OPTION_NAMES)
"""Those of `rewards.catalogue`, without plugins'."""
PRIVATE_NAMES = (
    *("size", "entry_move", "unrealised", "holding", "stop_distance", "target_distance", "adds"),
    *("last_action", "total_return", "cash", "exposure", "drawdown", "realised", "sharpe"),
    *("sortino", "win_rate", "repeats", "stale"),
)
"""Those of `market.observation.PRIVATE_FEATURES`."""
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


def require_cost_rates(names: Iterable[str], where: str | None = None) -> None:
    """Refuse unknown rates of a cost profile.

    Raises:
        ConfigError: Naming the closest one.
    """
    for name in names:
        require_known(name, COST_RATE_NAMES, "cost rate must be known", where=where)


def require_reward_terms(names: Iterable[str], where: str | None = None) -> None:
    """Refuse unknown terms of a reward.

    Raises:
        ConfigError: Naming the closest one.
    """
    known = _with(REWARD_TERM_NAMES, "reward_term")
    for name in names:
        require_known(name, known, "a reward term must be registered", where=where)


def require_reward_options(options: Mapping[str, Iterable[str]], where: str) -> None:
    """Refuse unknown terms, and options that a term of the package does not have.

    Args:
        options: Term → names of options; those of plugins' terms are not asked about.
        where: Setting that holds them.

    Raises:
        ConfigError: Naming the closest one.
    """
    require_reward_terms(options, where)
    rule = "an option of a reward term must be known"
    for term in options.keys() & REWARD_OPTION_NAMES.keys():
        for name in options[term]:
            require_known(name, REWARD_OPTION_NAMES[term], rule, where=f"{where}.{term}")


def require_private(names: Iterable[str], where: str | None = None) -> None:
    """Refuse unknown private numbers of an observation.

    Raises:
        ConfigError: Naming the closest one.
    """
    for name in names:
        require_known(name, PRIVATE_NAMES, "private number must be a known one", where=where)


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
