"""The curriculum: stages are what they claim, and are passed by the rule and by nothing less."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import torch

from reference.scalar_simulator import ScalarAccount
from tradingbot.data.synthetic.registry import generate
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.curriculum.env import episode_result
from tradingbot.envs.single.info import summarise
from tradingbot.evaluation.oracle.market_oracle import oracle_for
from tradingbot.market import SimulatorParams
from tradingbot.market.account import open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import tensor_market
from tradingbot.market.curriculum.stages import (
    BARS_PER_YEAR,
    STAGES,
    CurriculumStage,
    CurriculumState,
    EpisodeResult,
    PassRule,
    advance_stage,
    is_success,
)

GOOD = EpisodeResult(sharpe_annual=5.0, win_rate_frac=0.9, n_trades=20)
BAD = EpisodeResult(sharpe_annual=-5.0, win_rate_frac=0.1, n_trades=20)


def play(results, state=None, **options):
    state = state or CurriculumState()
    for result in results:
        state = advance_stage(state, result, **options)
    return state


def test_stages_five_with_the_limits_of_the_specification():
    assert [stage.min_sharpe for stage in STAGES] == [0.3, 0.5, 0.6, 0.7, 0.8]
    assert [stage.min_win_rate_frac for stage in STAGES] == [0.5, 0.45, 0.45, 0.45, 0.45]
    assert [stage.noise_frac for stage in STAGES] == [0.0, 0.0, 0.02, 0.05, 0.10]
    assert [stage.regime_stability for stage in STAGES] == [1.0, 0.999, 0.999, 0.998, 0.998]
    costs = replace(STAGES[1], slippage_bps=1.0).costs
    assert (costs.commission_frac, costs.slippage_frac) == pytest.approx((4e-4, 1e-4))
    assert (STAGES[0].cost_bps, STAGES[-1].cost_bps) == (1.0, 30.0)


def test_stages_table_is_the_one_in_the_documentation():
    table = [
        (s.name, s.trend_strength, s.vol_frac, s.cost_bps, s.min_sharpe, s.min_trades)
        for s in STAGES
    ]
    assert table == [
        ("strong trends", 0.60, 0.0030, 1.0, 0.3, 4),
        ("clear trends", 0.45, 0.0045, 5.0, 0.5, 4),
        ("fair trends", 0.35, 0.0060, 10.0, 0.6, 3),
        ("faint trends", 0.25, 0.0080, 20.0, 0.7, 3),
        ("realistic", 0.20, 0.0100, 30.0, 0.8, 2),
    ]
    assert {stage.trend_persistence for stage in STAGES} == {0.98}


def test_stages_each_harder_than_the_one_before():
    for easier, harder in itertools.pairwise(STAGES):
        assert harder.trend_strength < easier.trend_strength
        assert harder.vol_frac > easier.vol_frac
        assert harder.cost_bps > easier.cost_bps


@pytest.fixture(scope="module")
def stage_returns():
    """(5, N, T) simple returns of each stage's world."""
    found = []
    for stage in STAGES:
        world = synthetic_world(
            "hidden_trend", n_symbols=8, n_bars=4000, seed=11, **stage.market_params
        )
        close = world.prices[..., 3]
        found.append(np.diff(close, axis=1) / close[:, :-1])
    return np.stack(found)


def test_stage_worlds_measured_volatility_is_the_claimed(stage_returns):
    for stage, returns in zip(STAGES, stage_returns, strict=True):
        claimed = stage.vol_frac * math.sqrt(1.0 + stage.trend_strength**2)
        assert returns.std() == pytest.approx(claimed, rel=0.05)


def test_stage_worlds_measured_trend_is_the_claimed_and_falls(stage_returns):
    """Mean autocorrelation over lags 1 to 20, against κ² φ^lag / (1 + κ²)."""
    measured = []
    for stage, returns in zip(STAGES, stage_returns, strict=True):
        centred = returns - returns.mean()
        lags = range(1, 21)
        seen = np.mean([(centred[:, k:] * centred[:, :-k]).mean() for k in lags]) / centred.var()
        squared = stage.trend_strength**2
        claimed = squared / (1.0 + squared) * np.mean([stage.trend_persistence**k for k in lags])
        assert seen == pytest.approx(claimed, rel=0.25, abs=0.006)
        measured.append(seen)
    assert measured == sorted(measured, reverse=True)


def test_stage_costs_measured_in_a_fill():
    market = tensor_market(
        np.tile([100.0, 101.0, 99.0, 100.0, 1e7], (1, 4, 1)), np.ones((1, 4), bool),
        dtype=torch.float64,
    )  # fmt: skip
    for stage in STAGES:
        account = open_accounts(
            100_000.0, torch.zeros(1, dtype=torch.int32), torch.full((1,), 100.0).double()
        )
        rates = stage.costs.rates(dtype=torch.float64)
        bought = advance(
            SimulatorParams(), rates, account, market.bar(account.row + 1), torch.ones(1)
        )
        lost = 100_000.0 - bought.after.equity
        bps = 1e4 * lost / (bought.fill.units * 100.0)
        assert float(bps) == pytest.approx(stage.cost_bps, rel=1e-3)


