"""Folds that look back: blocks, gaps and what each model learns from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.supervised.fitting import FoldConfig, forward_folds, rows_to_learn
from tradingbot.supervised.labels import LabelConfig


def test_folds_cover_all_but_the_first_block_once() -> None:
    folds = forward_folds(IndexRange(100, 703), FoldConfig(6, 5), LabelConfig(horizon_bars=7))

    asked = [row for fold in folds for part in fold.tests for row in part.indices().tolist()]
    assert asked == list(range(200, 703))
    assert folds[0].train[0] == IndexRange(100, 188)


@given(
    st.integers(200, 3_000),
    st.integers(2, 8),
    st.integers(0, 20),
    st.integers(1, 10),
    st.floats(0.05, 0.9),
)
def test_no_label_of_a_fold_reaches_its_block_or_its_later_slice(
    length: int, blocks: int, embargo: int, horizon: int, share: float
) -> None:
    config, labels = FoldConfig(blocks, embargo, share), LabelConfig(horizon_bars=horizon)
    train = IndexRange(50, 50 + length)
    try:
        folds = forward_folds(train, config, labels)
    except ConfigError:
        assert length // blocks <= 2 * (horizon + embargo) + 2
        return
    for fold in folds:
        learn, block = fold.train[0], fold.tests[0]
        rows = rows_to_learn(learn, config, labels)
        assert rows.stop.stop - 1 + horizon < learn.stop <= block.start - embargo - horizon
        assert not len(rows.fit) or rows.fit.stop - 1 + horizon < rows.stop.start
        assert rows.fit.start == train.start
        assert len(rows.stop) >= 1


def test_blocks_shorter_than_the_gaps_are_refused() -> None:
    with pytest.raises(ConfigError, match="blocks"):
        forward_folds(IndexRange(0, 100), FoldConfig(10, 7), LabelConfig(horizon_bars=7))


@pytest.mark.parametrize(
    "values", [{"n_blocks": 1}, {"embargo_bars": -1}, {"stop_frac": 0.0}, {"stop_frac": 1.0}]
)
def test_impossible_folds_are_refused(values: dict) -> None:
    with pytest.raises(ConfigError):
        FoldConfig(**values)
