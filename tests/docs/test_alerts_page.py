"""docs/how_to/alerts.md names every rule of the package with its metric, limit and severity."""

from __future__ import annotations

import re
from pathlib import Path

from tradingbot.monitoring.alerts.settings import load_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "alerts.md"
_ROW = re.compile(
    r"^\| `(?P<rule>\w+)` \| (?P<when>`\w+` (?:above|below)[^|]*) \| (?P<severity>\w+) \|"
)


def test_page_has_every_rule_with_its_limit_and_severity(tmp_path: Path) -> None:
    wanted = {}
    for name, rule in load_settings(workspace=tmp_path).rules.items():
        limit = f"above {rule.max:g}" if rule.min is None else f"below {rule.min:g}"
        lasts = f" for {rule.for_s:g} s" if rule.for_s else ""
        wanted[name] = (f"`{rule.metric}` {limit}{lasts}", rule.severity.value)

    found = {
        row["rule"]: (row["when"], row["severity"])
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if (row := _ROW.match(line))
    }

    assert found == wanted
