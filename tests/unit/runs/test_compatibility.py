"""What differs is named by its path, refused, and recorded where it is forced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fixtures.small_runs import content, make_plan, make_run
from tradingbot.domain.errors import ConfigError
from tradingbot.runs import config_differences, require_fit, save_checkpoint, source_sha256
from tradingbot.runs.compatibility import require_resumable


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": {"c": 1.5}}}, {"a": {"b": {"c": 2.5}}}, ["a.b.c: 1.5 → 2.5"]),
        ({"a": 1}, {}, ["a: 1 → (absent)"]),
        ({"a": [1, 2]}, {"a": (1, 2)}, []),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a: [1, 2] → [2, 1]"]),
        ({"a": True}, {"a": 1}, ["a: True → 1"]),
        ({"a": {"b": 1}}, {"a": None}, ["a: {'b': 1} → None"]),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, ["a: 1 → 2", "b: 1 → 2"]),
        ({"a": "x" * 100}, {"a": ""}, [f"a: {'x' * 60}… → "]),
    ],
)
def test_differences_are_named_by_dotted_path(
    old: dict[str, Any], new: dict[str, Any], expected: list[str]
) -> None:
    assert config_differences(old, new) == expected


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"config": {"ppo": {"epochs": 5}, "symbols": ["AAA", "BBB"]}}, "ppo.epochs: 4 → 5"),
        ({"seed": 8}, "seed: 7 → 8"),
        ({"code_sha256": "e" * 64}, "code: cccccccccccc → eeeeeeeeeeee"),
        ({"data": {"data_sha256": "e" * 64}}, "data: dddddddddddd → eeeeeeeeeeee"),
        ({"data": {"certificate_sha256": "e" * 64}}, "certificate: none → eeeeeeeeeeee"),
        ({"data": {"normaliser_sha256": "e" * 64}}, "normaliser: none → eeeeeeeeeeee"),
    ],
)
def test_resume_with_something_else_is_refused_unless_forced(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    record, plan = make_run(tmp_path).record, make_plan(**changes)

    with pytest.raises(ConfigError, match="--force, which is recorded") as refusal:
        require_resumable(record, plan)

    assert named in str(refusal.value)
    assert any(named in text for text in require_resumable(record, plan, force=True))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"data": {"feature_ids": ("atr:2", "rsi:1")}}, "feature 1: rsi:1 → atr:2"),
        ({"data": {"feature_ids": ("rsi:1", "atr:3")}}, "feature 2: atr:2 → atr:3"),
        ({"data": {"feature_ids": ("rsi:1",)}}, "2 features → 1"),
        ({"data": {"agents": ("AAA", "BBB", "CCC")}}, "2 agents → 3"),
        ({"learner": "sac"}, "learner: ppo → sac"),
    ],
)
def test_weights_that_cannot_fit_are_refused_even_when_forced(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    record, plan = make_run(tmp_path).record, make_plan(**changes)

    with pytest.raises(ConfigError, match="weights do not fit") as refusal:
        require_resumable(record, plan, force=True)

    assert named in str(refusal.value)


def test_same_plan_or_one_without_a_seed_goes_on(tmp_path: Path) -> None:
    record = make_run(tmp_path).record

    assert require_resumable(record, make_plan()) == ()
    assert require_resumable(record, make_plan(seed=None), force=True) == ()


def test_several_differences_are_counted_in_one_line(tmp_path: Path) -> None:
    record = make_run(tmp_path).record

    with pytest.raises(ConfigError, match=r"ppo\.epochs: 4 → 5 and 2 more") as refusal:
        require_resumable(record, make_plan({"ppo": {"epochs": 5}}, seed=9))

    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"feature_ids": ("atr:2", "rsi:1")}, "feature 1: rsi:1 → atr:2"),
        ({"feature_ids": ("rsi:1", "atr:1")}, "feature 2: atr:2 → atr:1"),
        ({"feature_ids": ("rsi:1", "atr:2", "adx:1")}, "2 features → 3"),
        ({"agents": ("BBB", "AAA")}, "agent 1: AAA → BBB"),
        ({"normaliser_sha256": "a" * 64}, "normaliser: none → aaaaaaaaaaaa"),
    ],
)
def test_weights_are_refused_for_inputs_they_were_not_trained_on(
    tmp_path: Path, given: dict[str, Any], named: str
) -> None:
    manifest = save_checkpoint(make_run(tmp_path), "last", 1, content())
    now = {"feature_ids": ("rsi:1", "atr:2"), "agents": ("AAA", "BBB")}
    require_fit(manifest, **now)

    with pytest.raises(ConfigError, match="inputs they were trained on") as refusal:
        require_fit(manifest, **{**now, **given})

    assert named in str(refusal.value)
    is_of_symbols = "(AAA, BBB)" in (refusal.value.remedy or "")
    assert is_of_symbols == ("agents" in given)
    assert ("Build the panel" in (refusal.value.remedy or "")) == ("agents" not in given)


def test_source_hash_follows_what_can_move_a_result_only(tmp_path: Path) -> None:
    for path in ("learning/ppo/loss.py", "app/cli.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    before = source_sha256(tmp_path)

    (tmp_path / "app/cli.py").write_text("x = 2\n")
    assert source_sha256(tmp_path) == before
    (tmp_path / "learning/ppo/loss.py").write_text("x = 2\n")
    assert source_sha256(tmp_path) != before
