"""Folds equal the published check values and keep their distance."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradingbot.data.folds import Fold, combinatorial_purged
from tradingbot.data.splits import Gap, IndexRange
from tradingbot.domain.errors import ConfigError, DataError, MissingExtraError

NO_GAP = Gap(0, 0, 0)


@pytest.mark.parametrize(
    ("blocks", "tested", "splits", "paths"),
    [(3, 2, 3, 2), (5, 2, 10, 4), (6, 2, 15, 5), (10, 2, 45, 9), (10, 8, 45, 36)],
)
def test_combinatorial_purged_counts_are_the_published_ones(blocks, tested, splits, paths):
    drawn = combinatorial_purged(500, blocks=blocks, test_blocks=tested, gap=NO_GAP)
    assert (len(drawn.folds), drawn.paths) == (splits, paths)


@pytest.mark.parametrize(
    ("gap", "trains"),
    [
        (Gap(1, 0), [[9, 10, 11], [5, 6], [0, 1, 2]]),
        (Gap(0, 1, 0), [[9, 10, 11], [5, 6, 7], [0, 1, 2, 3]]),
    ],
)
def test_combinatorial_purged_trains_are_the_published_ones(gap, trains):
    drawn = combinatorial_purged(12, blocks=3, test_blocks=2, gap=gap)
    assert [fold.train_indices().tolist() for fold in drawn.folds] == trains


def test_combinatorial_purged_each_path_covers_the_grid_once():
    drawn = combinatorial_purged(103, blocks=6, test_blocks=2, gap=Gap(2, 1))
    for path in range(drawn.paths):
        rows = np.concatenate(
            [
                fold.tests[column].indices()
                for fold, ids in zip(drawn.folds, drawn.path_ids, strict=True)
                for column in np.flatnonzero(ids == path)
            ]
        )
        assert sorted(rows.tolist()) == list(range(103))


@given(
    length=st.integers(12, 200), blocks=st.integers(3, 6), purge=st.integers(0, 4),
    embargo=st.integers(0, 4),
)  # fmt: skip
def test_combinatorial_purged_train_keeps_its_distance(length, blocks, purge, embargo):
    gap = Gap(purge, embargo, purge)
    try:
        drawn = combinatorial_purged(length, blocks=blocks, test_blocks=2, gap=gap)
    except (ConfigError, DataError):
        assert 2 * (purge + embargo) >= length // blocks  # too tight for a block
        return
    for fold in drawn.folds:
        train = fold.train_indices()
        test = np.concatenate([part.indices() for part in fold.tests])
        lead = train[:, None] - test[None, :]  # > 0: train after test
        assert not ((lead <= purge + embargo) & (lead >= -purge)).any()
        lost = set(range(length)) - set(train.tolist()) - set(test.tolist())
        near = {i + k for i in test.tolist() for k in range(-purge, purge + embargo + 1)}
        assert lost <= near, "a row was dropped that is near no test"


@pytest.mark.parametrize(
    ("blocks", "tested", "purge"), [(2, 2, 1), (5, 1, 1), (5, 5, 1), (5, 2, 20), (5, 6, 1)]
)
def test_combinatorial_purged_numbers_that_do_not_fit_are_refused(blocks, tested, purge):
    with pytest.raises(ConfigError, match="blocks must be 3 or more"):
        combinatorial_purged(100, blocks=blocks, test_blocks=tested, gap=Gap(purge, 0))


@pytest.mark.parametrize("train", [(7, 9), (12, 14), (13, 16), (9, 13)])
def test_fold_with_train_near_a_test_cannot_be_built(train):
    with pytest.raises(DataError, match="purge and embargo"):
        Fold(30, (IndexRange(*train),), (IndexRange(10, 12),), Gap(2, 1))


def test_fold_without_rows_cannot_be_built():
    with pytest.raises(DataError, match="train and test rows"):
        Fold(30, (), (IndexRange(10, 12),), Gap(2, 1))


def test_folds_without_skfolio_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skfolio", None)
    with pytest.raises(MissingExtraError, match="make install EXTRA=folds"):
        combinatorial_purged(100)
