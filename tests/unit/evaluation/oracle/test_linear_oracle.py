"""Oracles of the linear markets: the trial's figures come out, and nothing plays better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.oracle import ActionRule, Information, oracle_for, simulate_targets
from tradingbot.evaluation.oracle.known_answers import KnownAnswerCase, generate_on, hourly_grid
from tradingbot.evaluation.oracle.linear_oracle import VIEWS
from tradingbot.evaluation.oracle.result import Terms
from tradingbot.evaluation.oracle.simulation import intervals_over_symbols, mean_turnover
from tradingbot.evaluation.oracle.switching import SignalModel, SwitchThresholds, solve_signal
from tradingbot.evaluation.oracle.varying_strength import solve_varying

COST = 1.2e-4
GRID = hourly_grid(143, 3528)
HIDDEN = ("hidden_trend", "hidden_reversion")


def make(name, *, seed=7, grid=GRID, **params):
    return generate_on(grid, KnownAnswerCase(name, params), seed)


@pytest.mark.parametrize(
    ("name", "kappa", "trial_bps"),
    [("planted", 0.10, 2.23), ("planted", 0.05, 1.03), ("opposed", 0.10, 2.17)],
)
def test_figures_of_the_trial_come_out_within_the_noise_of_their_sample(name, kappa, trial_bps):
    result = oracle_for(make(name, kappa=kappa), cost_frac=COST)

    interval = result.simulated.net_bps_per_bar
    half_width = (interval.high - interval.low) / 2
    assert (result.bars, result.symbols, result.label) == (3528, 143, "synthetic")
    assert interval.covers(result.expected_net_bps)
    assert abs(trial_bps - result.expected_net_bps) <= half_width
    assert half_width < 0.15


@pytest.mark.parametrize("information", list(Information))
@pytest.mark.parametrize("rule", list(ActionRule))
@pytest.mark.parametrize("name", [*HIDDEN, "cost_trap", "opposed"])
def test_simulation_covers_the_expected_net_sharpe_and_turnover(name, rule, information):
    result = oracle_for(
        make(name, seed=1), cost_frac=COST, action_rule=rule, information=information
    )

    simulated = result.simulated
    assert simulated.net_bps_per_bar.covers(result.expected_net_bps)
    assert simulated.sharpe_per_bar.covers(result.expected_sharpe_per_bar)
    assert simulated.turnover_frac == pytest.approx(result.expected_turnover_frac, rel=0.03)


def test_intervals_cover_the_expectation_as_often_as_they_say():
    grid = hourly_grid(20, 700)
    hits = []
    for seed in range(60):
        result = oracle_for(make("planted", grid=grid, seed=seed), cost_frac=COST)
        hits.append(result.simulated.net_bps_per_bar.covers(result.expected_net_bps))

    assert 0.88 <= np.mean(hits) <= 1.0


def test_noise_is_worth_exactly_nothing_and_left_alone():
    result = oracle_for(make("noise"), cost_frac=COST)

    assert result.expected_net_bps == 0.0
    assert result.thresholds.is_flat
    assert result.simulated.net_bps_per_bar == (0.0, 0.0, 0.0)
    assert result.simulated.turnover_frac == 0.0


def test_following_the_sign_in_the_cost_trap_loses_while_the_oracle_does_not():
    market = make("cost_trap")
    targets = SwitchThresholds(0.0, 0.0).positions(market.covariates["signal"], lowest=0.0)

    costly = simulate_targets(market.opens, market.closes, targets, cost_frac=COST)[1:]
    free = simulate_targets(market.opens, market.closes, targets, cost_frac=0.0)[1:]

    result = oracle_for(market, cost_frac=COST)
    assert intervals_over_symbols(costly)[0].high < 0.0
    assert intervals_over_symbols(free)[0].low > 0.0  # the signal itself is real
    assert 0.0 <= result.expected_net_bps < 0.05
    assert result.simulated.turnover_frac < 0.05


def test_no_rival_policy_significantly_beats_the_oracle_on_the_same_bars():
    market = make("planted", seed=2)
    signal = market.covariates["signal"]
    best = SwitchThresholds(0.1518, -0.1518).positions(signal, lowest=0.0)
    best_net = simulate_targets(market.opens, market.closes, best, cost_frac=COST)
    rng = np.random.default_rng(8)
    lost = []
    for _ in range(25):
        low, high = np.sort(rng.normal(0.0, 0.6, 2))
        rival = rng.uniform(0.3, 1.0) * SwitchThresholds(high, low).positions(signal, lowest=0.0)
        if rng.random() < 0.5:  # a policy that sizes with the signal instead
            rival = np.clip(rng.uniform(0.2, 2.0) * signal + rng.normal(0.0, 0.3), 0.0, 1.0)
        net = simulate_targets(market.opens, market.closes, rival, cost_frac=COST)
        lost.append(intervals_over_symbols((best_net - net)[1:])[0])

    assert all(interval.high > 0.0 for interval in lost)
    assert sum(interval.low > 0.0 for interval in lost) >= 15


def test_each_symbol_follows_the_thresholds_of_its_own_strength():
    grid = hourly_grid(143, 2000)
    market = make("planted", kappa=0.04, kappa_spread=0.06, grid=grid)
    own = oracle_for(market, cost_frac=COST)
    kappa, signal = market.latent["kappa"], market.covariates["signal"]
    strongest, _ = solve_signal(SignalModel(abs(kappa).max() * 0.006, 0.9, 0.006), cost_frac=COST)
    alike = strongest.positions(np.where(kappa < 0.0, -1.0, 1.0) * signal, lowest=0.0)

    each = [
        solve_signal(SignalModel(abs(k) * 0.006, 0.9, 0.006), cost_frac=COST)[1] for k in kappa[:8]
    ]
    found = solve_varying(
        np.abs(kappa[None, :8]) * 0.006,
        phi=0.9,
        terms=Terms(COST, ActionRule.LONG_ONLY, Information.ATTAINABLE),
    )

    assert found.gain[0] == pytest.approx(each, rel=0.03, abs=1e-7)
    assert own.simulated.net_bps_per_bar.covers(own.expected_net_bps)
    assert own.simulated.turnover_frac < 0.9 * mean_turnover(alike)


def test_an_oracle_follows_a_sign_that_turns():
    grid = hourly_grid(143, 2000)
    turned = make("planted", turn_frac=0.5, grid=grid)

    result = oracle_for(turned, cost_frac=COST)

    assert not result.is_optimal
    assert result.simulated.net_bps_per_bar.covers(result.expected_net_bps)


def test_a_premium_is_held_for_and_earned():
    grid = hourly_grid(60, 4000)
    held = oracle_for(make("noise", premium_annual_frac=0.2, grid=grid), cost_frac=COST)
    plain = oracle_for(make("planted", grid=grid), cost_frac=COST)
    paid = oracle_for(make("planted", premium_annual_frac=0.2, grid=grid), cost_frac=COST)

    assert held.expected_net_bps == pytest.approx(0.2 / grid.bars_per_year * 1e4)
    assert held.simulated.net_bps_per_bar.covers(held.expected_net_bps)
    assert not paid.is_optimal
    assert paid.expected_net_bps > plain.expected_net_bps
    assert paid.simulated.net_bps_per_bar.covers(paid.expected_net_bps)


def test_opposed_symbols_are_worth_as_much_as_the_others():
    market = make("opposed")
    flipped = market.latent["kappa"] < 0
    targets = SwitchThresholds(0.1518, -0.1518).positions(
        np.where(flipped, -1.0, 1.0) * market.covariates["signal"], lowest=0.0
    )
    net = simulate_targets(market.opens, market.closes, targets, cost_frac=COST)[1:]

    one, other = (intervals_over_symbols(net[:, side])[0] for side in (flipped, ~flipped))

    assert one.low < other.high
    assert other.low < one.high
    assert min(one.low, other.low) > 1.5e-4
    pooled = SwitchThresholds(0.1518, -0.1518).positions(market.covariates["signal"], lowest=0.0)
    blind = simulate_targets(market.opens, market.closes, pooled, cost_frac=COST)[1:]
    # Gains and losses cancel; what remains is the cost of 0.0966 turnover per bar.
    assert intervals_over_symbols(blind)[0].covers(-0.0966 * COST)
    assert intervals_over_symbols(blind)[0].high < 0.5e-4


@pytest.mark.parametrize(
    ("name", "attainable_bps", "omniscient_bps"),
    [("hidden_trend", 1.8466, 3.5328), ("hidden_reversion", 1.4672, 3.6362)],
)
def test_hidden_edge_is_attainable_in_part(name, attainable_bps, omniscient_bps):
    market = make(name)
    attainable = oracle_for(market, cost_frac=COST)
    omniscient = oracle_for(market, cost_frac=COST, information=Information.OMNISCIENT)

    assert attainable.expected_net_bps == pytest.approx(attainable_bps, abs=2e-4)
    assert omniscient.expected_net_bps == pytest.approx(omniscient_bps, abs=2e-4)
    assert attainable.simulated.net_bps_per_bar.low > 0.0
    assert attainable.simulated.net_bps_per_bar.high < omniscient.simulated.net_bps_per_bar.low


@pytest.mark.parametrize("name", HIDDEN)
def test_attainable_signal_reads_past_prices_only(name):
    market = make(name, grid=hourly_grid(10, 400))
    closes, opens = market.closes.copy(), market.opens.copy()
    closes[200:] *= 3.0
    opens[200:] *= 2.0
    blinded = {key: np.full_like(values, np.nan) for key, values in market.latent.items()}

    signal = VIEWS[name](market, Information.ATTAINABLE).signal
    changed = VIEWS[name](
        replace(market, opens=opens, closes=closes, latent=blinded), Information.ATTAINABLE
    ).signal

    assert np.array_equal(signal[:200], changed[:200])
    assert not np.array_equal(signal[200:], changed[200:])


@pytest.mark.parametrize("name", [*HIDDEN, "planted", "opposed"])
@pytest.mark.parametrize("information", list(Information))
def test_signal_a_policy_sees_has_unit_variance_and_promised_strength(name, information):
    market = make(name, seed=4)
    view = VIEWS[name](market, information)
    returns = (market.closes / market.opens - 1.0)[1:]

    slope = np.mean(view.signal[:-1] * returns) / np.mean(view.signal[:-1] ** 2)

    assert view.signal.var() == pytest.approx(1.0, abs=0.05)
    assert slope == pytest.approx(view.model.strength_frac, abs=4 * 0.006 / np.sqrt(returns.size))
    residual = returns - view.model.strength_frac * view.signal[:-1]
    assert residual.std() == pytest.approx(view.model.noise_frac, rel=0.005)


@pytest.mark.parametrize("name", HIDDEN)
def test_attainable_answer_with_linked_symbols_is_refused(name):
    market = make(name, grid=hourly_grid(10, 2000), correlation=0.3)

    with pytest.raises(ConfigError, match="correlation must be 0"):
        oracle_for(market, cost_frac=COST)
    result = oracle_for(market, cost_frac=COST, information=Information.OMNISCIENT)
    assert result.expected_net_bps > 0.0


@pytest.mark.parametrize(
    ("name", "params"), [("hidden_trend", {"kappa": 0.0}), ("hidden_reversion", {"share": 0.0})]
)
@pytest.mark.parametrize("information", list(Information))
def test_hidden_market_without_strength_is_worth_nothing(name, params, information):
    market = make(name, grid=hourly_grid(10, 400), **params)

    result = oracle_for(market, cost_frac=COST, information=information)

    assert result.expected_net_bps == 0.0
    assert result.simulated.turnover_frac == 0.0


def test_interval_of_linked_symbols_is_wider_than_that_of_independent_ones():
    grid = hourly_grid(40, 2000)

    widths = []
    for correlation in (0.0, 0.8):
        market = make("planted", grid=grid, correlation=correlation)
        interval = oracle_for(market, cost_frac=COST).simulated.net_bps_per_bar
        widths.append(interval.high - interval.low)

    # Half of the symbols are held at a time, so noise shared at 0.8 hardly averages out.
    assert widths[1] > 2.5 * widths[0]


def test_varying_strength_that_does_not_vary_gives_the_thresholds_of_the_plain_problem():
    terms = Terms(0.00012, ActionRule.LONG_ONLY, Information.ATTAINABLE)
    (limits, gain) = solve_signal(SignalModel(0.0006, 0.9, 0.006), cost_frac=0.00012)

    found = solve_varying(np.full((3, 2), 0.0006), phi=0.9, terms=terms)

    np.testing.assert_allclose(found.enter, limits.enter, atol=1e-6)
    np.testing.assert_allclose(found.exit, limits.exit, atol=1e-6)
    np.testing.assert_allclose(found.gain, gain, rtol=1e-6)


def test_varying_strength_is_traded_sooner_where_it_is_greater_and_never_where_it_is_none():
    terms = Terms(0.00012, ActionRule.LONG_ONLY, Information.ATTAINABLE)
    strengths = np.array([[0.0, 1e-6, 2e-4, 6e-4, 2e-3]])

    found = solve_varying(strengths, phi=0.9, terms=terms)

    assert np.all(np.diff(found.enter) <= 0.0)
    assert found.enter[0, 0] > 100.0
    assert found.gain[0, 0] == 0.0
    exact = [
        solve_signal(SignalModel(each, 0.9, 0.0), cost_frac=0.00012)[1] for each in strengths[0]
    ]
    np.testing.assert_allclose(found.gain[0], exact, rtol=0.02, atol=1e-7)


def test_spiked_market_pays_what_its_oracle_expects():
    """Without drift, so that holding earns nothing by itself."""
    flat = dict.fromkeys(("bull_drift", "bear_drift", "sideways_drift", "turbulent_drift"), 0.0)
    case = KnownAnswerCase("planted_regimes", {"kappa": 0.2, **flat})

    found = oracle_for(generate_on(hourly_grid(20, 1500), case, 3))

    net = found.simulated.net_bps_per_bar
    assert net.covers(found.expected_net_bps)
    assert net.low > 0.5 * found.expected_net_bps
    assert not found.is_optimal
