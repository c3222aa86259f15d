"""Rollouts against answers known in advance: closed forms, oracles, books that must agree."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents import Policy, PolicyInputs
from tradingbot.agents.baselines.market_rules import RandomTargets, buy_and_hold
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.synthetic.registry import generate
from tradingbot.domain.denial import ExitReason
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.build_world import world_from_bars
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World, cut_world, select_symbols
from tradingbot.evaluation.backtest.baselines import baseline, oracle_policy
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle.market_oracle import oracle_for, oracle_targets
from tradingbot.evaluation.oracle.simulation import simulate_targets
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.rollout import (
    PolicyRollout,
    account_figures,
    roll_out,
    sleeve_config,
)
from tradingbot.market.costs import COST_PROFILES, CostProfile
from tradingbot.market.params import AccountRules

COSTS = CostProfile()
COST_FRAC = COSTS.commission_frac + COSTS.slippage_frac
SYMBOLS = [f"S{index:02d}" for index in range(16)]
BARS_PER_YEAR = 1_746.0
WHOLE_BARS = sleeve_config(max_participation_frac=1.0)
"""No order is cut to a share of the volume, which no closed form knows of."""


def make_market(name: str, *, end: date = date(2024, 10, 1), seed: int = 1) -> SyntheticMarket:
    return generate(name, symbols=SYMBOLS, start=date(2024, 1, 2), end=end, seed=seed)


def world_of(market: SyntheticMarket) -> World:
    columns = (market.opens, market.highs, market.lows, market.closes, market.volumes)
    return world_from_bars(
        np.stack(columns, axis=-1).swapaxes(0, 1),
        np.ones(market.shape[::-1], dtype=bool),
        market.closed_at.astype("datetime64[us]").astype(np.int64),
        market.symbols,
        label=f"synthetic market {market.name!r}",
        synthetic=True,
    )


def rules_of(world: World) -> dict[str, Policy]:
    return {name: baseline(name, world, seed=3) for name in ("random", "buy_and_hold", "expert")}


@pytest.fixture(scope="module")
def market() -> SyntheticMarket:
    return make_market("planted")


@pytest.fixture(scope="module")
def world(market: SyntheticMarket) -> World:
    return world_of(market)


@pytest.fixture(scope="module")
def rollout(market: SyntheticMarket, world: World) -> PolicyRollout:
    oracle = oracle_policy(market, world, cost_frac=COST_FRAC, information=Information.ATTAINABLE)
    return roll_out(
        world, WHOLE_BARS, {**rules_of(world), "oracle": oracle}, bars_per_year=BARS_PER_YEAR
    )


def sleeves(rollout: PolicyRollout, policy: str) -> np.ndarray:
    return rollout.equity[:, rollout.policies.index(policy)]


def accounts(rollout: PolicyRollout, field: str) -> np.ndarray:
    """(P, N) of the account's figure."""
    return np.stack([getattr(each.account, field) for each in rollout.backtests])


def test_buy_and_hold_equity_is_the_closed_form_to_the_cent(
    world: World, rollout: PolicyRollout
) -> None:
    first = first_ready_bar(world)
    opens, closes = world.prices[:, first + 1, 0], world.prices[:, first:, 3]
    price = opens * (1.0 + COSTS.slippage_frac)
    units = np.minimum(
        1e5 / (1.0 + COST_FRAC) / closes[:, 0], 1e5 / (price * (1.0 + COSTS.commission_frac))
    )
    cash = 1e5 - units * price * (1.0 + COSTS.commission_frac)
    expected = (cash[:, None] + units[:, None] * closes[:, 1:]).T

    equity = sleeves(rollout, "buy_and_hold")

    assert (equity[0] == 1e5).all()
    assert np.abs(equity[1:] - expected).max() < 0.005


def test_oracle_earns_what_its_own_simulation_says(
    market: SyntheticMarket, world: World, rollout: PolicyRollout
) -> None:
    first = first_ready_bar(world)
    answer = oracle_for(market, cost_frac=COST_FRAC)
    targets = oracle_targets(market, cost_frac=COST_FRAC)
    targets[:first] = 0.0  # the rollout begins here
    net = simulate_targets(market.opens, market.closes, targets, cost_frac=COST_FRAC)
    equity = sleeves(rollout, "oracle")

    returns = equity[1:] / equity[:-1] - 1.0

    assert answer.simulated.net_bps_per_bar.covers(1e4 * returns.mean())
    # What is left is the cash an order must leave for a gap until its fill.
    assert 1e4 * returns.mean() == pytest.approx(1e4 * net[first + 1 :].mean(), abs=0.03)
    assert np.corrcoef(returns.ravel(), net[first + 1 :].ravel())[0, 1] > 0.999


def test_oracle_beats_random_and_holding_beyond_chance(rollout: PolicyRollout) -> None:
    measured = {each.policy: policy_performance(each, "baseline") for each in rollout.backtests}

    best = measured["oracle"].net_bps_per_bar
    assert best.low > measured["random"].net_bps_per_bar.high
    assert best.low > measured["buy_and_hold"].net_bps_per_bar.high
    assert measured["random"].total_return_frac < 0.0


