"""What must not matter does not: the future, other lanes, the unit of money. What must, does."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from fixtures.hostile_markets import hostile_bars, profile_names, random_actions, random_rules
from fixtures.streams import Scene, play, same, scene
from tradingbot.domain.denial import Denial
from tradingbot.domain.seeding import stream
from tradingbot.market import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.market.account import COUNT_FIELDS, Account, open_accounts
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import advance_order
from tradingbot.market.bars import tensor_market
from tradingbot.market.costs import CostProfile, cost_profile
from tradingbot.market.episodes import fixed_symbols
from tradingbot.risk import RiskLimits

few = settings(max_examples=8, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
START, LENGTH = 30, 20
GUARDED = SimulatorParams(
    AccountRules(portfolio_loss_frac=0.02),
    RiskLimits(1.0, allow_short=True, margin_frac=3.0),
    episode=EpisodeRules(episode_bars=40, window_bars=1),
)
"""Short accounts that need much margin and are soon halted."""
RESERVED = SimulatorParams(
    limits=RiskLimits(1.0, reserve_frac=0.5, min_trade_ccy=0.0),
    episode=EpisodeRules(episode_bars=40, window_bars=1),
)
"""Long accounts that must keep half of their equity in cash."""


def clocked(rules: SimulatorParams, profile: str, seed: int, changed_from: int) -> Scene:
    """Begin all lanes at one bar of a market that is another one from `changed_from` on."""
    episode = dataclasses.replace(rules.episode, episode_bars=LENGTH)
    prices, present = hostile_bars(stream(seed, "bars"), 8, START + LENGTH + 2)
    other_prices, other_present = hostile_bars(stream(seed, "other"), 8, START + LENGTH + 2)
    prices[:, changed_from:] = other_prices[:, changed_from:]
    present[:, changed_from:] = other_present[:, changed_from:]
    possible = np.zeros_like(present)
    possible[:, START] = True
    return Scene(
        dataclasses.replace(rules, episode=episode),
        cost_profile(profile).rates(dtype=torch.float64),
        tensor_market(prices, present, dtype=torch.float64),
        fixed_symbols(possible, 8, seed),
        random_actions(stream(seed, "actions"), rules.action.space, (LENGTH - 1, 64)),
    )


@few
@given(rules=random_rules(), profile=profile_names(), seed=seeds)
def test_step_when_later_bars_change_is_the_same(
    rules: SimulatorParams, profile: str, seed: int
) -> None:
    changed = START + LENGTH // 2
    differs = False
    for known, other in zip(
        play(clocked(rules, profile, seed, 10**9)),
        play(clocked(rules, profile, seed, changed)),
        strict=True,
    ):
        # Lanes that ended begin anew at the start: only the first episode has a common clock.
        first = (known.advanced.before.episode == 0) & (other.advanced.before.episode == 0)
        filled_in = known.advanced.before.row % (START + LENGTH + 2) + 1
        before, at = first & (filled_in < changed), first & (filled_in <= changed)
        assert same(known.advanced.after, other.advanced.after, before)
        for a, b in zip(known.advanced.fill, other.advanced.fill, strict=True):
            assert torch.equal(a[before], b[before])
        # The bar an order is filled in has no say in the order.
        assert torch.equal(known.advanced.order[at], other.advanced.order[at])
        assert torch.equal(known.advanced.denial[at], other.advanced.denial[at])
        differs |= not same(known.advanced.after, other.advanced.after, at)
    assert differs


@few
@given(rules=random_rules(), profile=profile_names(), seed=seeds)
def test_lanes_in_another_order_are_the_same_lanes(
    rules: SimulatorParams, profile: str, seed: int
) -> None:
    where = scene(rules, profile, seed, n_steps=20)
    order = torch.from_numpy(stream(seed, "order").permutation(64))
    starts = where.starts._replace(key=where.starts.key[order], offset=where.starts.offset[order])
    shuffled = dataclasses.replace(where, starts=starts, actions=where.actions[:, order])
    for taken, other in zip(play(where), play(shuffled), strict=True):
        assert same(Account(*(x[..., order] for x in taken.account)), other.account)
        assert torch.equal(taken.reward[order], other.reward)


@few
@given(rules=random_rules(), profile=profile_names(), seed=seeds)
def test_lane_with_other_actions_leaves_the_rest_alone(
    rules: SimulatorParams, profile: str, seed: int
) -> None:
    where = scene(rules, profile, seed, n_steps=20)
    actions = where.actions.clone()
    actions[:, 5] = random_actions(stream(seed, "5"), rules.action.space, (20,))
    rest = torch.arange(64) != 5
    for taken, other in zip(
        play(where), play(dataclasses.replace(where, actions=actions)), strict=True
    ):
        assert same(taken.account, other.account, rest)
        assert torch.equal(taken.private[:, rest], other.private[:, rest])


@few
@given(rules=random_rules(), profile=profile_names(), seed=seeds, power=st.integers(-12, 12))
def test_money_in_another_unit_scales_exactly(
    rules: SimulatorParams, profile: str, seed: int, power: int
) -> None:
    k = 2.0**power
    account = dataclasses.replace(
        rules.account, initial_cash_ccy=rules.account.initial_cash_ccy * k
    )
    limits = dataclasses.replace(rules.limits, min_trade_ccy=rules.limits.min_trade_ccy * k)
    where = scene(rules, profile, seed, n_steps=20)
    rows = where.market.rows.clone()
    rows[:, :4] *= k
    scaled = dataclasses.replace(
        where,
        rules=dataclasses.replace(rules, account=account, limits=limits),
        market=where.market._replace(rows=rows),
    )
    for taken, other in zip(play(where), play(scaled), strict=True):
        for name in ("cash", "entry", "mark", "realised", "commission_paid", "turnover"):
            assert torch.equal(getattr(taken.account, name) * k, getattr(other.account, name)), name
        assert torch.equal(taken.account.units, other.account.units)
        for name in COUNT_FIELDS:
            assert torch.equal(getattr(taken.account, name), getattr(other.account, name)), name


@few
@given(rules=random_rules(), profile=profile_names(), seed=seeds)
def test_actions_of_nothing_leave_cash_untouched(
    rules: SimulatorParams, profile: str, seed: int
) -> None:
    where = scene(rules, profile, seed, n_steps=10)
    still = dataclasses.replace(where, actions=torch.zeros_like(where.actions))
    for taken in play(still):
        now = taken.advanced.after
        assert (now.cash == rules.account.initial_cash_ccy).all()
        for name in ("units", "realised", "turnover", "violations", "denials", "n_trades"):
            assert (getattr(now, name) == 0).all(), name
        assert not taken.terminated.any()


def ordered(account: Account, order: Tensor) -> Decision:
    """Decide on an order in units, whatever the account is."""
    zero = torch.zeros_like(account.row)
    return Decision(order, zero, zero, zero.bool(), account.smoothed, zero)


@few
@given(seed=seeds)
def test_costs_that_are_higher_never_raise_equity(seed: int) -> None:
    rng = stream(seed, "calm")
    close = 100.0 * np.exp(rng.normal(0.0, 0.005, (1, 60)).cumsum(1))
    volume = np.where(rng.random((1, 60)) < 0.1, 0.0, 1.0e4)
    market = tensor_market(
        np.stack((close, close * 1.01, close * 0.99, close, volume), axis=-1),
        rng.random((1, 60)) > 0.1,
        dtype=torch.float64,
    )
    factors = torch.linspace(0.0, 8.0, 9, dtype=torch.float64)
    costs = CostProfile(2e-4, 1e-4, 2e-4, 0.5, 1e-4).rates(dtype=torch.float64)
    rates = type(costs)(*(rate * factors for rate in costs))
    rules = SimulatorParams(
        AccountRules(position_loss_frac=1.0),
        RiskLimits(1.0, min_trade_ccy=0.0, allow_short=True, max_stale_bars=10**6),
        episode=EpisodeRules(),
    )
    row = torch.full((9,), 30, dtype=torch.int32)
    account = open_accounts(1.0e5, row, market.bar(row).close)
    for size in rng.integers(-3, 4, 25) * 8.0:
        decision = ordered(account, torch.full((9,), size, dtype=torch.float64))
        bar = market.bar(account.row + 1)
        account = advance_order(rules, rates, account, bar, decision, largest=account.equity).after
        assert (account.units == account.units[0]).all()
        assert (account.equity.diff() <= 0.0).all()
    assert account.equity[-1] < account.equity[0]


def test_gate_with_any_orders_keeps_every_limit() -> None:
    seen: set[int] = set()

    @few
    @example(rules=GUARDED, profile="retail", seed=4)
    @example(rules=RESERVED, profile="retail", seed=4)
    @given(rules=random_rules(), profile=profile_names(), seed=seeds)
    def check(rules: SimulatorParams, profile: str, seed: int) -> None:
        where = scene(rules, profile, seed, n_lanes=256, n_steps=20)
        rng = stream(seed, "orders")
        account = where.open()
        for _ in range(20 if rules.episode.episode_bars > 20 else rules.episode.episode_bars):
            value = account.equity * torch.from_numpy(rng.normal(0.0, 1.0, 256) ** 3)
            order = torch.from_numpy(rng.choice([0.0, 1.0, 1.0, np.nan], 256)) * value
            decision = ordered(account, order / account.mark)
            bar = where.bar_after(account)
            done = advance_order(rules, where.rates, account, bar, decision, largest=account.equity)
            seen.update(done.denial.tolist())
            keeps_limits(rules, account, done.order)
            account = done.after
            assert all(torch.isfinite(field).all() for field in account)
            assert rules.limits.allow_short or (account.cash >= 0.0).all()

    check()
    assert seen == {int(denial) for denial in Denial}


def keeps_limits(rules: SimulatorParams, was: Account, order: Tensor) -> None:
    """Assert that orders which open or increase respect position, order, reserve and margin."""
    limits, wanted = rules.limits, was.units + order
    near = 1e-8 * was.equity.abs()
    grows = wanted.abs() > was.units.abs()
    left = was.cash - order * was.mark
    assert (wanted.abs() * was.mark <= limits.max_position_frac * was.equity + near)[grows].all()
    opened = torch.where(wanted * was.units < 0.0, wanted.abs(), order.abs()) * was.mark
    assert (opened <= limits.max_order_frac * was.equity + near)[grows].all()
    assert (left >= limits.reserve_frac * was.equity - near)[(order > 0) & (wanted > 0)].all()
    short = grows & (wanted < 0.0)
    assert (left >= -limits.margin_frac * wanted * was.mark - near)[short].all()
    assert limits.allow_short or not short.any()
    assert (was.stale_bars <= limits.max_stale_bars)[grows].all()
    assert not (grows & (was.halted != 0)).any()
