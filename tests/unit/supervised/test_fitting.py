"""Fitting in stages: who speaks for which bar, and what that says on known markets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures.supervised_tables import CONFIG, TRAIN, cut_table, market_table, quick_classifier
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.supervised import (
    UNKNOWN,
    FitConfig,
    FoldConfig,
    LabelConfig,
    Scores,
    build_classifier,
    fit_model,
    label_moves,
)
from tradingbot.supervised.scores import score


def test_stages_speak_from_each_block_on_and_saw_nothing_of_it() -> None:
    fitted = fit_model(quick_classifier("lightgbm"), market_table(), TRAIN, CONFIG)

    stages = fitted.model.stages
    assert [stage.from_bar for stage in stages] == [300, 400, 500]
    assert [stage.seen_until for stage in stages] == [294, 394, 500]
    chances = fitted.model.probabilities(market_table())
    assert np.array_equal(chances[:, :300], np.full_like(chances[:, :300], 1 / 3))
    assert np.ptp(chances[:, 300:400, 2]) > 0.0


def test_stages_of_a_shorter_table_are_those_of_the_longer_one() -> None:
    kind = quick_classifier("lightgbm")
    whole = fit_model(kind, market_table(), TRAIN, CONFIG).model.probabilities(market_table())

    short = cut_table(market_table(), 450)
    fitted = fit_model(kind, short, TRAIN, CONFIG)

    assert len(fitted.model.stages) == 2
    assert np.array_equal(fitted.model.probabilities(short), whole[:, :450])


def test_bars_that_are_not_valid_get_thirds() -> None:
    table = market_table()
    valid = table.valid.copy()
    valid[1, 410:430] = False
    holed = replace(table, valid=valid)

    chances = fit_model(quick_classifier("mlp"), table, TRAIN, CONFIG).model.probabilities(holed)

    assert (chances[1, 410:430] == np.float32(1 / 3)).all()
    assert (chances[0, 410:430] != np.float32(1 / 3)).any()


def test_table_of_other_features_is_refused() -> None:
    table = market_table()
    model = fit_model(quick_classifier("lightgbm"), table, TRAIN, CONFIG).model

    with pytest.raises(DataError, match="features"):
        model.probabilities(replace(table, names=(*table.names[:-1], "other")))


def test_training_part_before_any_feature_is_refused() -> None:
    with pytest.raises(DataError, match="labelled"):
        fit_model(quick_classifier("lightgbm"), market_table(), IndexRange(0, 150), CONFIG)


def test_training_part_too_short_for_its_blocks_is_refused() -> None:
    with pytest.raises(ConfigError, match="blocks"):
        fit_model(quick_classifier("lightgbm"), market_table(), IndexRange(200, 230), CONFIG)


def test_unknown_model_or_setting_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="lightgbm"):
        build_classifier("lightgmb")
    with pytest.raises(ConfigError, match="width"):
        build_classifier("mlp", {"widht": 3})
    with pytest.raises(ConfigError, match="width"):
        build_classifier("gru", {"width": 0})
    with pytest.raises(ConfigError, match="n_leaves"):
        build_classifier("lightgbm", {"n_leaves": 1})


def later_scores(market: str, model: str) -> tuple[Scores, Scores]:
    """Scores out of fold and on the bars after the training part."""
    table = market_table(market, n_symbols=16, n_bars=2_600, seed=5)
    # Over 24 bars σ is so rough that a low one alone foretells a "move", in noise as well.
    labels_of = LabelConfig(horizon_bars=4, volatility_bars=168)
    config = FitConfig(labels_of, FoldConfig(n_blocks=3))
    fitted = fit_model(build_classifier(model), table, IndexRange(0, 1_800), config)
    labels = np.where(table.valid, label_moves(table.closes, config.labels), UNKNOWN)
    later = labels[:, 1_810:].astype(np.int8)
    assert fitted.out_of_fold is not None
    chances = fitted.model.probabilities(table)[:, 1_810:]
    return fitted.out_of_fold, score(chances, later, fitted.rates)


@pytest.mark.parametrize(
    "model",
    [
        "lightgbm",
        pytest.param("mlp", marks=pytest.mark.slow),
        pytest.param("lstm", marks=pytest.mark.slow),
        pytest.param("gru", marks=pytest.mark.slow),
    ],
)
def test_planted_signal_is_found_out_of_sample_and_calibrated(model: str) -> None:
    _, later = later_scores("planted", model)

    assert later.gain_nats > 0.003
    assert later.direction_gain_nats > 0.003
    assert later.brier < later.base_brier
    assert later.accuracy > later.base_accuracy + 0.01
    assert later.ece < 0.03


@pytest.mark.parametrize("model", ["lightgbm", pytest.param("mlp", marks=pytest.mark.slow)])
def test_nothing_is_found_in_noise(model: str) -> None:
    out_of_fold, later = later_scores("noise", model)

    assert out_of_fold.direction_gain_nats < 0.001
    assert later.direction_gain_nats < 0.001
    assert out_of_fold.gain_nats < 0.001
    assert later.gain_nats < 0.001
    assert later.ece < 0.03
