"""Every classifier of the catalogue keeps the contract that folds, files and trading rest on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fixtures.supervised_tables import CONFIG, TRAIN, cut_table, market_table, quick_classifier
from tradingbot.data.sources.source import ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.supervised import CLASSIFIERS, FitRows, FittedClassifier, label_moves
from tradingbot.supervised.fitting import rows_to_learn

NAMES = tuple(CLASSIFIERS)


def fit(name: str, *, seed: int = 0) -> FittedClassifier:
    table = market_table()
    rows = rows_to_learn(TRAIN, CONFIG.folds, CONFIG.labels)
    return quick_classifier(name).fit(
        table, label_moves(table.closes, CONFIG.labels), rows, seed=seed, progress=ignore_progress
    )


@pytest.fixture(scope="module")
def fitted() -> dict[str, FittedClassifier]:
    return {name: fit(name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_a_distribution_and_differ_between_bars(
    fitted: dict[str, FittedClassifier], name: str
) -> None:
    table = market_table()

    chances = fitted[name].probabilities(table)

    assert chances.shape == (*table.valid.shape, 3)
    assert chances.dtype == np.float32
    valid = chances[table.valid]
    assert (valid >= 0.0).all()
    np.testing.assert_allclose(valid.sum(axis=1), 1.0, atol=1e-5)
    assert len(np.unique(valid[:, 2])) > 3


@pytest.mark.parametrize("name", NAMES)
def test_fit_with_same_seed_gives_the_same_bits(
    fitted: dict[str, FittedClassifier], name: str
) -> None:
    table = market_table()

    again = fit(name).probabilities(table)

    assert np.array_equal(again, fitted[name].probabilities(table))


@pytest.mark.parametrize("name", NAMES)
def test_bits_of_a_bar_do_not_depend_on_how_many_bars_follow(
    fitted: dict[str, FittedClassifier], name: str
) -> None:
    table = market_table()
    whole = fitted[name].probabilities(table)

    for n_bars in (256, 257, 401, 511, 513):
        part = fitted[name].probabilities(cut_table(table, n_bars))
        assert np.array_equal(part, whole[:, :n_bars]), n_bars


@pytest.mark.parametrize("name", NAMES)
def test_some_rows_are_the_same_as_those_of_all_rows(
    fitted: dict[str, FittedClassifier], name: str
) -> None:
    table = market_table()
    whole = fitted[name].probabilities(table)

    part = fitted[name].probabilities(table, IndexRange(250, 531))

    assert np.array_equal(part, whole[:, 250:531])


@pytest.mark.parametrize("name", NAMES)
def test_stream_says_what_the_whole_history_says(
    fitted: dict[str, FittedClassifier], name: str
) -> None:
    table = market_table()
    whole = fitted[name].probabilities(table)
    first = int(table.valid.all(axis=0).argmax())
    stream = fitted[name].stream(len(table.symbols))

    for bar in range(first, first + 40):
        chances = stream.push(table.values[:, bar])

    np.testing.assert_allclose(chances, whole[:, first + 39], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_file_gives_the_same_bits(
    fitted: dict[str, FittedClassifier], name: str, tmp_path: Path
) -> None:
    table, kind = market_table(), quick_classifier(name)
    path = tmp_path / f"model{kind.suffix}"

    fitted[name].write(path)
    read = kind.read(path, table.names)

    assert np.array_equal(read.probabilities(table), fitted[name].probabilities(table))


@pytest.mark.parametrize("name", NAMES)
def test_fit_reads_no_bar_outside_its_rows(name: str) -> None:
    table, labels = market_table(), label_moves(market_table().closes, CONFIG.labels)
    rows = rows_to_learn(TRAIN, CONFIG.folds, CONFIG.labels)
    other_labels, values = labels.copy(), table.values.copy()
    values[:, TRAIN.stop :] = 7.5
    other_labels[:, rows.stop.stop :] = 0
    other = type(table)(values, table.valid, table.closes, table.names, table.symbols)
    kind = quick_classifier(name)

    plain = kind.fit(table, labels, rows, seed=0, progress=ignore_progress).probabilities(table)
    changed = kind.fit(other, other_labels, rows, seed=0, progress=ignore_progress).probabilities(
        table
    )

    assert np.array_equal(plain, changed)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_learn_from_is_refused(name: str) -> None:
    table = market_table()
    labels = label_moves(table.closes, CONFIG.labels)
    before_features = FitRows(IndexRange(0, 50), IndexRange(50, 90))

    with pytest.raises(DataError):
        quick_classifier(name).fit(table, labels, before_features, seed=0, progress=ignore_progress)
