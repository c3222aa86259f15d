"""Bars that are learned from, bars that are held out, and what is drawn."""

from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import DataError
from tradingbot.learning.pretraining.targets import AuxiliaryTarget, Period, draw_segments


def target(first: int, stop: int, *, horizon: int = 3, n_bars: int = 100) -> AuxiliaryTarget:
    valid = torch.zeros(2, n_bars, dtype=torch.bool)
    valid[:, first:stop] = True
    return AuxiliaryTarget(torch.zeros(2, n_bars), valid, horizon)


def test_period_is_the_span_of_all_valid_answers() -> None:
    targets = {"a": target(10, 80), "b": target(20, 90)}

    period = Period.of(targets, held_out_frac=0.25, lookback_bars=4)

    assert (period.first, period.held_out, period.stop) == (10, 70, 90)


def test_period_leaves_the_whole_lookback_before_its_first_bar() -> None:
    period = Period.of({"a": target(10, 90)}, held_out_frac=0.25, lookback_bars=31)

    assert period.first == 30


def test_answers_that_look_into_the_held_out_part_are_not_learned_from() -> None:
    answers = target(10, 90, horizon=5)
    period = Period.of({"a": answers}, held_out_frac=0.25, lookback_bars=4)

    learned = period.learning_mask(answers).any(0).nonzero().flatten().tolist()

    assert learned == list(range(10, 70 - 5))
    assert period.scoring_mask(answers).shape == (2, 20)
    assert bool(period.scoring_mask(answers).all())


@pytest.mark.parametrize(("first", "stop", "lookback"), [(10, 10, 4), (10, 90, 95), (10, 11, 4)])
def test_period_without_bars_on_both_sides_is_refused(first: int, stop: int, lookback: int) -> None:
    with pytest.raises(DataError):
        Period.of({"a": target(first, stop)}, held_out_frac=0.25, lookback_bars=lookback)


def test_segments_cover_the_learned_bars_and_nothing_else() -> None:
    generator = torch.Generator().manual_seed(0)

    series, bars = draw_segments(
        Period(10, 40, 60), n_series=3, count=2_000, length=8, generator=generator
    )

    assert set(series.tolist()) == {0, 1, 2}
    assert (bars.min().item(), bars.max().item()) == (10, 39)
    assert bool((bars.diff(dim=1) == 1).all())


def test_segments_of_a_short_period_are_as_long_as_it() -> None:
    _, bars = draw_segments(
        Period(10, 14, 20), n_series=1, count=3, length=8, generator=torch.Generator()
    )

    assert bars.tolist() == [[10, 11, 12, 13]] * 3
