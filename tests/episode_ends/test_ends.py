"""An episode ends by ruin, by its length, by both at once or not at all: four different things."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fixtures.plain_accounts import accounts
from fixtures.streams import profit
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.market.bars import tensor_market
from tradingbot.market.costs import cost_profile
from tradingbot.market.episodes import begin, fixed_symbols
from tradingbot.market.marking import episode_ends
from tradingbot.market.simulation import Step, step
from tradingbot.risk import RiskLimits

LENGTH = 6


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        ({}, (False, False)),
        ({"steps": 5}, (False, False)),
        ({"steps": 6}, (False, True)),
        ({"halted": 1}, (True, False)),
        ({"halted": 1, "steps": 6}, (True, False)),  # both at once: ruin
        ({"halted": 1, "units": 3.0, "entry": 90.0}, (False, False)),  # still to be sold
        ({"halted": 1, "units": 3.0, "entry": 90.0, "steps": 6}, (False, True)),
        ({"cash": 0.0}, (True, False)),
        ({"cash": -1.0, "steps": 6}, (True, False)),
        ({"cash": 900.0, "units": -10.0, "entry": 90.0}, (True, False)),  # owes more than it has
    ],
)
def test_end_of_each_state(fields: dict[str, float], ends: tuple[bool, bool]) -> None:
    terminated, truncated = episode_ends(accounts(**fields), LENGTH)
    assert (terminated.item(), truncated.item()) == ends


def lived(closes: list[float], *, loss: float = 0.2, halts: tuple[int, ...] = ()) -> list[Step]:
    """Hold as much as allowed from bar 0 on; bars open at the close before."""
    close = np.array([closes])
    open_ = np.concatenate((close[:, :1], close[:, :-1]), axis=1)
    prices = np.stack(
        (
            open_,
            np.maximum(open_, close),
            np.minimum(open_, close),
            close,
            np.full_like(close, 1e9),
        ),
        axis=-1,
    )
    present = np.ones_like(close, dtype=bool)
    present[0, list(halts)] = False
    market = tensor_market(prices, present, dtype=torch.float64)
    rules = SimulatorParams(
        AccountRules(position_loss_frac=math.inf, portfolio_loss_frac=loss),
        RiskLimits(1.0, max_stale_bars=100),
        ActionRules(space="target", smoothing_bars=1),
        EpisodeRules(episode_bars=LENGTH, window_bars=1),
    )
    possible = np.zeros_like(present)
    possible[0, 0] = True
    starts = fixed_symbols(possible, 1, 0)
    account = begin(starts, market, 1e5, torch.zeros(1, dtype=torch.int32))
    rates, steps = cost_profile("free").rates(dtype=torch.float64), []
    for _ in range(LENGTH):
        taken = step(rules, profit, rates, market, starts, account, torch.ones(1))
        steps.append(taken)
        account = taken.account
        if taken.terminated or taken.truncated:
            break
    return steps


def ends(steps: list[Step]) -> list[tuple[bool, bool]]:
    return [(bool(x.terminated), bool(x.truncated)) for x in steps]


NEITHER, RUIN, LENGTH_OVER = (False, False), (True, False), (False, True)


def test_quiet_episode_is_truncated_at_its_length() -> None:
    assert ends(lived([100.0] * 8)) == [NEITHER] * 5 + [LENGTH_OVER]


def test_loss_halts_then_sells_then_terminates() -> None:
    steps = lived([100.0, 100.0, 75.0, 75.0, 75.0, 75.0, 75.0, 75.0])
    assert ends(steps) == [NEITHER, NEITHER, RUIN]
    assert [int(x.advanced.after.halted) for x in steps] == [0, 1, 1]
    assert float(steps[-1].advanced.after.equity) == pytest.approx(75_000.0)


def test_ruin_in_the_last_bar_is_ruin_alone() -> None:
    steps = lived([100.0, 100.0, 100.0, 100.0, 100.0, 75.0, 75.0, 75.0])
    assert ends(steps) == [NEITHER] * 5 + [RUIN]


def test_halted_account_that_cannot_sell_is_truncated() -> None:
    steps = lived([100.0, 100.0, 100.0, 100.0, 100.0, 75.0, 75.0, 75.0], halts=(6, 7))
    assert ends(steps) == [NEITHER] * 5 + [LENGTH_OVER]
    assert int(steps[-1].advanced.after.halted) == 1
    assert float(steps[-1].advanced.after.units) > 0.0


def test_account_begins_anew_after_either_end() -> None:
    for closes in ([100.0] * 8, [100.0, 100.0, 75.0, 75.0, 75.0, 75.0, 75.0, 75.0]):
        last = lived(closes)[-1]
        assert float(last.account.cash) == 1e5
        assert (int(last.account.steps), int(last.account.episode)) == (0, 1)
        assert int(last.account.halted) == 0
        assert not torch.equal(last.private, last.final_private)
