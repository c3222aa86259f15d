"""Stylised facts of stored datasets, and those measured once on real hourly bars.

The real bars themselves are not ours to ship, so that a page can show their facts without them.
`real_facts.json` says which data and period it is; a test measures it again wherever the bars are
present.
"""

from __future__ import annotations

import json
from importlib.resources import files

from tradingbot.data.store import Dataset
from tradingbot.data.universes import known_universes, load_universe
from tradingbot.evaluation.stylised_facts import Fact, StylisedFacts, measure_facts
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


def load_real_facts() -> tuple[StylisedFacts, str]:
    """Return the facts and a label that says data and period."""
    text = (files("tradingbot.evaluation") / "real_facts.json").read_text("utf-8")
    content = json.loads(text)
    facts = StylisedFacts(**{name: Fact(**values) for name, values in content["facts"].items()})
    return facts, f"{content['data']}, {content['first']} … {content['last']}"
