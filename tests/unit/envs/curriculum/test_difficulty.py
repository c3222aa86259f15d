"""Adaptive difficulty: the controller settles, and every knob does what it says to a market."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.curriculum.harder_market import harder_bars, harder_rates, harder_world
from tradingbot.market import SimulatorParams
from tradingbot.market.account import open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import tensor_market
from tradingbot.market.costs import CostProfile
from tradingbot.market.curriculum.difficulty import (
    DifficultyRules,
    DifficultyState,
    Knobs,
    adapt,
    knobs_at,
)

TEN_WINS, TEN_LOSSES = (True,) * 10, (False,) * 10
BY_TEN = DifficultyRules(episodes_per_decision=10)


def take(state, success, rules=None):
    """Take an episode that was good in every respect, or bad in every respect."""
    returned, won = (0.03, 0.8) if success else (-0.02, 0.2)
    return adapt(state, return_frac=returned, win_rate_frac=won, rules=rules or BY_TEN)


def after(outcomes, state=None, rules=None):
    state = state or DifficultyState()
    for success in outcomes:
        state = take(state, success, rules)
    return state


def test_adapt_ten_wins_rises_by_one_step():
    state = after(TEN_WINS)
    assert state.level == pytest.approx(0.1)
    assert state.last_move == 1
    assert (state.episodes, state.return_sum, state.win_rate_sum) == (0, 0.0, 0.0)


def test_adapt_nine_outcomes_waits_for_the_tenth():
    assert after(TEN_WINS[:9]).level == 0.0
    assert after(TEN_WINS[:9]).episodes == 9
    assert DifficultyRules().episodes_per_decision == 20


def test_adapt_losses_after_rise_falls_by_half_a_step():
    assert after(TEN_WINS + TEN_LOSSES).level == pytest.approx(0.05)


@pytest.mark.parametrize(("outcomes", "move"), [(TEN_WINS, 1), (TEN_LOSSES, -1)])
def test_adapt_going_on_doubles_the_step_up_to_the_largest(outcomes, move):
    state = DifficultyState(level=0.5, step=0.03, last_move=move)
    once = after(outcomes, state)
    assert once.step == pytest.approx(0.06)
    assert once.level == pytest.approx(0.5 + move * 0.06)
    assert after(outcomes, once).step == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("returned", "won", "moves"),
    [
        (0.021, 0.61, 1),
        (0.019, 0.99, 0),
        (0.5, 0.59, 0),
        (0.0, 0.36, 0),
        (-0.011, 0.99, -1),
        (0.5, 0.34, -1),
    ],
)  # up by return and win rate, down by one of both
def test_adapt_at_the_limits_moves_or_rests(returned, won, moves):
    state = DifficultyState(level=0.5)
    for _ in range(20):
        state = adapt(state, return_frac=returned, win_rate_frac=won)
    assert state.level == pytest.approx(0.5 + 0.1 * moves)
    assert state.episodes == 0


def test_adapt_long_run_of_wins_ends_at_one_and_back_at_zero():
    top = after(TEN_WINS * 40)
    assert top.level == 1.0
    assert after(TEN_LOSSES * 40, top).level == 0.0


def test_adapt_alternating_outcomes_swing_ever_less():
    state, levels = DifficultyState(level=0.5), []
    for cycle in range(20):
        state = after(TEN_WINS if cycle % 2 == 0 else TEN_LOSSES, state)
        levels.append(state.level)
    swings = np.abs(np.diff(levels))
    assert swings[0] == pytest.approx(0.05)
    assert (np.diff(swings) <= 1e-12).all()
    assert swings[-1] == pytest.approx(0.0125)


@pytest.mark.parametrize("ability", [0.2, 0.55, 0.8])
def test_adapt_agent_of_fixed_ability_settles_near_it(ability):
    """An agent that succeeds up to a level, with noise, is kept at about that level."""
    rng = stream(1, "test", "ability")
    state, levels = DifficultyState(), []
    for _ in range(3000):
        chance = 1.0 / (1.0 + np.exp((state.level - ability) / 0.03))
        state = take(state, bool(rng.random() < chance))
        levels.append(state.level)
    assert np.mean(levels[1500:]) == pytest.approx(ability, abs=0.06)
    assert np.std(levels[1500:]) < 0.06


def test_adapt_random_outcomes_never_leave_the_bounds():
    rng = stream(2, "test", "outcomes")
    rules = DifficultyRules(largest_step=0.7, smallest_step=0.3, episodes_per_decision=1)
    state = DifficultyState(step=0.7)
    for _ in range(500):
        moved = take(state, bool(rng.random() < 0.5), rules)
        assert 0.0 <= moved.level <= 1.0
        assert abs(moved.level - state.level) <= 0.7
        state = moved


def test_state_json_round_trip_mid_decision():
    state = after((*TEN_WINS, True, False, True))
    assert DifficultyState.from_json(json.loads(json.dumps(state.to_json()))) == state


@pytest.mark.parametrize(
    "change",
    [{"level": "high"}, {"extra": 1}, {"episodes": -1}, {"level": 1.5}, {"last_move": 3}],
)
def test_state_from_malformed_json_is_refused(change):
    with pytest.raises(ConfigError):
        DifficultyState.from_json(DifficultyState().to_json() | change)


def test_rules_with_crossed_limits_are_refused():
    with pytest.raises(ConfigError, match="raise_win_rate_frac must be above"):
        DifficultyRules(raise_win_rate_frac=0.3)
    with pytest.raises(ConfigError, match="raise_return_frac must be above"):
        DifficultyRules(raise_return_frac=-0.02)


def test_knobs_at_ends_and_middle():
    rules = DifficultyRules()
    assert knobs_at(0.0) == rules.easiest
    assert knobs_at(1.0) == rules.hardest
    assert knobs_at(0.5).spread_frac == pytest.approx(15e-4)
    assert knobs_at(0.5).volatility_factor == pytest.approx(1.25)


@pytest.fixture(scope="module")
def trending():
    return synthetic_world(
        "hidden_trend", n_symbols=6, n_bars=3000, seed=5, kappa=0.5, vol_frac=0.004
    )


def returns_of(prices):
    return np.diff(prices[..., 3], axis=1) / prices[:, :-1, 3]


def autocorrelation(prices):
    r = returns_of(prices)[:, 30:]
    return float(np.mean([np.corrcoef(row[1:], row[:-1])[0, 1] for row in r]))


def changed(world, **knobs):
    return harder_bars(world.prices, world.present, Knobs(**knobs), seed=3)


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
def test_volatility_factor_scales_moves_and_ranges(trending, factor):
    prices = changed(trending, volatility_factor=factor)
    assert returns_of(prices).std() / returns_of(trending.prices).std() == pytest.approx(factor)
    wide = np.log(prices[..., 1] / prices[..., 2]).mean()
    assert wide / np.log(trending.prices[..., 1] / trending.prices[..., 2]).mean() == pytest.approx(
        factor, rel=0.02
    )


def test_volatility_factor_shifts_no_expected_return():
    """Scaling log returns would add a drift of about 2 σ² a bar at factor 2: here 8 bp."""
    world = synthetic_world("noise", n_symbols=40, n_bars=3000, seed=9, vol_frac=0.02)
    before = returns_of(world.prices).mean()
    mean = returns_of(changed(world, volatility_factor=2.0)).mean()
    assert mean == pytest.approx(2.0 * before, abs=1e-7)


def test_trend_clarity_lowers_autocorrelation_keeps_variance(trending):
    clear = autocorrelation(trending.prices)
    assert clear > 0.15
    for clarity in (0.8, 0.5, 0.2):
        prices = changed(trending, trend_clarity=clarity)
        assert autocorrelation(prices) == pytest.approx(clarity**2 * clear, abs=0.025)
        ratio = returns_of(prices).std() / returns_of(trending.prices).std()
        assert ratio == pytest.approx(1.0, abs=0.05)


def test_noise_passes_and_makes_returns_turn_back(trending):
    clear = autocorrelation(trending.prices)
    some = autocorrelation(changed(trending, noise_frac=0.5))
    much = autocorrelation(changed(trending, noise_frac=1.0))
    assert much < some - 0.1 < clear - 0.2
    # It does not build up: the last price is off by one bar's noise only.
    drift = np.log(changed(trending, noise_frac=1.0)[:, -1, 3] / trending.prices[:, -1, 3])
    assert np.abs(drift).max() < 0.03


def test_harder_bars_are_possible_bars(trending):
    prices = changed(trending, volatility_factor=5.0, trend_clarity=0.3, noise_frac=2.0)
    tensor_market(prices, trending.present)  # raises on an impossible bar
    np.testing.assert_array_equal(prices[..., 4], trending.prices[..., 4])


@pytest.mark.parametrize("cut", [2, 25, 400])
def test_harder_bars_past_does_not_know_the_future(trending, cut):
    knobs = Knobs(volatility_factor=1.7, trend_clarity=0.4, noise_frac=0.8)
    whole = harder_bars(trending.prices, trending.present, knobs, seed=3)
    part = harder_bars(trending.prices[:, :cut], trending.present[:, :cut], knobs, seed=3)
    np.testing.assert_array_equal(part, whole[:, :cut])


def test_harder_bars_without_clarity_do_not_know_their_own_move(trending):
    """Noise has the size of the moves before a bar, not of the bar's own."""
    knobs = Knobs(trend_clarity=0.0)
    shocked = trending.prices.copy()
    shocked[:, 300:, :4] *= 1.2
    shocked[:, 300, 0], shocked[:, 300, 2] = trending.prices[:, 300, 0], trending.prices[:, 300, 2]
    before = harder_bars(trending.prices, trending.present, knobs, seed=3)[:, :, 3]
    after = harder_bars(shocked, trending.present, knobs, seed=3)[:, :, 3]
    np.testing.assert_array_equal(after[:, 300], before[:, 300])
    assert (after[:, 301] != before[:, 301]).all()


