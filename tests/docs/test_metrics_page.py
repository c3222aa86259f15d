"""docs/reference/metrics.md is written from the table of metrics.

Regenerate it with: .venv/bin/python tests/docs/test_metrics_page.py
"""

from __future__ import annotations

from pathlib import Path

from tradingbot.evaluation.metrics.registry import METRICS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"
BEGIN, END = "<!-- table: metrics -->", "<!-- end -->"
_BETTER = {True: "more", False: "less", None: "–"}


def render_table() -> str:
    """Write the table of all metrics."""
    lines = ["| metric | what | unit | better | NaN where |", "|---|---|---|---|---|"]
    lines += [
        f"| `{name}` | {metric.description} | {metric.unit} | {_BETTER[metric.higher_is_better]} "
        f"| {metric.undefined} |"
        for name, metric in METRICS.items()
    ]
    return "\n".join(lines)


def replaced(page: str) -> str:
    """Put the table into a page."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{render_table()}\n{END}{after}"


def test_page_of_metrics_has_the_table_that_the_code_has() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == replaced(page), "run: .venv/bin/python tests/docs/test_metrics_page.py"
    assert page.count("| `") == len(METRICS)


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
