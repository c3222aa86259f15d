"""Histograms, state–action maps, landscape, shares and deviations, with planted facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.policy_analysis.attention import (
    attention_map,
    lag_sensitivity,
    leaning,
)
from tradingbot.evaluation.analyses.policy_analysis.measure import (
    action_histogram,
    evenly_spaced,
    head_deviations,
    quantile_bins,
    reward_shares,
    state_action_maps,
    state_action_planes,
    state_plane,
    value_landscape,
)
from tradingbot.evaluation.analyses.policy_analysis.states import ask_by_agent
from tradingbot.evaluation.analyses.settings import PolicyAnalysisSettings
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.critic import TwinCritic
from tradingbot.learning.sac.critic import open_critic as open_sac_critic
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.actor_layout import ActorLayout, Squash
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
    plane = value_landscape(("signal", "position"), signal, position, signal[:, None] * position)
    surface = np.array(plane.cells)
    assert surface.shape == (3, 3)
    assert plane.axes == ("signal", "position")
    assert plane.edges[0] == pytest.approx((-1.0, -1 / 3, 1 / 3, 1.0))
    assert plane.edges[1] == (0.0, 0.5, 1.0)
    assert plane.count == ((100,) * 3,) * 3
    np.testing.assert_allclose(surface[:, 0], 0.0)
    np.testing.assert_allclose(surface[2, 2], 2 / 3, atol=0.01)
    np.testing.assert_allclose(surface[0, 1], -1 / 3, atol=0.01)


def test_plane_of_a_linear_policy_is_its_formula() -> None:
    """Of a · x + b · y over an even grid, the mean of a cell is the formula at its middle."""
    x, y = (part.ravel() for part in np.meshgrid(np.arange(12.0), np.arange(12.0), indexing="ij"))
    settings = PolicyAnalysisSettings(plane_bins=3, n_planes=1)
    inputs, names = np.stack([y, x, 0.0 * x], axis=1), ("y", "x", "none")
    (plane,) = state_action_planes(inputs, names, 0.5 * x - 0.1 * y, ["x", "y", "none"], settings)
    assert plane.axes == ("x", "y")
    middle = np.array([1.5, 5.5, 9.5])
    np.testing.assert_allclose(plane.cells, 0.5 * middle[:, None] - 0.1 * middle)
    assert plane.count == ((16,) * 3,) * 3
    assert len(plane.edges[0]) == len(plane.edges[1]) == 4


def test_plane_has_no_figure_where_no_state_lies() -> None:
    line = np.arange(8.0)
    plane = state_plane(("a", "b"), (line, line), 2.0 * line, 2)
    np.testing.assert_array_equal(plane.cells, [[3.0, np.nan], [np.nan, 11.0]])
    assert plane.count == ((4, 0), (0, 4))
    assert state_action_planes(line[:, None], ("a",), line, ["a"], SETTINGS) == ()
    assert state_action_planes(line[:, None], ("a",), line, [], SETTINGS) == ()


def test_attention_map_of_a_linear_policy_is_weight_times_slope_times_deviation() -> None:
    draw = torch.Generator().manual_seed(4)
    windows = torch.randn(6, 4, 2, generator=draw)
    slopes = torch.tensor([[0.5, -2.0], [0.0, 1.0], [0.25, 0.0], [3.0, 0.0]])  # by lag
    seen = lag_sensitivity(lambda shown: (shown.flip(1) * slopes).sum((1, 2)), windows)
    torch.testing.assert_close(seen, slopes.abs().expand(6, 4, 2))
    weights = torch.tensor([0.7, 0.2, 0.1]).expand(6, 3)  # a block that spans three of four bars
    cells = attention_map(weights, seen, windows[:, -1])
    deviation = windows[:, -1].double().std(0, correction=0)
    expected = torch.tensor([[0.35, 1.4], [0.0, 0.2], [0.025, 0.0]]).double() * deviation
    torch.testing.assert_close(cells, expected, rtol=1e-6, atol=1e-9)


def test_leaning_of_codes_is_buying_less_selling() -> None:
    layout = ActorLayout("actor.", HeadConfig(), 7, None, ())
    output = torch.full((1, 7), -100.0)
    for code, side in ((Action.SELL_ALL, -1.0), (Action.HOLD, 0.0), (Action.BUY_SMALL, 1.0)):
        sure = output.clone()
        sure[0, code] = 0.0
        assert leaning(layout, sure).item() == pytest.approx(side)
    rounded = replace(layout, n_outputs=1, squash=Squash("sigmoid", levels=2))
    assert leaning(rounded, torch.zeros(1, 1)).item() == 0.5


def test_states_are_asked_of_their_own_agents_head() -> None:
    factor = torch.tensor([1.0, 10.0, 100.0])[:, None, None]
    agent = np.array([2, 0, 2, 0, 0])
    asked = ask_by_agent(lambda x: (factor * x)[..., 0], torch.arange(1.0, 6.0)[:, None], agent, 3)
    assert asked.tolist() == [100.0, 2.0, 300.0, 4.0, 5.0]


def test_value_of_twin_critics_is_the_best_action_of_the_smaller_one() -> None:
    """The critics are −|a − x| and 0.5 − 2 |a − x|: the smaller is best where a = x."""
    config = SACConfig(critic=HeadConfig(hidden=(2,), activation="relu", pooling="pooled"))
    critic = TwinCritic(1, 1, config.critic, torch.Generator()).requires_grad_(False)
    critic.observation_weight.copy_(torch.tensor([[[-1.0, 1.0]]]).expand(2, 1, 2))
    critic.action_weight.copy_(torch.tensor([[[1.0, -1.0]]]).expand(2, 1, 2))
    critic.output_weight.copy_(torch.tensor([-1.0, -2.0])[:, None, None].expand(2, 2, 1))
    critic.output_bias.copy_(torch.tensor([0.0, 0.5])[:, None, None])
    value = open_sac_critic(config, critic.state_dict(), 1)
    x = torch.tensor([0.2, -1.0, 0.3, 3.0])  # on the grid, its end, between two of it, beyond
    torch.testing.assert_close(
        value(x[None, :, None]), torch.tensor([[0.0, 0.0, -0.1, -3.5]]), atol=1e-6, rtol=0.0
    )


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
