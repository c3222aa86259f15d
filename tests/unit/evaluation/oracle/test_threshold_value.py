"""Expected value of threshold policies: closed forms, simulation, and agreement with the DP."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.data.synthetic.linear_bars import draw_ar1
from tradingbot.evaluation.oracle.action_rule import ActionRule
from tradingbot.evaluation.oracle.switching import SignalModel, SwitchThresholds, solve_signal
from tradingbot.evaluation.oracle.threshold_value import evaluate_thresholds

COST = 1.2e-4
MODELS = [
    SignalModel(6e-4, 0.9, 0.006),
    SignalModel(3e-4, 0.9, 0.006),
    SignalModel(6e-5, 0.2, 0.006),
    SignalModel(4.7e-4, 0.98, 0.006),
    SignalModel(3e-4, 0.0, 0.006),
    SignalModel(6e-4, 0.999, 0.006),
]
_REMOTEST = 5.0  # thresholds further out are not told from never trading


def search_thresholds(
    model: SignalModel, *, cost_frac: float, tolerance: float = 1e-4
) -> SwitchThresholds:
    """Find the best pair of thresholds by pattern search on its expected value.

    Walks in steps of one half of a standard deviation and halves them until `tolerance`. The pair
    is not assumed to be symmetric.
    """
    best = SwitchThresholds(0.5, -0.5)
    worth = _net(model, best, cost_frac)
    step = 0.5
    while step >= tolerance:
        around = [
            SwitchThresholds(best.enter + step * up, best.exit + step * down)
            for up, down in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))
        ]
        allowed = [pair for pair in around if -_REMOTEST <= pair.exit <= pair.enter <= _REMOTEST]
        found = max(allowed, key=lambda pair: _net(model, pair, cost_frac))
        if (value := _net(model, found, cost_frac)) > worth:
            best, worth = found, value
        else:
            step /= 2.0
    return best if worth > 0.0 else SwitchThresholds.never()


def _net(model: SignalModel, thresholds: SwitchThresholds, cost_frac: float) -> float:
    return evaluate_thresholds(model, thresholds, cost_frac=cost_frac).net_bps


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, 0.98, 0.999])
def test_sign_policy_has_its_closed_form_edge_and_turnover(phi):
    value = evaluate_thresholds(
        SignalModel(6e-4, phi, 0.006), SwitchThresholds(0, 0), cost_frac=COST
    )

    assert value.gross_bps == pytest.approx(6.0 / math.sqrt(2.0 * math.pi), rel=1e-9)
    assert value.turnover_frac == pytest.approx(math.acos(phi) / math.pi, rel=1e-6)
    assert value.exposure_frac == pytest.approx(0.5, rel=1e-9)
    assert value.net_bps == pytest.approx(value.gross_bps - 1.2 * value.turnover_frac)


@pytest.mark.parametrize("model", MODELS)
def test_direct_search_agrees_with_the_dynamic_programme(model):
    solved, gain = solve_signal(model, cost_frac=COST)
    found = search_thresholds(model, cost_frac=COST)

    best = evaluate_thresholds(model, found, cost_frac=COST).net_bps

    assert gain * 1e4 == pytest.approx(best, abs=5e-4)
    assert found.enter == pytest.approx(solved.enter, abs=2e-3)
    assert found.exit == pytest.approx(solved.exit, abs=2e-3)


def test_search_without_an_edge_finds_the_flat_policy():
    assert search_thresholds(SignalModel(0.0, 0.9, 0.006), cost_frac=COST).is_flat


def test_no_random_pair_of_thresholds_beats_the_solution():
    rng = np.random.default_rng(5)
    for model in MODELS:
        _, gain = solve_signal(model, cost_frac=COST)
        for low, high in np.sort(rng.normal(0.0, 0.7, (40, 2)), axis=1):
            rival = evaluate_thresholds(model, SwitchThresholds(high, low), cost_frac=COST)
            assert rival.net_bps <= gain * 1e4 + 5e-4


@pytest.mark.parametrize("rule", list(ActionRule))
@pytest.mark.parametrize("pair", [SwitchThresholds(0.4, -0.1), SwitchThresholds(0.0, -0.8)])
def test_expected_figures_match_a_long_simulation(pair, rule):
    model, cost = SignalModel(0.003, 0.8, 0.006), 1e-3
    rng = np.random.default_rng(11)
    signal = draw_ar1(rng, (4000, 400), phi=model.phi)
    held = pair.positions(signal, lowest=rule.lowest)[100:]
    returns = model.strength_frac * signal[100:] + model.noise_frac * rng.standard_normal(
        held.shape
    )
    traded = np.abs(np.diff(held, axis=0))
    net = held[1:] * returns[1:] - cost * traded

    value = evaluate_thresholds(model, pair, cost_frac=cost, action_rule=rule)

    error = net.mean(axis=0).std() / math.sqrt(400) * 1e4
    assert net.mean() * 1e4 == pytest.approx(value.net_bps, abs=4 * error)
    assert traded.mean() == pytest.approx(value.turnover_frac, rel=0.01)
    assert np.abs(held).mean() == pytest.approx(value.exposure_frac, rel=0.01)
    assert net.mean() / net.std() == pytest.approx(
        value.sharpe_per_bar, abs=4 * error / (net.std() * 1e4)
    )
    assert net.std() == pytest.approx(value.net_bps / 1e4 / value.sharpe_per_bar, rel=0.004)


def test_flat_policy_is_worth_nothing():
    value = evaluate_thresholds(MODELS[0], SwitchThresholds.never(), cost_frac=COST)

    assert (value.net_bps, value.turnover_frac, value.sharpe_per_bar) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("lowest", [0.0, -1.0])
def test_positions_hold_between_thresholds_and_start_flat(lowest):
    signal = np.array([[0.0], [0.6], [0.1], [-0.4], [-0.6], [0.2], [0.5]])

    positions = SwitchThresholds(0.5, -0.5).positions(signal, lowest=lowest)

    assert positions[:, 0].tolist() == [0.0, 1.0, 1.0, 1.0, lowest, lowest, 1.0]


def test_positions_do_not_depend_on_the_future():
    signal = np.random.default_rng(2).standard_normal((200, 5))
    changed = signal.copy()
    changed[120:] = 9.0

    rule = SwitchThresholds(0.7, -0.7)

    assert np.array_equal(
        rule.positions(signal, lowest=-1.0)[:120], rule.positions(changed, lowest=-1.0)[:120]
    )
