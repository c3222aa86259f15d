"""docs/environments/envcheck.md says what the checks say and shows the score card they give.

Regenerate its two generated parts with: .venv/bin/python tests/unit/envs/envcheck/test_docs_page.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tradingbot.envs.envcheck import CHECKS, CheckVerdict, Scorecard, run_checks
from tradingbot.envs.envcheck.bars import dictate, flat
from tradingbot.envs.envcheck.ours import our_probes
from tradingbot.envs.envcheck.peers import PEERS
from tradingbot.envs.envcheck.reference import ReferenceEnv, reference_probe

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "environments" / "envcheck.md"
REGENERATE = ".venv/bin/python tests/unit/envs/envcheck/test_docs_page.py"
_SIGNS = {CheckVerdict.PASS: "pass", CheckVerdict.FAIL: "**FAIL**", CheckVerdict.UNTESTABLE: "–"}


def render_checks() -> str:
    """Write one section per check."""
    sections = [
        f"### `{check.id}`\n\n{check.promise}\n\n"
        f"*Known answer.* {check.scenario}\n\n*Where it fails.* {check.remedy}\n"
        for check in CHECKS
    ]
    return "\n".join(sections)


def markdown_table(cards: Sequence[Scorecard]) -> str:
    """Write checks × environments as Markdown, and the number behind every FAIL below it."""
    lines = [
        "| check | " + " | ".join(card.title for card in cards) + " |",
        "|---" * (len(cards) + 1) + "|",
    ]
    for finding in cards[0].findings:
        signs = [_SIGNS[card.verdict_of(finding.check)] for card in cards]
        lines.append(f"| `{finding.check}` | " + " | ".join(signs) + " |")
    totals = [f"{c.count(CheckVerdict.PASS)} / {len(c.failed)}" for c in cards]
    lines += ["| **passed / failed** | " + " | ".join(totals) + " |", ""]
    for card in cards:
        lines += [f"* {card.title}, `{f.check}`: {f.says}." for f in card.failed]
    return "\n".join(lines)


def part(name: str) -> re.Pattern[str]:
    """The text between the markers of a generated part."""
    return re.compile(
        rf"(?<=<!-- {name}: generated -->\n)(.*?)(?=\n<!-- end of {name} -->)", re.DOTALL
    )


def found(name: str) -> str:
    match = part(name).search(PAGE.read_text(encoding="utf-8"))
    assert match is not None, name
    return match.group(1).strip()


def test_page_explains_every_check_in_its_own_words() -> None:
    assert found("checks") == render_checks().strip(), f"run {REGENERATE}"


def test_table_of_several_environments_has_a_column_each() -> None:
    unknown = run_checks(lambda: ReferenceEnv(dictate(flat(), lead_bars=1)))

    table = markdown_table([run_checks(reference_probe()), unknown])

    assert "| `fees_charged` | pass | – |" in table
    assert "| **passed / failed** | 16 / 0 | 6 / 0 |" in table


def main() -> None:
    """Write both parts anew."""
    cards = [run_checks(probe) for probe in (*our_probes(), *(make() for make in PEERS.values()))]
    page = PAGE.read_text(encoding="utf-8")
    for name, text in (("checks", render_checks()), ("scores", markdown_table(cards))):
        page = part(name).sub(lambda _, text=text: "\n" + text.strip() + "\n", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
