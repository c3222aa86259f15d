"""Every registered quality check is unique, documented and triggered by a planted defect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixtures.defects import DEFECTS
from tradingbot.data.quality.check import QualityCheck
from tradingbot.data.quality.registry import ALL_CHECKS, CHECKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "quality_checks.md"
ROW = re.compile(r"^\| `(?P<code>[A-Z_0-9]+)` \| (?P<rest>.*) \|$", re.MULTILINE)


def as_row(check: QualityCheck) -> str:
    fatal = " (exit 2)" if check.is_fatal else ""
    cells = (check.case or "–", check.severity.value + fatal, check.action.value, check.message)
    return " | ".join(cells)


def test_codes_are_unique() -> None:
    codes = [check.code for check in ALL_CHECKS]

    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.code)
def test_check_is_well_formed(check: QualityCheck) -> None:
    assert re.fullmatch(r"[A-Z][A-Z0-9_]+", check.code)
    assert re.fullmatch(r"(D\d\d)?", check.case)
    assert check.message
    assert "\n" not in check.message


def test_page_documents_exactly_the_registry() -> None:
    page = PAGE.read_text(encoding="utf-8")

    documented = {match["code"]: match["rest"] for match in ROW.finditer(page)}

    assert documented == {code: as_row(check) for code, check in CHECKS.items()}


def test_every_code_has_a_planted_defect() -> None:
    planted = {defect.code for defect in DEFECTS.values()}

    assert planted == set(CHECKS)


def test_at_least_thirty_kinds_are_planted() -> None:
    assert len(DEFECTS) >= 30
