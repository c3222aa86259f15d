"""Names that settings and options may say, told without torch: the unknown is refused at once.

The catalogues themselves compute, and take seconds to import; tests hold that the names agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tradingbot.domain.checks import read_bounds
from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.domain.extension import Kind, extension_values

COST_NAMES = ("free", "alpaca", "retail", "impact")
"""Those of `market.costs.COST_PROFILES`."""
FILL_COST_NAMES = ("free", "alpaca")
"""Profiles without impact and borrowing: a cost per fill replaces all of them."""
COST_RATE_BOUNDS: Mapping[str, str] = MappingProxyType(
    {
        "commission_frac": "[0, 1)",
        "slippage_frac": "[0, 1)",
        "spread_frac": "[0, 1)",
        "impact_coef": "[0, 10)",
        "borrow_frac_per_bar": "[0, 1)",
    }
)
"""Fields of `market.costs.CostProfile` → where they must lie."""
REWARD_PRESET_NAMES = (
    *("v31", "prototype", "sharpe", "objectives", "log_growth", "differential_sharpe"),
)
"""Those of `rewards.presets.REWARD_PRESETS`."""
_FLAG = ""
_SHARE, _FACTOR, _SCALE = "[0, 1]", "[0, 10]", "(0, 1e6]"
REWARD_OPTION_BOUNDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "cost": {"scale": _SCALE},
        "differential_sharpe": {"scale": _SCALE},
        "diversity": {"bonus": "[0, 0.3333333333333333]"},
        "drawdown": {"free_frac": "[0, 1)", "knee_frac": "(0, 1]", "knee_penalty": _SHARE},
        "frequency": {"frequency": "[0.02, 1]"},
        "hold": {"winner": "[-1, 0]", "loser": "[-1, 0]"},
        "intrinsic_action": {"violation_price": "[-1, 0]"},
        "log_growth": {"scale": _SCALE},
        "loss": {"value_at_risk": "(0, 1]", "loss_factor": _FACTOR, "consistency": _FACTOR},
        "novelty": {"scale": "[0, 50]", "decay": "(0, 1]"},
        "pnl": {
            "scale": _SCALE,
            "realised_only": _FLAG,
            "roi_slope": "[0, 100]",
            "roi_low": _SHARE,
            "roi_high": "[1, 10]",
            **dict.fromkeys(("entry_small", "entry_medium", "entry_large"), _FACTOR),
            **dict.fromkeys(("exit_partial", "exit_full", "exit_staged", "pyramiding"), _FACTOR),
            "multiply_losses": _FLAG,
        },
        "repeat": {"free_repeats": "[1, 1e6]", "grade": _SHARE, "floor": "[-1, 0]"},
        "roi": {"scale": _SCALE, "unrealised": _SHARE},
        "sharpe": {"target": "(0, 100]", "bars_per_year": _SCALE, "warmup_bars": "[0, 1e6]"},
        "sizing": {"full_drawdown_frac": "(0, 1]"},
        "time_efficiency": {"roi_unit": "(0, 10]", "horizon_bars": _SCALE},
    }
)
"""Term → its options, of `rewards.catalogue`, without plugins' → where they must lie; empty for
those that are true or false."""
REWARD_TERM_NAMES = tuple(REWARD_OPTION_BOUNDS)
"""Those of `rewards.catalogue`, without plugins'."""
REWARD_OBJECTIVES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "profit": ("pnl", "cost", "log_growth", "roi"),
        "risk": ("sharpe", "drawdown", "sizing", "differential_sharpe", "loss"),
        "timing": ("time_efficiency",),
        "activity": ("hold", "repeat", "frequency"),
        "exploration": ("diversity", "intrinsic_action", "novelty"),
    }
)
"""Objective → its terms, those of `rewards.catalogue`, without plugins'."""
REWARD_PRESET_TERMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "v31": ("pnl", "cost", "sharpe", "drawdown", "diversity", "repeat", "intrinsic_action"),
        "prototype": ("pnl", "cost", "time_efficiency", "sharpe", "drawdown", "sizing"),
        "sharpe": ("pnl", "cost", "time_efficiency", "repeat"),
        "objectives": ("roi", "loss", "frequency", "time_efficiency", "novelty"),
        "log_growth": ("log_growth",),
        "differential_sharpe": ("differential_sharpe",),
    }
)
"""Preset → its terms whose weight is not 0, of `rewards.presets.REWARD_PRESETS`."""
PRIVATE_NAMES = (
    *("size", "entry_move", "unrealised", "holding", "stop_distance", "target_distance", "adds"),
    *("last_action", "total_return", "cash", "exposure", "drawdown", "realised", "sharpe"),
    *("sortino", "win_rate", "repeats", "stale"),
)
"""Those of `market.private_features.PRIVATE_FEATURES`."""
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


def objectives_of(reward: str, weights: Mapping[str, float]) -> tuple[str, ...] | None:
    """Return the objectives of a reward; None where a term is a plugin's, of which it is not known.

    Args:
        reward: Name of a preset or of a term.
        weights: Term → weight that replaces the preset's.
    """
    of_preset = REWARD_PRESET_TERMS.get(reward, (reward,))
    terms = {
        *(name for name in of_preset if weights.get(name, 1.0)),
        *(n for n in weights if weights[n]),
    }
    if not terms <= {*REWARD_TERM_NAMES}:
        return None
    return tuple(name for name, own in REWARD_OBJECTIVES.items() if terms & {*own})


def require_cost_rates(rates: Mapping[str, float], where: str) -> None:
    """Refuse unknown rates of a cost profile, and values out of their bounds.

    Raises:
        ConfigError: Naming the closest one, or the bounds.
    """
    for name, rate in rates.items():
        require_known(name, COST_RATE_BOUNDS, "cost rate must be known", where=where)
        bounds = read_bounds(COST_RATE_BOUNDS[name])
        if not bounds.hold(rate):
            rule, remedy = f"{where}.{name} must {bounds.words}", "1 bp is written 0.0001"
            raise ConfigError(rule, was=rate, remedy=remedy)


def require_reward_terms(names: Iterable[str], where: str | None = None) -> None:
    """Refuse unknown terms of a reward.

    Raises:
        ConfigError: Naming the closest one.
    """
    known = _with(REWARD_TERM_NAMES, "reward_term")
    for name in names:
        require_known(name, known, "a reward term must be registered", where=where)


def require_reward_options(options: Mapping[str, Mapping[str, float | bool]], where: str) -> None:
    """Refuse unknown terms, options that a term of the package does not have, and their values.

    Args:
        options: Term → option → value; those of plugins' terms are not asked about.
        where: Setting that holds them.

    Raises:
        ConfigError: Naming the closest one, or what a value must be.
    """
    require_reward_terms(options, where)
    rule = "an option of a reward term must be known"
    for term in options.keys() & REWARD_OPTION_BOUNDS.keys():
        for name, value in options[term].items():
            require_known(name, REWARD_OPTION_BOUNDS[term], rule, where=f"{where}.{term}")
            _require_within(value, REWARD_OPTION_BOUNDS[term][name], f"{where}.{term}.{name}")


def _require_within(value: float | bool, bounds: str, key: str) -> None:
    is_flag = isinstance(value, bool)
    words = read_bounds(bounds).words if bounds else "be true or false"
    if is_flag != (not bounds) or (bounds and not read_bounds(bounds).hold(value)):
        raise ConfigError(f"{key} must {words}", was=value, remedy="Give such a value")


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
