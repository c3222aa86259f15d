"""Histograms, state–action maps, landscape, shares and deviations, with planted facts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.policy_analysis.measure import (
    PolicyAnalysisSettings,
    action_histogram,
    evenly_spaced,
    head_deviations,
    quantile_bins,
    reward_shares,
    state_action_maps,
    value_landscape,
)
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

SETTINGS = PolicyAnalysisSettings(map_bins=5, n_maps=2)


def test_histogram_of_numbers_counts_ends_and_levels() -> None:
    actions = np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]])
    bins, shares = action_histogram(actions, ActionSpec("box", low=0.0), (), n_bins=3)
    assert bins == ("0.00 … 0.33", "0.33 … 0.67", "0.67 … 1.00")
    assert shares == pytest.approx((2 / 6, 1 / 6, 3 / 6))


def test_histogram_of_codes_has_a_bin_for_each() -> None:
    spec = ActionSpec("discrete", n_actions=3)
    bins, shares = action_histogram(np.array([0.0, 2.0, 2.0, 2.0]), spec, ("a", "b", "c"), n_bins=7)
    assert bins == ("a", "b", "c")
    assert shares == (0.25, 0.0, 0.75)


def test_input_that_the_action_follows_comes_first_and_noise_is_left_out() -> None:
    draw = stream(4, "maps")
    inputs = draw.standard_normal((4_000, 4))
    noise = 0.3 * draw.standard_normal(4_000)
    # Not monotone in the second input: a correlation would not see it.
    actions = 1.0 * (inputs[:, 2] > 0.0) + 0.5 * inputs[:, 1] ** 2 + noise
    maps = state_action_maps(inputs, ("a", "curved", "step", "b"), actions, SETTINGS)
    assert [each.input for each in maps] == ["curved", "step"]
    step = maps[1]
    assert sum(step.count) == 4_000
    assert step.mean_action[-1] - step.mean_action[0] == pytest.approx(1.0, abs=0.1)
    assert list(step.edges) == sorted(step.edges)
    weighted = np.average(step.mean_action, weights=step.count)
    assert weighted == pytest.approx(actions.mean())


def test_chance_alone_is_seldom_shown_as_strong() -> None:
    inputs = stream(4, "chance").standard_normal((500, 200))
    actions = stream(5, "chance").standard_normal(500)
    settings = PolicyAnalysisSettings(n_maps=200)
    names = [str(i) for i in range(200)]
    # The correction is unbiased: about half lie above 0, where none would be left out without it.
    assert 60 < len(state_action_maps(inputs, names, actions, settings)) < 140


def test_constant_action_follows_nothing() -> None:
    inputs = stream(4, "still").standard_normal((100, 2))
    assert state_action_maps(inputs, ("a", "b"), np.ones(100), SETTINGS) == ()


def test_maps_refuse_inputs_of_other_states() -> None:
    with pytest.raises(DataError, match="inputs"):
        state_action_maps(np.zeros((3, 2)), ("a", "b"), np.zeros(4), SETTINGS)


def test_equal_values_share_a_bin() -> None:
    place, edges = quantile_bins(np.array([0.0] * 90 + [1.0] * 10), 10)
    assert len(set(place[:90])) == 1
    assert place[0] != place[-1]
    assert place.max() < len(edges) - 1
    assert quantile_bins(np.ones(4), 3)[0].tolist() == [0, 0, 0, 0]


def test_landscape_rises_with_signal_times_position() -> None:
    signal = np.linspace(-1.0, 1.0, 300)
    position = np.array([0.0, 0.5, 1.0])
    surface = np.array(value_landscape(signal, signal[:, None] * position, 3))
    assert surface.shape == (3, 3)
    np.testing.assert_allclose(surface[:, 0], 0.0)
    np.testing.assert_allclose(surface[2, 2], 2 / 3, atol=0.01)
    np.testing.assert_allclose(surface[0, 1], -1 / 3, atol=0.01)


def test_reward_shares_are_of_sizes_and_sum_to_one() -> None:
    terms = np.array([[1.0, -1.0], [6.0, 0.0], [0.0, 0.0]])
    assert reward_shares(("a", "b", "c"), terms) == (("b", 0.75), ("a", 0.25), ("c", 0.0))
    assert reward_shares(("a",), np.zeros((1, 2))) == ()


def test_deviation_is_measured_against_the_shared_layer() -> None:
    config = HeadConfig(hidden=(8,), n_directions=2)
    head = StackedHead(3, 4, 1, config, torch.Generator().manual_seed(2)).requires_grad_(False)
    head.deviations.zero_()
    head.deviations[1, 0] = 2.0
    found = dict(head_deviations(head, ("a", "b", "c")))
    direction = head.directions.view(8, 2, 1)[:, 0]
    expected = 2.0 * direction.norm() / head.weights[-1].norm()
    assert found["b"] == pytest.approx(float(expected))
    assert found["a"] == found["c"] == 0.0
    # What is reported is what acts: outputs of equal inputs differ by exactly that layer.
    x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(3)).expand(3, -1, -1)
    added = head(x)[1] - head(x)[0]
    torch.testing.assert_close(added, head.features(x)[0] @ (2.0 * direction))


def test_heads_that_are_not_partially_pooled_have_no_deviation() -> None:
    config = HeadConfig(hidden=(8,), pooling="pooled")
    head = StackedHead(2, 4, 1, config, torch.Generator().manual_seed(2))
    assert head_deviations(head, ("a", "b")) == ()


def test_evenly_keeps_within_the_bound_and_spans_all() -> None:
    chosen = evenly_spaced(1_001, 100)
    assert len(chosen) <= 100
    assert chosen[0] == 0
    assert chosen[-1] > 900
    assert evenly_spaced(5, 100).tolist() == [0, 1, 2, 3, 4]


def test_settings_that_show_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="map_bins"):
        PolicyAnalysisSettings(map_bins=1)