def test_random_on_noise_without_costs_earns_nothing_beyond_chance() -> None:
    noise = world_of(make_market("noise"))

    free = roll_out(noise, sleeve_config(COST_PROFILES["free"]), {"random": RandomTargets(3)})

    measured = policy_performance(free.backtests[0], "baseline")
    assert measured.net_bps_per_bar.covers(0.0)
    assert measured.sharpe_annual.covers(0.0)
    assert account_figures(free.backtests[0]).costs_frac == 0.0
    assert measured.turnover_per_bar_frac == pytest.approx(5 / 12, rel=0.1)


def test_random_with_costs_pays_turnover_times_rate(rollout: PolicyRollout) -> None:
    paid = accounts(rollout, "commission_ccy") + accounts(rollout, "slippage_ccy")
    assert paid == pytest.approx(COST_FRAC * accounts(rollout, "turnover_ccy"), rel=2e-4)


def test_sleeves_are_invested_as_their_policies_want(rollout: PolicyRollout) -> None:
    invested = {each.policy: np.abs(each.position_frac).mean() for each in rollout.backtests}

    assert invested["buy_and_hold"] > 0.995
    assert invested["random"] == pytest.approx(0.5, abs=0.02)
    assert 0.1 < invested["expert"] < 0.9
    assert (rollout.backtests[1].denials == 0).all()


def test_closes_and_stamps_are_those_of_the_equity(world: World, rollout: PolicyRollout) -> None:
    first = first_ready_bar(world)

    assert np.array_equal(rollout.closed_at, world.closed_at[first:])
    assert np.array_equal(rollout.closes, world.prices[:, first:, 3].T)
    assert len(rollout.equity) == len(rollout.closed_at) == rollout.n_bars + 1


STOPS = AccountRules(
    stop_loss_frac=0.01,
    take_profit_frac=0.015,
    position_loss_frac=float("inf"),
    portfolio_loss_frac=1.0,
    max_participation_frac=0.001,
)


@pytest.mark.parametrize("account", [None, STOPS])
def test_trades_add_up_to_the_books(world: World, account: AccountRules | None) -> None:
    some = select_symbols(cut_world(world, 0, 600), SYMBOLS[:4])
    config = sleeve_config()
    if account is not None:
        config = replace(config, rules=replace(config.rules, account=account))
    made = roll_out(some, config, rules_of(some))
    trades = made.trades

    for policy in range(len(made.policies)):
        for symbol in range(len(made.symbols)):
            mine = trades.select((trades.policy == policy) & (trades.symbol == symbol))
            place = (policy, symbol)
            gained = made.equity[-1][place] - 1e5
            assert mine.pnl_ccy.sum() == pytest.approx(gained, abs=1e-6)
            assert mine.commission_ccy.sum() == pytest.approx(
                accounts(made, "commission_ccy")[place]
            )
            assert mine.slippage_ccy.sum() == pytest.approx(accounts(made, "slippage_ccy")[place])
            if not mine.is_open.any():
                assert mine.pnl_ccy.sum() == pytest.approx(
                    accounts(made, "realised_ccy")[place], abs=1e-6
                )
    by_price = trades.units * (trades.exit_price - trades.entry_price) - trades.commission_ccy
    assert trades.pnl_ccy == pytest.approx(by_price, abs=1e-6)
    assert (trades.exited_at >= trades.entered_at).all()
    assert (trades.bars >= 0).all()
    reasons = set(trades.reason.tolist())
    assert reasons == {0} if account is None else reasons >= {0, int(ExitReason.STOP_LOSS)}


def test_closed_trades_are_the_realised_profit(rollout: PolicyRollout) -> None:
    closed = ~rollout.trades.is_open
    for policy in range(len(rollout.policies)):
        for symbol in range(len(rollout.symbols)):
            mine = (rollout.trades.policy == policy) & (rollout.trades.symbol == symbol)
            if not (mine & ~closed).any():
                total = rollout.trades.pnl_ccy[mine].sum()
                assert total == pytest.approx(
                    accounts(rollout, "realised_ccy")[policy, symbol], abs=1e-6
                )
    assert closed.sum() > 1_000


def test_rollout_is_the_same_simulation_as_the_environments(world: World) -> None:
    some = select_symbols(cut_world(world, 0, 500), SYMBOLS[:3])
    random = RandomTargets(9)
    made = roll_out(some, sleeve_config(), {"random": random})
    lanes = BatchSimulator(
        some, made.config, 1, lanes="per_symbol", dtype=torch.float64, compile=False
    )
    lanes.reset(seed=0)
    assert int(lanes.account.row[0]) == first_ready_bar(some)
    size, terms = torch.zeros(3, dtype=torch.float64), 0.0

    for step in range(made.n_bars):
        account = lanes.account
        seen = PolicyInputs(account.row.long(), size, size, size[None])
        taken = lanes.step(random(seen))
        size, terms = taken.final_private[0], terms + taken.terms
        equity = lanes.before_reset(taken).equity
        assert made.equity[step + 1, 0] == pytest.approx(equity.numpy(), rel=1e-12)

    assert made.reward_terms[:, 0] == pytest.approx(terms.numpy(), abs=1e-9)
    assert made.reward_names == made.config.reward_stack.names


