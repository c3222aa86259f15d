"""Backtests against closed forms and against the judge of training, bar for bar."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import small_world
from tradingbot.agents.baselines.market_rules import (
    RandomTargets,
    TargetTable,
    buy_and_hold,
    flat,
    table_of,
)
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.data.factor import bar_returns
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.config import EnvConfig
from tradingbot.evaluation.backtest import (
    Backtest,
    PolicyUnderTest,
    backtest,
    backtest_all,
    bars_between,
    baseline,
    random_like,
    ready_bars,
    simulation,
    sleeve_config,
)
from tradingbot.evaluation.backtest.attribution import attribute_backtest, world_factor
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.market.costs import COST_PROFILES, CostProfile

FIRST, LAST = 200, 400
BARS = IndexRange(FIRST, LAST + 1)
BARS_PER_YEAR = 1_764.0
WHOLE_BARS = sleeve_config(max_participation_frac=1.0)
FREE = sleeve_config(COST_PROFILES["free"], max_participation_frac=1.0, allow_short=True)


def played_by(policy: Policy, config: EnvConfig = WHOLE_BARS, **options: object) -> Backtest:
    chosen = {"bars": BARS} | options
    return backtest(small_world(), config, policy, name="it", bars_per_year=BARS_PER_YEAR, **chosen)  # type: ignore[arg-type]


def table(*pieces: tuple[int, int, float]) -> TargetTable:
    """Targets of all symbols: (first bar, bar after the last, target)."""
    world = small_world()
    targets = np.zeros((world.n_symbols, world.n_bars))
    for start, stop, target in pieces:
        targets[:, start:stop] = target
    return table_of(targets)


def test_hold_is_the_closed_form() -> None:
    world, costs = small_world(), WHOLE_BARS.costs
    opens, closes = world.prices[:, FIRST + 1, 0], world.prices[:, FIRST : LAST + 1, 3]
    rate = costs.commission_frac + costs.slippage_frac
    price = opens * (1.0 + costs.slippage_frac)
    units = np.minimum(
        1.0 / (1.0 + rate) / closes[:, 0], 1.0 / (price * (1.0 + costs.commission_frac))
    )
    cash = 1.0 - units * price * (1.0 + costs.commission_frac)
    expected = (cash[:, None] + units[:, None] * closes[:, 1:]).T

    held = played_by(buy_and_hold)

    assert (held.equity[0] == 1.0).all()
    np.testing.assert_allclose(held.equity[1:], expected, rtol=1e-9)
    np.testing.assert_allclose(held.turnover_frac[0], units * price, rtol=1e-9)
    np.testing.assert_allclose(
        held.cost_frac[0], units * price * costs.commission_frac + units * (price - opens)
    )
    assert (held.turnover_frac[1:] == 0.0).all()
    assert (held.cost_frac[1:] == 0.0).all()
    np.testing.assert_allclose(held.position_frac, units * closes[:, 1:].T / expected, rtol=1e-9)
    assert held.trades.is_open.all()
    assert len(held.trades) == 3


def test_short_earns_what_the_price_falls_and_is_one_trade() -> None:
    world = small_world()
    shorted = played_by(table((FIRST, FIRST + 20, -0.5)), FREE)

    entry, leave = world.prices[:, FIRST + 1, 0], world.prices[:, FIRST + 21, 0]
    units = 0.5 / world.prices[:, FIRST, 3]
    gained = units * (entry - leave)
    adjusted = (shorted.turnover_frac > 0.0).sum(axis=0) > 2  # drifted away from the target
    assert not adjusted.all()
    np.testing.assert_allclose(shorted.equity[-1, ~adjusted] - 1.0, gained[~adjusted], rtol=1e-9)
    assert (shorted.position_frac[:20] < 0.0).all()
    assert (shorted.position_frac[20:] == 0.0).all()
    assert (shorted.trades.side == -1).all()
    np.testing.assert_allclose(shorted.trades.pnl_ccy / 1e5, shorted.equity[-1] - 1.0, rtol=1e-9)


def test_turning_a_position_is_two_trades_that_add_up() -> None:
    turned = played_by(
        table((FIRST, FIRST + 9, 0.5), (FIRST + 9, FIRST + 30, -0.5)),
        sleeve_config(COST_PROFILES["alpaca"], max_participation_frac=1.0, allow_short=True),
    )

    assert turned.trades.side.reshape(3, 2).tolist() == [[1, -1]] * 3
    gained = turned.trades.pnl_ccy.reshape(3, 2).sum(axis=1)
    np.testing.assert_allclose(gained / 1e5, turned.equity[-1] - 1.0, rtol=1e-9)
    assert (turned.trades.exited_at[::2] == turned.trades.entered_at[1::2]).all()


def test_portfolio_is_the_mean_of_sleeves_and_costs_are_what_free_trading_keeps() -> None:
    random = RandomTargets(3)
    paid, free = played_by(random), played_by(random, sleeve_config(COST_PROFILES["free"]))

    np.testing.assert_allclose(paid.portfolio, paid.equity.mean(axis=1))
    assert paid.portfolio_returns.shape == (LAST - FIRST,)
    assert paid.portfolio[-1] < free.portfolio[-1]
    assert (free.cost_frac == 0.0).all()
    rate = WHOLE_BARS.costs.commission_frac + WHOLE_BARS.costs.slippage_frac
    np.testing.assert_allclose(paid.cost_frac, rate * paid.turnover_frac, rtol=2e-4, atol=1e-12)
    measured = policy_performance(paid, "baseline")
    assert measured.turnover_per_bar_frac == pytest.approx(paid.turnover_frac.mean())
    assert 0.3 < measured.exposure_frac < 0.7
    worth = paid.equity[:-1] * paid.initial_cash_ccy
    traded = (paid.turnover_frac * worth).sum(axis=0)
    np.testing.assert_allclose(paid.account.turnover_ccy, traded, rtol=1e-9)
    fees = paid.account.commission_ccy + paid.account.slippage_ccy
    np.testing.assert_allclose(fees, (paid.cost_frac * worth).sum(axis=0), rtol=1e-9)


def test_delayed_decision_is_executed_so_many_bars_later_and_not_adjusted() -> None:
    wanted = table((FIRST + 3, FIRST + 40, 0.5))  # half: what is held drifts with the price
    for delay in (0, 1, 3):
        late = played_by(wanted, delay_bars=delay)
        traded = np.flatnonzero(late.turnover_frac[:, 0])
        entered, left = 3 + delay, 40 + delay
        assert traded[0] == entered
        assert traded[-1] == left
        # Until the first fill is seen, the same order is given again; afterwards nothing is.
        assert set(traded) <= {*range(entered, entered + delay + 1), left}
        assert late.delay_bars == delay


@pytest.mark.parametrize("delay", [1, 2, 3])
@pytest.mark.parametrize("lanes", ["native", "tensors"])
def test_wish_for_nothing_while_an_entry_waits_is_no_wish_to_keep_it(
    lanes: str, delay: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lanes == "tensors":
        monkeypatch.setattr(simulation, "native_trade", lambda *_: None)

    late = played_by(table((FIRST + 3, FIRST + 4, 0.5)), delay_bars=delay)

    traded = np.flatnonzero(late.turnover_frac[:, 0])
    assert traded.tolist() == [3 + delay, 4 + delay]  # in, and out at the very next open


def test_what_comes_later_changes_nothing_before() -> None:
    world, middle = small_world(), 300
    prices = world.prices.copy()
    prices[:, middle + 1 :, :4] *= 1.3
    other = replace(world, prices=prices)
    for name in ("sma_cross", "macd", "expert", "random", "buy_and_hold"):
        policies = [
            [PolicyUnderTest(name, baseline(name, each), delay_bars=delay) for delay in (0, 2)]
            for each in (world, other)
        ]
        first, second = (
            backtest_all(place, WHOLE_BARS, who, bars_per_year=1.0, bars=BARS)
            for place, who in zip((world, other), policies, strict=True)
        )
        for one, two in zip(first, second, strict=True):
            known = middle - FIRST + 1
            assert np.array_equal(one.equity[:known], two.equity[:known])
            assert name == "random" or not np.array_equal(one.equity, two.equity)


def test_policies_of_one_simulation_are_what_they_are_alone() -> None:
    random, dear = RandomTargets(5), CostProfile(commission_frac=30e-4)
    policies = [
        PolicyUnderTest("usual", random),
        PolicyUnderTest("dear", random, costs=dear),
        PolicyUnderTest("late", random, delay_bars=2),
        PolicyUnderTest("flat", flat),
    ]
    together = backtest_all(small_world(), WHOLE_BARS, policies, bars_per_year=1.0, bars=BARS)

    alone = [
        played_by(random),
        played_by(random, replace(WHOLE_BARS, costs=dear)),
        played_by(random, delay_bars=2),
        played_by(flat),
    ]
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one.equity, other.equity)
        assert np.array_equal(one.trades.pnl_ccy, other.trades.pnl_ccy)
        assert one.costs == other.costs
        assert (one.trades.policy == 0).all()
    assert together[1].portfolio[-1] < together[0].portfolio[-1]
    assert (together[3].equity == 1.0).all()


def test_sweep_in_several_batches_is_the_same_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, told = small_world(), []
    policies = [baseline(name, world) for name in ("expert", "random", "macd")]
    policies = [
        PolicyUnderTest(f"{place}", each) for place, each in enumerate([*policies, *policies])
    ]

    def swept() -> tuple[Backtest, ...]:
        return backtest_all(
            world,
            WHOLE_BARS,
            policies,
            bars_per_year=12.0,
            bars=IndexRange(FIRST, FIRST + 61),
            progress=lambda done, total, _: told.append(done / total),
        )

    whole = swept()
    monkeypatch.setattr("tradingbot.evaluation.backtest.backtests._MOST_NUMBERS", 1)
    told.clear()
    pieces = swept()

    assert [each.policy for each in pieces] == ["0", "1", "2", "3", "4", "5"]
    assert told == sorted(told)
    assert told[-1] == 1.0
    for one, other in zip(whole, pieces, strict=True):
        assert np.array_equal(one.equity, other.equity)
        assert other.bars_per_year == 12.0
    assert np.array_equal(whole[0].equity, whole[3].equity)
    assert not np.array_equal(whole[0].equity, whole[1].equity)


def test_random_policy_matches_the_turnover_of_another() -> None:
    world = small_world()
    model = played_by(baseline("sma_cross", world))

    likes = [played_by(random_like(model, world, seed=seed)) for seed in range(12)]

    turnover = np.mean([each.turnover_frac.mean() for each in likes])
    assert turnover == pytest.approx(model.turnover_frac.mean(), rel=0.25)
    exposure = np.mean([each.position_frac.mean() for each in likes])
    assert exposure == pytest.approx(model.position_frac.mean(), abs=0.1)
    with pytest.raises(DataError, match="symbols and bars of its reference"):
        random_like(replace(model, symbols=("A", "B", "C")), world, seed=0)


def test_policy_sees_which_codes_are_allowed() -> None:
    asked: list[Tensor] = []

    def hold(seen: PolicyInputs) -> Tensor:
        assert seen.allowed is not None
        asked.append(seen.allowed)
        return torch.zeros(len(seen.row), dtype=torch.int64)

    played_by(hold, EnvConfig().with_space("discrete"), bars=IndexRange(FIRST, FIRST + 4))

    assert asked[0].shape == (7, 3)
    assert asked[0][0].all()
    assert not asked[0][4:].any()  # nothing to sell or add to


def test_days_are_bars_and_too_little_is_refused() -> None:
    world = small_world()
    days = np.unique(world.closed_at.astype("datetime64[us]").astype("datetime64[D]"))
    day: date = days[5].item()
    bars = bars_between(world, day, day)

    assert len(bars) in (6, 7)
    assert (
        world.closed_at[bars.start : bars.stop].astype("datetime64[us]").astype("datetime64[D]")
        == days[5]
    ).all()
    with pytest.raises(DataError, match="days of a backtest must hold a bar"):
        bars_between(world, date(2050, 1, 1), None)
    with pytest.raises(DataError, match="usable bar and one after it"):
        ready_bars(world, bars)
    with pytest.raises(DataError, match=r"one after it, both in the data, was bars 200 … 420"):
        played_by(flat, bars=IndexRange(FIRST, 421))
    with pytest.raises(DataError, match="bars 200 … 200"):
        played_by(flat, bars=IndexRange(FIRST, 201))
    with pytest.raises(ConfigError, match="must have a policy"):
        backtest_all(world, WHOLE_BARS, [], bars_per_year=1.0)
    with pytest.raises(ConfigError, match="delay_bars must lie"):
        played_by(flat, delay_bars=-1)


def test_result_says_what_it_is_of() -> None:
    played = played_by(flat)

    assert played.n_bars == LAST - FIRST
    assert played.synthetic
    assert played.first_day in played.label
    assert played.last_day == str(played.days()[-1])
    assert played.costs == WHOLE_BARS.costs
    assert played.reward_names == WHOLE_BARS.reward_stack.names
    assert played.reward_terms.shape == (len(played.reward_names), 3)
    assert played.action.shape == played.position_frac.shape == (LAST - FIRST, 3)


def test_closes_are_the_last_ones_known_and_none_before_a_symbol_is_there() -> None:
    world = small_world()
    present = world.present.copy()
    present[0, : FIRST + 5] = False
    present[1, FIRST + 7 : FIRST + 9] = False
    prices = np.where(present[..., None], world.prices, np.nan)
    late = replace(world, present=present, prices=prices, usable=world.usable & present)

    close = backtest(
        late, WHOLE_BARS, flat, name="it", bars_per_year=BARS_PER_YEAR, bars=BARS
    ).close

    assert close is not None
    assert close.shape == (LAST - FIRST + 1, world.n_symbols)
    assert np.isnan(close[:5, 0]).all()
    np.testing.assert_array_equal(close[5:, 0], world.prices[0, FIRST + 5 : LAST + 1, 3])
    assert close[8, 1] == close[7, 1] == world.prices[1, FIRST + 6, 3]


def test_exposure_times_returns_is_what_a_free_account_earned() -> None:
    """Gap at what was held before the open, the rest at what was held from then on."""
    played = played_by(RandomTargets(3), FREE)
    moves = bar_returns(small_world().prices, small_world().present)
    gap, whole = (part[:, FIRST + 1 : LAST + 1].T for part in moves)
    held = played.exposure
    stopped = played.trades.select(played.trades.reason != 0)
    assert len(stopped) == 0
    assert np.abs(held.day - held.gap).max() > 0.3
    moved = held.gap * gap + held.day * (whole - gap)
    np.testing.assert_allclose(played.returns, moved, atol=1e-12)


def test_what_was_earned_is_taken_apart_with_betas_of_bars_before() -> None:
    world, played = small_world(), played_by(RandomTargets(3))
    factor = world_factor(world, IndexRange(0, FIRST))
    parts = attribute_backtest(played, factor)
    np.testing.assert_allclose(parts.net, played.returns, atol=1e-15)
    assert np.abs(parts.market).max() > 0.0
    prices = world.prices.copy()
    prices[:, FIRST + 1 :, :4] *= 1.1
    later = world_factor(replace(world, prices=prices), IndexRange(0, FIRST))
    assert later.beta.tolist() == factor.beta.tolist()
    with pytest.raises(DataError, match="bars that are judged"):
        attribute_backtest(played, factor.during(IndexRange(0, 300)))
