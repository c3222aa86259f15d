"""Conformance of checks: every one in the folder is registered once, all are explained."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from tradingbot.envs.envcheck import CHECKS, EnvCheck, checks

MODULES = [
    importlib.import_module(f"{checks.__name__}.{module.name}")
    for module in pkgutil.iter_modules(checks.__path__)
]


def test_every_check_of_the_folder_is_registered_once() -> None:
    found = {
        name: each
        for module in MODULES
        for name, each in vars(module).items()
        if isinstance(each, EnvCheck)
    }

    assert len(MODULES) == 5
    assert {check.id: check for check in CHECKS} == found
    assert len(CHECKS) == len(found) == 16


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_check_says_promise_scenario_and_remedy(check: EnvCheck) -> None:
    assert check.judge.__module__.startswith(f"{checks.__name__}.")
    assert check.judge.__name__ == check.id
    for text in (check.promise, check.scenario, check.remedy):
        assert len(text) > 20
        assert text[0].isupper() or text.startswith("reset(seed")
        assert text.endswith(".")