def test_what_comes_later_changes_nothing_before(world: World, rollout: PolicyRollout) -> None:
    past = cut_world(world, 0, 700)  # whose rules have never seen what is later
    followed = {name: policy for name, policy in rules_of(past).items() if name != "random"}

    shorter = roll_out(past, WHOLE_BARS, followed)

    assert shorter.policies == rollout.policies[1:3]
    assert np.array_equal(shorter.equity, rollout.equity[: len(shorter.equity), 1:3])


def test_ruined_account_stays_ruined(world: World) -> None:
    some = select_symbols(cut_world(world, 0, 600), SYMBOLS[:4])
    strict = replace(
        sleeve_config().rules,
        account=AccountRules(portfolio_loss_frac=0.01, max_participation_frac=1.0),
    )

    made = roll_out(some, replace(sleeve_config(), rules=strict), rules_of(some))

    halted = (made.equity <= 0.99 * 1e5).argmax(axis=0)
    assert (halted > 0).any()
    for policy, symbol in np.argwhere(halted > 0):
        after = made.equity[halted[policy, symbol] + 1 :, policy, symbol]
        assert (after == after[0]).all()
        assert after[0] < 1e5


def test_progress_is_told_up_to_the_last_bar(world: World) -> None:
    told: list[tuple[int, int, str]] = []
    some = select_symbols(cut_world(world, 0, 320), SYMBOLS[:1])

    made = roll_out(
        some, sleeve_config(), {"hold": buy_and_hold}, progress=lambda *a: told.append(a)
    )

    assert told[-1][:2] == (made.n_bars, made.n_bars)
    assert [finished for finished, _, _ in told] == sorted({finished for finished, _, _ in told})


def test_policy_sees_its_own_lanes_and_the_bar_at_hand(world: World) -> None:
    some = select_symbols(cut_world(world, 0, 230), SYMBOLS[:2])
    rows: list[list[int]] = []

    def look(seen: PolicyInputs) -> Tensor:
        rows.append(seen.row.tolist())
        symbol, bar = seen.row // some.n_bars, seen.row % some.n_bars
        assert np.array_equal(seen.regimes.numpy(), some.regimes[symbol, bar])
        assert np.array_equal(seen.features.numpy(), some.features[symbol, bar])
        assert seen.private.shape == (18, 2)
        return torch.zeros_like(seen.size)

    roll_out(some, sleeve_config(), {"random": RandomTargets(), "look": look})

    first = first_ready_bar(some)
    assert rows == [[bar, some.n_bars + bar] for bar in range(first, some.n_bars - 1)]


def test_rollout_begins_when_nine_of_ten_symbols_are_usable(world: World) -> None:
    usable = np.zeros_like(world.usable)
    usable[:14, 200:] = True
    usable[:15, 250:] = True

    assert first_ready_bar(replace(world, usable=usable)) == 250
    usable[14, 250:] = False
    assert first_ready_bar(replace(world, usable=usable)) == 200


def test_rollout_that_cannot_be_is_refused(world: World) -> None:
    config = sleeve_config()
    with pytest.raises(ConfigError, match="must have a policy"):
        roll_out(world, config, {})
    with pytest.raises(DataError, match="usable bar and one after it"):
        roll_out(cut_world(world, 0, 100), config, {"hold": buy_and_hold})


def test_oracle_of_another_market_is_refused(market: SyntheticMarket, world: World) -> None:
    other = replace(world, symbols=tuple(f"X{index}" for index in range(16)))
    later = replace(world, closed_at=world.closed_at + 1)
    for wrong in (other, later):
        with pytest.raises(DataError, match="every symbol and bar"):
            oracle_policy(market, wrong, cost_frac=0.0, information=Information.ATTAINABLE)


def test_oracle_follows_symbols_and_bars_of_a_part(market: SyntheticMarket, world: World) -> None:
    part = select_symbols(cut_world(world, 300, 500), ["S05", "S02"])

    policy = oracle_policy(market, part, cost_frac=COST_FRAC, information=Information.ATTAINABLE)

    table = policy.targets.reshape(2, -1).numpy()
    assert np.array_equal(table, oracle_targets(market, cost_frac=COST_FRAC)[300:501, [5, 2]].T)


@pytest.mark.parametrize("name", ["regimes", "hidden_trend", "opposed", "noise"])
def test_oracle_targets_are_those_of_the_oracle(name: str) -> None:
    made = make_market(name, end=date(2024, 3, 15))
    answer = oracle_for(made, cost_frac=COST_FRAC)

    targets = oracle_targets(made, cost_frac=COST_FRAC)

    net = simulate_targets(made.opens, made.closes, targets, cost_frac=COST_FRAC)[1:]
    assert 1e4 * net.mean() == pytest.approx(answer.simulated.net_bps_per_bar.estimate)


def test_oracle_of_an_unknown_market_is_refused(market: SyntheticMarket) -> None:
    with pytest.raises(ConfigError, match="must have an oracle"):
        oracle_targets(replace(market, name="plantd"), cost_frac=0.0)
