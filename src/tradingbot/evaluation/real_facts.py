"""Stylised facts measured once on real hourly bars, so that a page can show them without the bars.

The bars themselves are not ours to ship. `real_facts.json` says which data and period it is; a
test measures it again wherever the bars are present.
"""

from __future__ import annotations

import json
from importlib.resources import files

from tradingbot.evaluation.stylised_facts import Fact, StylisedFacts


def load_real_facts() -> tuple[StylisedFacts, str]:
    """Return the facts and a label that says data and period."""
    text = (files("tradingbot.evaluation") / "real_facts.json").read_text("utf-8")
    content = json.loads(text)
    facts = StylisedFacts(**{name: Fact(**values) for name, values in content["facts"].items()})
    return facts, f"{content['data']}, {content['first']} … {content['last']}"
