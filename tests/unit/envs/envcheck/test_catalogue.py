"""Conformance of checks: one per file, all registered, all explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.envs.envcheck import CHECKS, EnvCheck, checks

FILES = sorted(path.stem for path in Path(str(checks.__file__)).parent.glob("[a-z]*.py"))


def test_every_file_is_registered_once() -> None:
    assert sorted(check.id for check in CHECKS) == FILES


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_check_says_promise_scenario_and_remedy(check: EnvCheck) -> None:
    assert check.judge.__module__.endswith(f".checks.{check.id}")
    for text in (check.promise, check.scenario, check.remedy):
        assert len(text) > 20
        assert text[0].isupper() or text.startswith("reset(seed")
        assert text.endswith(".")
