"""The one-way cost is written once: in `market/costs.py`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUM = re.compile(r"commission_frac\s*\+\s*[\w.]*slippage_frac")


def written_out(root: Path) -> list[str]:
    """Name the files that add commission and slippage themselves."""
    return [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*.py"))
        if SUM.search(path.read_text(encoding="utf-8"))
    ]


def test_only_the_cost_rates_add_commission_and_slippage() -> None:
    assert written_out(ROOT / "src" / "tradingbot") == ["market/costs.py"]
    assert written_out(ROOT / "benchmarks") == []


def test_planted_sum_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("a = costs.commission_frac + costs.slippage_frac\n")

    assert written_out(tmp_path) == ["x.py"]
