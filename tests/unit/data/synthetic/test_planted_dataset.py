"""A dataset with a planted signal: labelled, told where it comes from, and the rest as it was."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tradingbot.app.cli.application import run
from tradingbot.data.store import BarStore
from tradingbot.data.synthetic.planted_dataset import PLANTED_SIGNAL, plant_dataset
from tradingbot.domain.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def store(synthetic_store, tmp_path_factory) -> BarStore:
    """A store with observed bars: those of the market `regimes` under another provenance."""
    made = synthetic_store.open("regimes")
    own = made.manifest.provenance.model_copy(update={"synthetic": False, "provider": "csv"})
    store = BarStore(tmp_path_factory.mktemp("planted"))
    store.save(made.load_bars(), own, name="mine")
    return store


def test_command_stores_a_labelled_dataset_that_says_what_was_planted(store, capsys):
    words = ["--workspace", str(store.root), "data", "plant", "mine", "--name", "spiked"]

    assert run([*words, "--kappa", "0.5", "--seed", "3"]) == 0

    assert "(synthetic)" in capsys.readouterr().out
    plain, spiked = store.open("mine"), store.open("spiked")
    assert not plain.manifest.provenance.synthetic
    assert spiked.manifest.provenance.synthetic
    assert spiked.manifest.covariates == (PLANTED_SIGNAL,)
    detail = spiked.manifest.provenance.detail
    assert detail["planted_in"] == plain.manifest.content_sha256
    assert [detail[f"planted_{name}"] for name in ("kappa", "phi", "seed")] == [0.5, 0.9, 3]


def test_the_signal_foretells_the_next_bar_and_volume_stays(store):
    plain = store.open("mine")
    spiked = plant_dataset(plain, store, name="strong", kappa=0.5, phi=0.9, seed=3)

    before, after = plain.load_bars(), spiked.load_bars()
    for kept in ("symbol", "closed_at", "known_at", "volume"):
        assert before[kept].equals(after[kept])
    signal = spiked.load_covariates()
    assert signal["available_at"].equals(after["known_at"])
    table = after.with_columns(signal["value"].alias("x"))
    ahead = (pl.col("close") / pl.col("open") - 1.0).shift(-1).over("symbol").alias("ahead")
    pairs = table.with_columns(ahead).drop_nulls("ahead").select("x", "ahead").to_numpy()
    assert np.corrcoef(pairs.T)[0, 1] > 0.3


def test_no_strength_leaves_every_bar_and_adds_the_signal(store):
    plain = store.open("mine")
    spiked = plant_dataset(plain, store, name="nothing", kappa=0.0, phi=0.9, seed=3)

    assert spiked.load_bars().equals(plain.load_bars())
    assert spiked.manifest.rows == spiked.load_covariates().height


def test_a_second_signal_and_a_strength_out_of_range_are_refused(store):
    plain = store.open("mine")
    spiked = plant_dataset(plain, store, name="once", kappa=0.1, phi=0.9, seed=3)

    with pytest.raises(DataError, match="planted once"):
        plant_dataset(spiked, store, name="twice", kappa=0.1, phi=0.9, seed=3)
    with pytest.raises(ConfigError, match="phi in"):
        plant_dataset(plain, store, name="far", kappa=0.1, phi=1.0, seed=3)