def test_harder_bars_with_gaps_stay_absent_and_finite(trending):
    present = trending.present & (stream(4, "test", "gaps").random(trending.present.shape) > 0.1)
    prices = np.where(present[..., None], trending.prices, np.nan)
    hard = harder_bars(prices, present, Knobs(0.0, 2.0, 0.5, 0.5), seed=3)
    assert np.isnan(hard[~present]).all()
    assert np.isfinite(hard[present]).all()


def test_harder_world_recomputes_features_and_says_so(trending):
    hard = harder_world(trending, Knobs(trend_clarity=0.5), seed=3)
    assert "trend clarity 0.5" in hard.label
    assert hard.feature_names == trending.feature_names
    assert not np.allclose(hard.features, trending.features)
    again = harder_world(trending, Knobs(trend_clarity=0.5), seed=3)
    np.testing.assert_array_equal(hard.features, again.features)


def test_harder_world_keeps_covariates_and_calls_itself_synthetic():
    world = synthetic_world("planted", n_symbols=2, n_bars=600, seed=1)
    hard = harder_world(replace(world, synthetic=False), Knobs(volatility_factor=2.0), seed=3)
    assert hard.synthetic
    assert hard.feature_names == world.feature_names
    np.testing.assert_array_equal(hard.features[..., -1], world.features[..., -1])


