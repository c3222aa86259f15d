"""Stylised facts of stored datasets, with the sectors our universes know."""

from __future__ import annotations

from tradingbot.data.store import BarStore
from tradingbot.data.universes import known_universes, load_universe
from tradingbot.evaluation.dataset_facts import known_sectors, measure_dataset
from tradingbot.evaluation.stylised_facts import measure_facts
from tradingbot.features.pipeline import read_inputs


def test_known_sectors_cover_every_member_of_every_universe() -> None:
    sectors = known_sectors()

    symbols = {symbol for name in known_universes() for symbol in load_universe(name).symbols}
    assert set(sectors) == symbols
    assert sectors["AAPL"] == sectors["MSFT"] != sectors["XOM"]


def test_measure_dataset_uses_those_sectors(synthetic_store: BarStore) -> None:
    dataset = synthetic_store.open("regimes")

    measured = measure_dataset(dataset)

    inputs = read_inputs(dataset)
    assert repr(measured) == repr(measure_facts(inputs, sectors=known_sectors()))
    assert repr(measured) != repr(measure_facts(inputs, sectors={}))
    assert 0.05 < measured.annual_volatility.median < 1.0
