"""Numbers that must not move by accident.

A change that moves one of these is result-affecting: raise the version it concerns, say so in the
changelog, and pin the new value on purpose. The tolerance allows for other processors' libraries.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tradingbot.data.synthetic.bar_frames import to_frames
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.synthetic.registry import generate, known_markets
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import build_inputs
from tradingbot.features.registry import regime_features, technical_features

# Market → sum of last closes, sum of volumes, sum of ranges.
MARKETS = {
    "cost_trap": (112.89259506878736, 277852484.0, 1155.2526418649418),
    "hidden_reversion": (454.4153659814938, 611366464.0, 4656.849108749687),
    "hidden_trend": (680.2052869365839, 410303943.0, 5480.794617032181),
    "noise": (629.1096232660634, 2165052847.0, 5373.422483295249),
    "opposed": (476.97131003551976, 486271028.0, 4505.251378794541),
    "planted": (363.4437690665037, 2021956717.0, 3908.200430055261),
    "planted_regimes": (889.19183059292, 968677485.0, 4828.136198021836),
    "regimes": (904.4233556314973, 968677485.0, 4694.337670975001),
}
# Feature in network form on the pinned `regimes` market → mean, standard deviation.
FEATURES = {
    "open": (-3.175951374060855e-06, 0.004071967440921189),
    "high": (0.002722597026539503, 0.0032256243300618644),
    "low": (-0.0027445328319396253, 0.0032903056169656607),
    "close": (-0.0014622952855541658, 0.02876780537751111),
    "volume": (-0.029212962209710914, 0.2533159842108676),
    "vwap": (2.3193724710024403e-06, 0.002136068150100741),
    "sma_10": (0.0003231360654001546, 0.010372462079577252),
    "sma_20": (0.0007757229946250354, 0.014854135214930134),
    "macd_line": (-0.0005696198699804975, 0.006605071010283374),
    "macd_signal": (-0.0005275915160191378, 0.006218075933043132),
    "macd_histogram": (-4.202835396135976e-05, 0.0020900861391817374),
    "rsi_14": (0.016031660880396988, 0.2982972656270375),
    "stochastic_k": (0.0585128719583773, 0.5891613880823879),
    "stochastic_d": (0.05946809451623987, 0.5745083844830122),
    "adx_14": (0.30642172102894516, 0.11318034971884355),
    "atr_14": (0.006005264127418253, 0.0022328200902915814),
    "bollinger_bandwidth": (0.03539580355639006, 0.02590272479007067),
    "obv": (0.0387750960428203, 0.26504183373698936),
    "volume_sma_20": (-0.007381733881816397, 0.277943731218841),
    "return_1": (-4.936087055523058e-05, 0.006032808458816228),
    "sentiment": (0.022845013361069606, 0.4135845539984225),
    "weekday_sin": (0.3639895168373542, 0.5145255829656827),
    "weekday_cos": (-0.10727178035164646, 0.7689394132482232),
    "realised_volatility": (0.3168052758371631, 0.10885115293902171),
    "volatility_regime": (0.5300801646338048, 0.3009604110165797),
    "trend_strength": (0.2745708557388303, 0.18651585116003333),
    "trend_regime": (0.012697587617604353, 0.7716942864529612),
    "volume_regime": (0.5076767286541287, 0.32101914057670605),
    "atr_regime": (0.4977061887869094, 0.3167111500888921),
    "momentum_regime": (0.044627146613544104, 0.6134170142603452),
    "volatility_trend": (0.00448802405110559, 0.2719587449334473),
    "market_breadth": (0.5374950922654103, 0.32908713929809175),
    "volatility_index_proxy": (0.54468905615652, 0.2943831667507245),
}


def small(name: str) -> SyntheticMarket:
    return generate(
        name,
        symbols=["SPY", "AAPL", "XOM"],
        start=date(2024, 1, 2),
        end=date(2024, 6, 28),
        seed=7,
    )


def test_every_market_is_pinned() -> None:
    assert {spec.name for spec in known_markets()} == set(MARKETS)


@pytest.mark.parametrize("name", MARKETS)
def test_generated_market_is_the_pinned_one(name: str) -> None:
    market = small(name)

    measured = market.closes[-1].sum(), market.volumes.sum(), (market.highs - market.lows).sum()
    np.testing.assert_allclose(measured, MARKETS[name], rtol=1e-9)


def test_features_are_the_pinned_ones() -> None:
    inputs = build_inputs(*to_frames(small("regimes")))

    features = compute_features(inputs, (*technical_features(), *regime_features()))

    assert list(features) == list(FEATURES)
    for name, values in features.items():
        measured = np.nanmean(values), np.nanstd(values)
        np.testing.assert_allclose(measured, FEATURES[name], rtol=1e-8, atol=1e-12, err_msg=name)
