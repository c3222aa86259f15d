"""Double entry: no action stream over no market makes or loses a cent that is not accounted for."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from fixtures.hostile_markets import profile_names, random_rules
from fixtures.streams import DecimalLedger, Scene, numbers, play, scene
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.market.account import Account
from tradingbot.market.advance import Advanced
from tradingbot.market.bars import Bar
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.market.simulation import Step
from tradingbot.risk import RiskLimits

LANES, STEPS = 160, 25
EXAMPLES, SLOW_EXAMPLES = 26, 260  # 160 · 25 · 26 = 104,000 actions, and ten times as many
REPLAYED_LANES = 8
EXACT = 1.0e-9

STRETCHED = SimulatorParams(
    AccountRules(maintenance_frac=1.5, position_loss_frac=1.0, portfolio_loss_frac=1.0),
    RiskLimits(max_position_frac=1.0, allow_short=True),
    ActionRules(space="target", smoothing_bars=1),
    EpisodeRules(episode_bars=40, window_bars=1),
)
"""Shorts as large as margin allows: what a margin call needs."""
ALL_IN = SimulatorParams(
    limits=RiskLimits(max_position_frac=1.0, max_stale_bars=100),
    action=ActionRules(space="target", smoothing_bars=1),
    episode=EpisodeRules(episode_bars=40, window_bars=1),
)
"""Buys for all cash, which costs and gaps make dearer than they looked."""

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
slow = settings(max_examples=SLOW_EXAMPLES, deadline=None, database=None)


def test_accounting_over_random_streams_adds_up() -> None:
    seen = Seen()

    @quick
    @example(rules=STRETCHED, profile="retail", seed=2)
    @example(rules=ALL_IN, profile="retail", seed=2)
    @given(rules=random_rules(), profile=profile_names(), seed=seeds)
    def check(rules: SimulatorParams, profile: str, seed: int) -> None:
        check_stream(scene(rules, profile, seed, n_lanes=LANES, n_steps=STEPS), seen)

    check()
    seen.require_every_corner()


@pytest.mark.slow
@slow
@given(rules=random_rules(), profile=profile_names(), seed=seeds)
def test_accounting_over_a_million_actions_adds_up(
    rules: SimulatorParams, profile: str, seed: int
) -> None:
    check_stream(scene(rules, profile, seed, n_lanes=LANES, n_steps=STEPS), Seen())


def check_stream(where: Scene, seen: Seen) -> None:
    """Keep books beside the simulator's and compare them after every step."""
    books = Books(where)
    for taken in play(where):
        bar = where.bar_after(taken.advanced.before)
        seen.note(taken)
        books.follow(taken.advanced, bar)
        check_numbers(taken)
        check_market_allows(where.rules, taken.advanced, bar)
        check_limits(where.rules, taken.advanced)
        books.compare(taken.advanced.after)
        books.restart(taken.terminated | taken.truncated)


class Seen:
    """What happened in the streams: they would prove little if nothing did."""

    def __init__(self) -> None:
        self.denials: set[int] = set()
        self.exits: set[int] = set()
        self.counts: Counter[str] = Counter()

    def note(self, taken: Step) -> None:
        """Count the events of one step."""
        advanced = taken.advanced
        was, now, fill = advanced.before, advanced.after, advanced.fill
        self.denials.update(advanced.denial.tolist())
        self.exits.update(advanced.exit_reason.tolist())
        filled = fill.units != 0.0
        self.counts["actions"] += was.cash.shape[0]
        self.counts["fills"] += int(filled.sum())
        self.counts["spent"] += int((filled & (now.cash < 1e-9 * was.equity)).sum())
        self.counts["shorts"] += int((now.units < 0).sum())
        self.counts["flips"] += int((was.units * now.units < 0).sum())
        self.counts["halted"] += int(now.halted.sum())
        self.counts["terminated"] += int(taken.terminated.sum())
        self.counts["cut"] += int((filled & (fill.units.abs() < 0.99 * advanced.order.abs())).sum())

    def require_every_corner(self) -> None:
        """Assert that the streams went everywhere actions can lead."""
        assert self.counts["actions"] >= 100_000
        assert self.exits == {int(reason) for reason in ExitReason} - {int(ExitReason.DELISTED)}
        # Orders are sized to respect the other rules, which guard against other callers.
        reachable = (Denial.NONE, Denial.STALE_DATA, Denial.MAX_ORDER_VALUE, Denial.MIN_TRADE_VALUE)
        assert self.denials == {int(denial) for denial in reachable}
        assert all(count > 50 for count in self.counts.values()), self.counts