def test_harder_world_keeps_what_a_registered_feature_reads_of_covariates():
    world = synthetic_world("regimes", n_symbols=2, n_bars=600, seed=1)
    sentiment = world.feature_names.index("sentiment")
    assert world.features[..., sentiment].std() > 0.0

    hard = harder_world(world, Knobs(volatility_factor=2.0), seed=3)

    np.testing.assert_array_equal(hard.features[..., sentiment], world.features[..., sentiment])
    assert not np.array_equal(hard.features[..., 0], world.features[..., 0])


def test_harder_world_without_change_is_the_world_itself(trending):
    assert harder_world(trending, Knobs(spread_frac=0.01), seed=3) is trending


def test_harder_rates_per_lane_cost_half_the_spread():
    market = tensor_market(
        np.tile([100.0, 101.0, 99.0, 100.0, 1e6], (1, 4, 1)), np.ones((1, 4), bool)
    )
    spread = torch.tensor([0.0, 0.001, 0.002])
    rates = harder_rates(CostProfile(0.0, 0.0).rates(), spread)
    account = open_accounts(100_000.0, torch.zeros(3, dtype=torch.int32), torch.full((3,), 100.0))
    result = advance(
        SimulatorParams(),
        rates,
        account,
        market.bar(account.row + 1),
        torch.ones(3, dtype=torch.float32),
    )
    paid = result.after.slippage_paid / result.fill.units / 100.0
    torch.testing.assert_close(paid, spread / 2.0, rtol=1e-2, atol=1e-6)


def test_unstable_regimes_turn_moves_round_and_forget_the_trend(trending):
    stable = harder_bars(trending.prices, trending.present, Knobs(), seed=3)
    turned = harder_bars(trending.prices, trending.present, Knobs(regime_stability=0.9), seed=3)
    moves, others = (np.diff(np.log(prices[..., 3])) for prices in (stable, turned))

    share = float((np.sign(moves) != np.sign(others)).mean())
    assert 0.35 < share < 0.65
    np.testing.assert_allclose(moves.std(), others.std(), rtol=0.02)
    lag = 10

    def remembered(x):
        return float((x[:, lag:] * x[:, :-lag]).mean() / x.var())

    assert remembered(moves) > 0.05
    assert remembered(others) < 0.5 * remembered(moves)
    cut = 300
    again = harder_bars(
        trending.prices[:, :cut], trending.present[:, :cut], Knobs(regime_stability=0.9), seed=3
    )
    # Drawn in order of bars: what comes later changes nothing before it.
    np.testing.assert_allclose(again, turned[:, :cut])
