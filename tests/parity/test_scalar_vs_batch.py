"""The batched simulator equals the scalar one, step for step, wherever either can be driven."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from fixtures.nasty_streams import nasty_market
from fixtures.scalar_courses import (
    ATOL,
    CASH,
    N_LANES,
    OPTIONS,
    RTOL,
    SPACES,
    Course,
    drive,
    first_difference,
    lane_rates,
    numbers_of,
    profile_of,
    random_rules,
    restored,
    rules_of,
    run,
    scalar_bars,
)
from reference.scalar_simulator import (
    ScalarAccount,
    ScalarBar,
    open_account,
    scalar_advance,
)
from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.domain.seeding import stream
from tradingbot.market.account import select
from tradingbot.market.advance import advance
from tradingbot.market.bars import STALE_COLUMN, Bar
from tradingbot.market.episodes import begin, begin_next, drawn_symbols, start_row


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("space", SPACES)
def test_batched_step_equals_scalar_step(space: str, option: str) -> None:
    course = run(space, option)

    assert first_difference(course.batch, course.scalar) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_batched_step_equals_scalar_step_by_random_rules(seed: int) -> None:
    rng = stream(seed, "random rules")
    for _ in range(10):
        rules = random_rules(rng)
        course = drive(rules, rng)

        assert first_difference(course.batch, course.scalar) is None, rules


def events_of(course: Course) -> Iterator[str]:
    """Name what happened in a course."""
    for reason in ExitReason:
        yield from [reason.name] * int((course["exit_reason"] == reason).any())
    for denial in Denial:
        yield from [denial.name] * int((course["denial"] == denial).any())
    for code in Action:
        yield from [code.name] * int((course["decision.code"] == code).any())
    units, fill, order = course["after.units"], course["fill.units"], course["order"]
    before = np.vstack([np.zeros(N_LANES), units[:-1]])
    equity = course["after.cash"] + units * course["after.mark"]
    base = course["fill.base"]
    tried = (order != 0.0) & (course["fill.units"] != 0.0)
    cut = tried & (np.abs(fill) < 0.999 * np.abs(order))
    happened = {
        "violation": course["decision.violation"] == 1.0,
        "lapsed order": (order != 0.0) & (fill == 0.0),
        "cut long buy": cut & (fill > 0.0) & (before >= 0.0),
        "cut sell": cut & (fill < 0.0),
        "cut stop": (course["exit_fill.units"] != 0.0) & (units != 0.0),
        "fill and stop": (fill != 0.0) & (course["exit_fill.units"] != 0.0),
        "worst price": np.abs(course["fill.price"] - base) > 0.9899 * np.maximum(base, 1e-9),
        "flip to short": (before > 0.0) & (units < 0.0),
        "flip to long": (before < 0.0) & (units > 0.0),
        "short": units < 0.0,
        "borrow": course["after.borrow_paid"] > 0.0,
        "debt": equity < 0.0,
        "partial exit": course["after.partial_exits"] > 0.0,
        "three adds": course["after.adds"] >= 3.0,
        "stale": course["after.stale_bars"] >= 2.0,
        "win": course["after.n_wins"] > 0.0,
        "loss": course["after.gross_loss"] > 0.0,
        "repeats": course["after.repeats"] > 3.0,
        "terminated": course["terminated"] == 1.0,
        "truncated": course["truncated"] == 1.0,
    }
    happened |= {f"class {k}": course["after.entry_class"] == k for k in (1, 2, 3)}
    yield from (name for name, where in happened.items() if where.any())


UNREACHABLE = {
    # No action decodes to such an order; `advance_order` and live trading can bring one.
    *("UNKNOWN_VALUE", "SHORT_NOT_ALLOWED", "MAX_POSITION", "CASH_RESERVE", "MARGIN"),
}
ALWAYS = {
    *(name for kind in (ExitReason, Denial, Action) for name in kind.__members__),
    *("violation", "lapsed order", "cut sell", "cut long buy", "cut stop", "fill and stop"),
    "worst price",
    *("partial exit", "stale", "win", "loss", "repeats", "terminated", "truncated"),
    *("three adds", "class 1", "class 2", "class 3"),
} - UNREACHABLE
OF_SHORTS = {"flip to short", "flip to long", "short", "borrow", "debt", "MARGIN_CALL"}
MISSING = {
    "continuous": OF_SHORTS,
    "continuous short": {"flip to short", "flip to long"},
    "target": OF_SHORTS,
    "target short": set(),
    "discrete": OF_SHORTS | {"MIN_TRADE_VALUE", "TRADING_HALTED"},
}
"""What cannot happen in a space; the mask of discrete actions stops some orders before the gate."""


@pytest.mark.parametrize("space", SPACES)
def test_streams_bring_about_everything_that_can_happen(space: str) -> None:
    seen = {event for option in OPTIONS for event in events_of(run(space, option))}

    assert seen == (ALWAYS | OF_SHORTS) - MISSING[space]


def test_codes_of_any_integer_type_are_read_alike() -> None:
    rules = rules_of("discrete", "defaults")
    account, singles = restored(run("discrete", "defaults"), 20)
    codes = stream(7, "codes").integers(-2, 9, N_LANES)
    bar = ScalarBar(101.0, 103.0, 99.0, 102.0, 1.0e9, 0.01, 1.0)
    bars = Bar(*(torch.full((N_LANES,), x, dtype=torch.float64) for x in bar))
    scalar = [
        scalar_advance(rules, profile_of(lane), one, bar, code)
        for lane, (one, code) in enumerate(zip(singles, codes.tolist(), strict=True))
    ]
    for dtype in (torch.int8, torch.int32, torch.int64, torch.float32, torch.float64):
        step = advance(rules, lane_rates(), account, bars, torch.tensor(codes).to(dtype))

        batch = torch.stack([column.double() for column in numbers_of(step)]).numpy()
        numbers = np.array([numbers_of(lane) for lane in scalar], dtype=float).T
        assert first_difference(batch[None], numbers[None]) is None


@pytest.mark.parametrize("left_frac", [0.02, 0.0101, 0.0099, 1.0e-10])
def test_rest_of_a_position_is_closed_alike(left_frac: float) -> None:
    rules = rules_of("continuous", "defaults")
    account, singles = restored(run("continuous", "defaults"), 20)
    smoothed = -1.0 + 2.0 * left_frac * (1.0 - rules.action.hold_zone)
    account = account._replace(smoothed=torch.full_like(account.cash, smoothed))
    bar = ScalarBar(101.0, 103.0, 99.0, 102.0, 1.0e12, 0.01, 1.0)
    bars = Bar(*(torch.full((N_LANES,), x, dtype=torch.float64) for x in bar))

    step = advance(rules, lane_rates(), account, bars, torch.full_like(account.cash, -1.0))

    lanes = [
        scalar_advance(rules, profile_of(lane), one._replace(smoothed=smoothed), bar, -1.0)
        for lane, one in enumerate(singles)
    ]
    batch = torch.stack([column.double() for column in numbers_of(step)]).numpy()
    numbers = np.array([numbers_of(lane) for lane in lanes], dtype=float).T
    assert first_difference(batch[None], numbers[None]) is None
    assert any(one.units for one in singles)
    assert all(one.after.units == 0.0 for one in lanes) == (left_frac < 0.01)


def test_episodes_begin_anew_alike() -> None:
    rules = rules_of("continuous short", "losses")
    rng = stream(7, "resets")
    market = nasty_market(rng, 160)
    bars, rates = scalar_bars(market), lane_rates()
    possible = np.zeros((market.n_symbols, market.n_bars), dtype=bool)
    possible[:, :110] = True
    starts = drawn_symbols(possible, N_LANES, seed=11)
    choices, keys = starts.choices.numpy(), starts.key.tolist()

    def open_single(lane: int, episode: int) -> ScalarAccount:
        row = start_row(choices, 0, keys[lane], episode)
        stale = int(market.rows[row, STALE_COLUMN])
        return open_account(CASH, row, bars[row].close, episode, stale_bars=stale)

    account = begin(starts, market, CASH, torch.zeros(N_LANES, dtype=torch.int32))
    singles = [open_single(lane, 0) for lane in range(N_LANES)]
    for action in rng.uniform(-1.0, 1.0, (120, N_LANES)):
        step = advance(rules, rates, account, market.bar(account.row + 1), torch.tensor(action))
        ended = step.terminated | step.truncated
        account = select(ended, begin_next(starts, market, CASH, step.after, ended), step.after)
        for lane, number in enumerate(action.tolist()):
            bar = bars[singles[lane].row + 1]
            single = scalar_advance(rules, profile_of(lane), singles[lane], bar, number)
            again = single.terminated or single.truncated
            singles[lane] = open_single(lane, single.after.episode + 1) if again else single.after
        batch = torch.stack([column.double() for column in account[:-1]]).numpy()
        np.testing.assert_allclose(
            batch, np.array([one[:-1] for one in singles]).T, rtol=RTOL, atol=ATOL
        )
        assert account.action_ages.T.tolist() == [list(one.action_ages) for one in singles]
    assert int(account.episode.min()) >= 2
    assert int(account.episode.max()) > 2
