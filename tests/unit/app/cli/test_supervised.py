"""`tradingbot supervised`: train, list, show, backtest, and how mistakes are answered."""

from __future__ import annotations

from pathlib import Path

import pytest

TRAIN = (
    *("supervised", "train", "--preset", "quick", "--name", "trees", "--horizon", "3"),
    *("--blocks", "3", "--set", "max_rounds=5", "--set", "min_leaf_bars=20"),
    *("--data", "market.start=2025-03-03"),
)


def test_model_is_trained_listed_shown_and_backtested(call, workspace: Path) -> None:
    trained = call(*TRAIN, "--json")
    listed = call("supervised", "list", "--json")
    shown = call("supervised", "show", "trees", "--json")
    tested = call("supervised", "backtest", "trees", "--thresholds", "0.35,0.6", "--json")

    assert [a.code for a in (trained, listed, shown, tested)] == [0, 0, 0, 0]
    assert trained.document == shown.document
    assert [line["name"] for line in listed.document] == ["trees"]
    assert [line["threshold"] for line in tested.document["lines"]] == [0.35, 0.6, None]
    assert tested.document["synthetic"] is True
    words = [
        call("supervised", "list").out,
        call("supervised", "show", "trees").out,
        call("supervised", "backtest", "trees", "--part", "validation").out,
    ]
    usual = call("supervised", "backtest", "trees", "--part", "validation", "--json").document
    *levels, _ = usual["lines"]
    assert levels[0]["threshold"] == round(trained.document["base_rates"][2], 3)
    reached = [line["reached_frac"] for line in levels]
    assert reached == sorted(reached, reverse=True)
    assert reached[0] > 0.0
    assert levels[0]["performance"]["exposure_frac"] > 0.0  # it trades
    assert f"reached at {reached[0]:.0%}, " in " ".join(words[2].split())
    assert all("trees" in text and "synthetic" in text for text in words)
    assert "buy & hold" in words[2]
    again = call(*TRAIN)
    assert again.code == 2
    assert "free" in again.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("train", "--name", "x", "--model", "forest"), "model"),
        (("train", "--name", "x", "--set", "depth=3"), "setting"),
        (("train", "--name", "x", "--labels", "best"), "--labels must be horizon or barriers"),
        (("train", "--name", "../x", "--preset", "quick"), "name"),
        (("train", "--name", "x", "--dataset", "a", "--market", "b"), "either"),
        (("train", "--name", "x", "--dataset", "nowhere"), "nowhere"),
        (("show", "nobody"), "nobody"),
        (("backtest", "nobody"), "nobody"),
        (("backtest", "nobody", "--thresholds", "high"), "--thresholds"),
        (("backtest", "nobody", "--thresholds", "1.2"), "--thresholds"),
        (("backtest", "nobody", "--part", "train"), "--part"),
    ],
)
def test_mistake_is_one_line_and_exit_code_2(call, arguments: tuple[str, ...], word: str) -> None:
    answer = call("supervised", *arguments)

    assert answer.code == 2
    assert word in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_list_of_a_workspace_without_models_says_how_to_begin(call) -> None:
    answer = call("supervised", "list")

    assert answer.code == 0
    assert "supervised train" in answer.err