class Books:
    """What accounts should hold, from fills, closes and rates alone."""

    def __init__(self, where: Scene) -> None:
        self.rules, self.rates = where.rules, where.rates
        start = where.open()
        self.initial = torch.full_like(start.cash, where.rules.account.initial_cash_ccy)
        self.sums = {
            name: torch.zeros_like(start.cash)
            for name in ("gross", "fees", "slippage", "borrow", "turnover")
        }
        self.scale = self.initial.clone()
        self.ledgers = [DecimalLedger(float(self.initial[0])) for _ in range(REPLAYED_LANES)]

    def follow(self, advanced: Advanced, bar: Bar) -> None:
        """Book what one step reports."""
        was, now = advanced.before, advanced.after
        gross = now.units * bar.close - was.units * was.mark
        for fill in (advanced.fill, advanced.exit_fill):
            gross = gross - fill.units * fill.base
            assert_close(
                fill.fee, self.rates.commission_frac * fill.units.abs() * fill.price, self.scale
            )
            # Costs never work for the trader.
            assert ((fill.price - fill.base) * torch.sign(fill.units) >= 0.0).all()
            assert (fill.price[fill.units != 0.0] > 0.0).all()
            self.sums["fees"] += fill.fee
            self.sums["slippage"] += fill.units.abs() * (fill.price - fill.base).abs()
            self.sums["turnover"] += fill.units.abs() * fill.price
        borrow = self.rates.borrow_frac_per_bar * (-now.units).clamp_min(0.0) * bar.close
        self.sums["borrow"] += borrow
        self.sums["gross"] += gross
        held = torch.maximum(was.units.abs(), now.units.abs())
        prices = torch.stack((was.mark, bar.high, now.entry)).amax(0)
        self.scale = torch.maximum(self.scale, now.cash.abs() + held * prices)
        self._replay(advanced, borrow)

    def _replay(self, advanced: Advanced, borrow: Tensor) -> None:
        for lane, ledger in enumerate(self.ledgers):
            for fill in (advanced.fill, advanced.exit_fill):
                if fill.units[lane] != 0.0:
                    ledger.book(*(numbers(x, lane) for x in (fill.units, fill.price, fill.fee)))
            ledger.pay(numbers(borrow, lane))

    def compare(self, now: Account) -> None:
        """Compare everything an account says of itself."""
        sums = self.sums
        unrealised = now.units * (now.mark - now.entry)
        assert_close(now.cash + now.units * now.mark, now.equity, self.scale)
        assert_close(now.equity, self.initial + now.realised + unrealised, self.scale)
        costs = sums["fees"] + sums["slippage"] + sums["borrow"]
        assert_close(now.equity, self.initial + sums["gross"] - costs, self.scale)
        assert_close(now.commission_paid, sums["fees"], self.scale)
        assert_close(now.slippage_paid, sums["slippage"], self.scale)
        assert_close(now.borrow_paid, sums["borrow"], self.scale)
        assert_close(now.turnover, sums["turnover"], self.scale)
        assert_close(now.gross_profit - now.gross_loss + now.trade_pnl, now.realised, self.scale)
        assert ((now.units == 0.0) == (now.entry == 0.0)).all()
        assert (now.n_wins <= now.n_trades).all()
        for lane, ledger in enumerate(self.ledgers):
            scale = numbers(self.scale, lane)
            assert abs(float(ledger.cash) - numbers(now.cash, lane)) <= EXACT * scale
            assert abs(float(ledger.realised) - numbers(now.realised, lane)) <= EXACT * scale
            assert float(ledger.units) == pytest.approx(numbers(now.units, lane), rel=1e-9, abs=0)
            assert float(ledger.entry) == pytest.approx(numbers(now.entry, lane), rel=1e-9, abs=0)

    def restart(self, ended: Tensor) -> None:
        """Begin new books for episodes that ended."""
        for name in self.sums:
            self.sums[name] = torch.where(ended, 0.0, self.sums[name])
        self.scale = torch.where(ended, self.initial, self.scale)
        for lane in range(REPLAYED_LANES):
            if ended[lane]:
                self.ledgers[lane] = DecimalLedger(float(self.initial[0]))


