"""The page of the flight recorder has every measure, rule and limit that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from tradingbot.learning.guards import GuardConfig
from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.history import MEASURES

DOCS = Path(__file__).resolve().parents[4] / "docs"
PAGE = (DOCS / "concepts" / "flight_recorder.md").read_text(encoding="utf-8")
GUIDE = (DOCS / "how_to" / "debug_training.md").read_text(encoding="utf-8")


def test_page_lists_every_measure_with_its_unit_and_no_other() -> None:
    table = PAGE.split("## Measures")[1].split("## Rules")[0]
    rows = re.findall(r"^\| `([\w/]+)` \| ([^|]+) \| ([^|]+) \|", table, re.MULTILINE)

    assert [(name, unit) for name, unit, _ in rows] == [(m.name, m.unit) for m in MEASURES]
    for (_, _, meaning), measure in zip(rows, MEASURES, strict=True):
        assert meaning.startswith(measure.meaning.split(",")[0]), measure.name


def test_page_lists_every_rule_in_order_with_its_cure() -> None:
    table = PAGE.split("## Rules")[1].split("### Excuses")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\w+) \| [^|]+ \|$", table, re.MULTILINE)

    assert rows == [(rule.code, rule.cure) for rule in RULES]


def test_page_states_the_default_limits() -> None:
    config, table = GuardConfig(), PAGE.split("## Rules")[1].split("### Excuses")[0]
    for said in (
        f"`patience` = {config.patience}",
        f"{config.warm_up_steps:,} steps per agent and {config.warm_up_updates} updates",
        f"> {config.one_action:.0%}".replace("%", " %"),
        f"normalised entropy < {config.low_entropy:.2f}",
        f"< {config.low_entropy_critical:.2f}",
        f"≥ {config.idle:.0%}".replace("%", " %"),
        f"trades in < {config.trades:.0%}".replace("%", " %"),
        f"more than {config.repeats} times",
        f"above {config.reward_growth:g} ×",
        f"above {config.gradient_growth:g} ×",
        f"above {config.gradient_growth**2:g} ×",
        f"for {config.critic_patience} updates",
    ):
        assert said in table, said


def test_guide_answers_every_rule() -> None:
    assert [rule.code for rule in RULES if f"`{rule.code}`" not in GUIDE] == []