def test_stages_can_be_passed_by_who_sees_prices_only():
    """The best policy known, which filters the drift out of past returns, clears every limit."""
    for stage in STAGES:
        market = generate(
            "hidden_trend",
            symbols=[f"S{index}" for index in range(8)],
            start=date(2022, 1, 3),
            end=date(2023, 12, 29),
            seed=1,
            **stage.market_params,
        )
        answer = oracle_for(market, cost_frac=stage.cost_bps * 1e-4)
        assert answer.simulated.sharpe_annual.estimate > 2.0 * stage.min_sharpe
        trades = 0.5 * answer.simulated.turnover_frac * 512
        assert trades > stage.min_trades


def test_advance_stage_hundred_good_episodes_pass_ninety_nine_do_not():
    assert play([GOOD] * 99) == CurriculumState(0, 99, (True,) * 10)
    assert play([GOOD] * 100) == CurriculumState(stage=1)


@pytest.mark.parametrize(("good", "stage"), [(7, 0), (8, 1), (10, 1)])
def test_advance_stage_eighty_percent_of_the_last_ten(good, stage):
    assert play([BAD] * 100 + [BAD] * (10 - good) + [GOOD] * good).stage == stage


def test_advance_stage_old_success_does_not_count():
    assert play([GOOD] * 95 + [BAD] * 5).stage == 0
    assert play([GOOD] * 95 + [BAD] * 30).stage == 0


def test_advance_stage_never_skips_and_starts_afresh():
    state, seen = CurriculumState(), [0]
    for _ in range(5 * 100):
        after = advance_stage(state, GOOD)
        assert after.stage - state.stage in (0, 1)
        if after.stage != state.stage:
            assert (after.episodes, after.recent) == (0, ())
            seen.append(after.stage)
        state = after
    assert seen == [0, 1, 2, 3, 4]
    assert state.completed
    assert state.stage == 4


def test_advance_stage_failures_never_lead_down():
    state = play([GOOD] * 250)
    assert state.stage == 2
    assert play([BAD] * 300, state).stage == 2
    top = play([GOOD] * 500)
    assert play([BAD] * 50, top).completed


@pytest.mark.parametrize("index", range(5))
def test_is_success_exactly_at_the_limits(index):
    stage = STAGES[index]
    won = stage.min_win_rate_frac
    at = EpisodeResult(stage.min_sharpe, won, stage.min_trades)
    assert is_success(stage, at)
    assert not is_success(stage, replace(at, sharpe_annual=np.nextafter(stage.min_sharpe, -1)))
    assert not is_success(stage, replace(at, win_rate_frac=np.nextafter(won, 0)))
    assert not is_success(stage, replace(at, n_trades=stage.min_trades - 1))
    assert not is_success(stage, replace(at, sharpe_annual=float("nan")))


def test_episode_result_equals_numpy():
    returns = 1e-3 * stream(3, "test", "returns").standard_normal(512) + 1e-4
    account = ScalarAccount(
        peak=1.0,
        return_sum=returns.sum(),
        return_squares=(returns**2).sum(),
        steps=512,
        n_trades=8,
        n_wins=6,
    )
    result = episode_result(summarise(SimulatorParams(), account))
    assert result.sharpe_annual == pytest.approx(
        returns.mean() / returns.std() * math.sqrt(BARS_PER_YEAR)
    )
    assert (result.win_rate_frac, result.n_trades) == (0.75, 8)


def test_episode_result_without_trades_is_zero():
    rules = SimulatorParams()
    idle = ScalarAccount(peak=1.0, steps=512, cash=rules.account.initial_cash_ccy)
    assert episode_result(summarise(rules, idle)) == EpisodeResult(0.0, 0.0, 0)


def test_state_json_round_trip():
    state = play([GOOD] * 150 + [BAD, GOOD])
    assert CurriculumState.from_json(json.loads(json.dumps(state.to_json()))) == state


@pytest.mark.parametrize(
    "change",
    [
        {"stage": -1},
        {"stage": "2"},
        {"stage": True},
        {"episodes": True},
        {"recent": [1]},
        {"recent": [True]},
        {"other": 0},
    ],
)
def test_state_from_malformed_json_is_refused(change):
    with pytest.raises(ConfigError, match="to_json"):
        CurriculumState.from_json(CurriculumState().to_json() | change)


@pytest.mark.parametrize("values", ["{}", [], None, 3, {}])
def test_state_from_what_is_no_json_object_is_refused(values):
    with pytest.raises(ConfigError, match="curriculum state must be what to_json wrote, was"):
        CurriculumState.from_json(values)


def test_advance_stage_beyond_the_stages_is_refused():
    with pytest.raises(ConfigError, match="stage must be one of the curriculum's"):
        advance_stage(CurriculumState(stage=7), GOOD)


def test_rules_that_cannot_be_met_are_refused():
    with pytest.raises(ConfigError, match="min_episodes"):
        PassRule(min_episodes=5)
    with pytest.raises(ConfigError, match="cost_bps"):
        CurriculumStage("free", 0.5, 0.003, cost_bps=0.0, min_sharpe=0.3, min_trades=1)
