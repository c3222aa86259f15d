"""Every setting of an evaluation is read by the analysis that it is for, and makes another request.

An evaluation takes seconds to minutes: what each setting changes is measured in the tests of its
analysis. Here the class of defect is kept out that a setting is accepted, checked and then read by
nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from docs.test_settings_page import evaluation_settings
from tradingbot.evaluation.pipeline.config import EvaluateConfig, load_evaluate_config

SOURCE = Path(__file__).resolve().parents[3] / "src" / "tradingbot" / "evaluation"
KEYS = [setting.key for setting in evaluation_settings()]


def _reads(tree: ast.AST) -> Iterator[str]:
    """Yield attributes that are read outside the checks of the record that has them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__post_init__":
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        yield from _reads(node)


@pytest.fixture(scope="module")
def read() -> set[str]:
    return {name for path in SOURCE.rglob("*.py") for name in _reads(ast.parse(path.read_text()))}


@pytest.mark.parametrize("key", KEYS)
def test_setting_is_read_by_what_measures(key: str, read: set[str]) -> None:
    assert key.rpartition(".")[2] in read


@pytest.mark.parametrize("key", KEYS)
def test_setting_can_be_set_and_makes_another_configuration(key: str) -> None:
    base = load_evaluate_config("full")
    changed = load_evaluate_config("full", {key: _other(key, base)})

    assert changed != base


def _other(key: str, config: EvaluateConfig) -> Any:
    now: Any = config
    for word in key.split("."):
        assert is_dataclass(now)
        assert word in {field.name for field in fields(now)}
        now = getattr(now, word)
    if key == "analyses":
        return ["regimes"]
    if isinstance(now, tuple):
        return [*now[:-1]] if len(now) > 1 else ["budget.n_envs=2"]
    if isinstance(now, int):
        return now - 2 if key == "statistics.overfitting_blocks" else now + 2
    return 0.5 * now
