"""Which features exist, and in which order learners see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.domain.extension import extension_values
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.features import covariates, price, regimes, relative, trend, volatility
from tradingbot.features.inputs import BAR_FIELDS
from tradingbot.features.spec import FeatureSpec
from tradingbot.features.time_fields import TIME_FIELDS

_TECHNICAL = (
    *(price.open_price, price.high_price, price.low_price, price.close_price),
    *(price.volume, price.vwap_price, trend.sma_10, trend.sma_20),
    *(trend.macd_line, trend.macd_signal, trend.macd_histogram),
    *(trend.rsi_14, trend.stochastic_k, trend.stochastic_d, trend.adx_14),
    *(volatility.atr_14, volatility.bollinger_bandwidth),
    *(price.on_balance_volume, price.volume_sma_20, price.simple_return),
    *(covariates.sentiment, covariates.weekday_sin, covariates.weekday_cos),
)
_REGIME = (
    *(regimes.realised_volatility, regimes.volatility_regime, regimes.trend_strength),
    *(regimes.trend_regime, regimes.volume_regime, regimes.atr_regime, regimes.momentum_regime),
    *(regimes.volatility_trend, regimes.market_breadth, regimes.volatility_index_proxy),
)


FEATURE_SETS: Mapping[FeatureSet, tuple[FeatureSpec, ...]] = {
    "default": _TECHNICAL,
    "relative": (*_TECHNICAL, *relative.RELATIVE),
}


def technical_features(feature_set: FeatureSet = "default") -> tuple[FeatureSpec, ...]:
    """Return a set's features per bar, in the order of the technical window, and declared ones.

    The default are 23; `relative` has nine more behind them, of a symbol against the others.
    """
    return (*FEATURE_SETS[feature_set], *_declared("technical"))


def set_of(spec: FeatureSpec) -> FeatureSet:
    """Return the smallest set that a registered feature is in."""
    return "relative" if spec in relative.RELATIVE else "default"


def regime_features() -> tuple[FeatureSpec, ...]:
    """Return the 10 regime indicators per bar, in order, and declared ones."""
    return (*_REGIME, *_declared("regime"))


def _declared(family: str) -> tuple[FeatureSpec, ...]:
    """Return what plugins and programs declared of a family.

    Raises:
        ConfigError: If one has the name of a feature of the package.
    """
    own = (*FEATURE_SETS["relative"], *_REGIME)
    specs = extension_values("feature", (spec.name for spec in own))
    return tuple(spec for spec in specs.values() if spec.family == family)


def covariate_features(names: Iterable[str]) -> tuple[FeatureSpec, ...]:
    """Return one feature per covariate of a dataset, e.g. `signal` of a planted market.

    Raises:
        ConfigError: If a name is that of a registered feature, a bar field or the weekday.
    """
    taken = {*registered_features(), *BAR_FIELDS, *TIME_FIELDS}
    wanted = tuple(names)
    for name in wanted:
        if name in taken:
            rule = "a covariate must not carry the name of a feature or input"
            raise ConfigError(rule, was=name, remedy="Rename it in the dataset")
    return tuple(covariates.covariate(name) for name in wanted)


def registered_features() -> Mapping[str, FeatureSpec]:
    """Return every registered feature by name, whatever the set."""
    return {spec.name: spec for spec in (*technical_features("relative"), *regime_features())}


def find_feature(name: str) -> FeatureSpec:
    """Look up a registered feature by name or id.

    Raises:
        ConfigError: If there is none, with a suggestion.
    """
    known = registered_features()
    for spec in known.values():
        if name in (spec.name, spec.id):
            return spec
    raise ConfigError("a feature must be registered", was=name, remedy=suggest(name, known))


def feature_of_id(feature_id: str) -> FeatureSpec:
    """Return the feature of a column by its id (`rsi_14-v1`): registered, or of a covariate."""
    name = feature_id.rpartition("-v")[0]
    known = registered_features()
    return known[name] if name in known else covariate_features([name])[0]
