from __future__ import annotations

import pytest

from tradingbot.runs.requirement import Requirement


@pytest.mark.parametrize(
    ("rules", "version", "allowed"),
    [
        (">=2.4", "2.4.6", True),
        (">=2.4", "2.10", True),
        (">=2.4", "2.3.9", False),
        ("==2.13.0", "2.13.0+cpu", True),
        ("==2.13.0", "2.13", True),
        ("==2.13.0", "2.13.1", False),
        ("<3.12,>=3.11", "3.12.0", False),
        ("<3.12,>=3.11", "3.11.7", True),
        ("~=1.4.2", "1.4.9", True),
        ("~=1.4.2", "1.4.2", True),
        ("~=1.4.2", "1.4.1", False),
        ("~=1.4.2", "1.5.0", False),
        ("!=1.0", "1.0.0", False),
        ("<=2", "2.0.1", False),
        ("<=2", "2.0", True),
        (">1", "1.0", False),
        ("", "0.1", True),
    ],
)
def test_requirement_allows_by_release_number(rules: str, version: str, allowed: bool) -> None:
    requirement = Requirement.parse(f"thing{rules}")

    assert requirement is not None
    assert requirement.allows(version) is allowed


def test_requirement_parse_reads_extras_and_markers() -> None:
    assert Requirement.parse('a[b,c] >=1 ; extra == "dev"') == Requirement(
        "a", ((">=", "1"),), "dev"
    )
    assert Requirement.parse("PyYAML") == Requirement("PyYAML")
    assert Requirement.parse("!!") is None