def assert_close(found: Tensor, expected: Tensor, scale: Tensor) -> None:
    """Compare money, relative to the largest amount an account has handled."""
    error = ((found - expected).abs() / scale).max()
    assert error <= EXACT, f"off by {float(error):.3g} of the account"


def check_numbers(taken: Step) -> None:
    """Nothing is unknown, ends exclude each other, observations keep their bounds."""
    for account in (taken.advanced.after, taken.account):
        for name, field in account._asdict().items():
            assert torch.isfinite(field).all(), name
    for record in (taken.advanced.fill, taken.advanced.exit_fill):
        assert all(torch.isfinite(field).all() for field in record)
    assert not (taken.terminated & taken.truncated).any()
    low = torch.tensor([[f.low] for f in PRIVATE_FEATURES])
    high = torch.tensor([[f.high] for f in PRIVATE_FEATURES])
    for private in (taken.private, taken.final_private):
        assert ((private >= low) & (private <= high)).all()


def check_market_allows(rules: SimulatorParams, advanced: Advanced, bar: Bar) -> None:
    """Fills happen in the next bar, at its prices, within its volume, or not at all."""
    traded = advanced.fill.units.abs() + advanced.exit_fill.units.abs()
    assert (traded[(bar.tradable == 0.0) | (bar.volume == 0.0)] == 0.0).all()
    cap = rules.account.max_participation_frac * bar.volume
    assert (traded <= cap * (1.0 + 1e-9)).all()
    filled = advanced.fill.units != 0.0
    base = bar.open if rules.episode.fill_at == "next_open" else advanced.before.mark
    assert torch.equal(advanced.fill.base[filled], base[filled])
    left = advanced.exit_fill.units != 0.0
    # A stop is a price computed from the entry: it may miss the bar by its own rounding.
    assert (advanced.exit_fill.base >= bar.low * (1.0 - 1e-12))[left].all()
    assert (advanced.exit_fill.base <= bar.high * (1.0 + 1e-12))[left].all()
    assert torch.equal(advanced.after.mark, bar.close)


def check_limits(rules: SimulatorParams, advanced: Advanced) -> None:
    """Denied orders are nothing, accepted ones keep the limits, long-only accounts owe nothing."""
    was, order = advanced.before, advanced.order
    assert (order[advanced.denial != int(Denial.NONE)] == 0.0).all()
    assert (advanced.fill.units.abs() <= order.abs() * (1.0 + 2e-9)).all()
    assert (advanced.fill.units * torch.sign(order) >= 0.0).all()
    wanted = was.units + order
    grows = wanted.abs() > was.units.abs()
    value, equity = wanted.abs() * was.mark, was.equity
    assert (value <= rules.limits.max_position_frac * equity * (1.0 + 1e-8))[grows].all()
    opened = torch.where(wanted * was.units < 0.0, wanted.abs(), order.abs()) * was.mark
    assert (opened <= rules.limits.max_order_frac * equity * (1.0 + 1e-8))[grows].all()
    buys = (order > 0.0) & (wanted > 0.0)
    left = was.cash - order * was.mark
    assert (left >= rules.limits.reserve_frac * equity - 1e-8 * equity)[buys].all()
    if not rules.limits.allow_short:
        assert (advanced.after.cash >= 0.0).all()
        assert (advanced.after.units >= 0.0).all()
        assert (advanced.after.borrow_paid == 0.0).all()
