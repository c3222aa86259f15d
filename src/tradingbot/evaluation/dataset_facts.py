"""Stylised facts of stored datasets."""

from __future__ import annotations

from tradingbot.data.store import Dataset
from tradingbot.data.universes import known_universes, load_universe
from tradingbot.evaluation.stylised_facts import StylisedFacts, measure_facts
from tradingbot.features.pipeline import read_inputs


def measure_dataset(dataset: Dataset) -> StylisedFacts:
    """Measure a dataset; sectors come from the universes that name its symbols."""
    return measure_facts(read_inputs(dataset), sectors=known_sectors())


def known_sectors() -> dict[str, str]:
    """Symbol → sector, over every universe that comes with the package."""
    return {
        member.symbol: member.sector
        for name in known_universes()
        for member in load_universe(name).members
    }
