from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.synthetic import SyntheticSource, regenerate
from tradingbot.data.store import BarStore
from tradingbot.data.synthetic.registry import known_markets
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.universe import Member, Universe

UNIVERSE = Universe("three", (Member("ZZ", sector="tech"), Member("AA"), Member("MM", "etf", "x")))


def source(market: str = "regimes", **params: object) -> SyntheticSource:
    return SyntheticSource(
        UNIVERSE, date(2024, 1, 2), date(2024, 2, 15), market=market, seed=11, params=params
    )


@pytest.mark.parametrize("market", [spec.name for spec in known_markets()])
def test_regenerate_stored_dataset_rebuilds_bars_and_latent_bit_for_bit(market, tmp_path):
    made = source(market)
    raw = made.fetch()
    stored = BarStore(tmp_path).save(raw.bars, raw.provenance, covariates=raw.covariates)
    before = made.generate()
    after = regenerate(stored.manifest.provenance)
    assert after.symbols == before.symbols == ("ZZ", "AA", "MM")
    assert np.array_equal(after.closes, before.closes)
    assert after.latent.keys() == before.latent.keys()
    for name, values in before.latent.items():
        assert np.array_equal(after.latent[name], values), name


def test_fetch_says_that_bars_are_synthetic_and_how_they_were_made():
    provenance = source(idio_volatility=0.5).fetch().provenance
    assert provenance.synthetic
    assert provenance.provider == "synthetic"
    assert provenance.detail["market"] == "regimes"
    assert provenance.detail["universe"] == "three"
    assert provenance.detail["param.idio_volatility"] == 0.5
    assert provenance.detail["param.leverage"] == -0.45


def test_fetch_reports_progress_to_the_end():
    calls = []
    source().fetch(lambda done, total, label: calls.append((done, total)))
    assert calls == [(0, 2), (1, 2), (2, 2)]


def test_source_parameter_named_like_an_argument_is_refused():
    with pytest.raises(ConfigError, match="was 'seed'"):
        source(seed=3).fetch()


@pytest.mark.parametrize(
    ("provider", "detail", "message"),
    [
        ("parquet", {}, "provider parquet"),
        ("synthetic", {"generator": 0}, "generator 0"),
        ("synthetic", {"generator": 1, "market": "regimes"}, "must be whole"),
        ("synthetic", {"generator": 1, "symbols": "[", "sectors": "[]"}, "must be whole"),
    ],
)
def test_regenerate_other_provenance_is_refused(provider, detail, message):
    with pytest.raises(DataError, match=message):
        regenerate(Provenance(provider=provider, detail=detail))
