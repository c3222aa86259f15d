"""What environments say beside observation and reward: the typed `info` of a step and of a reset.

Money is in account currency, fractions are of one, prices per unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.envs.single.account import LaneAccount, LaneFill, LaneStep
from tradingbot.envs.world import World
from tradingbot.market.account import FLOAT_FIELDS
from tradingbot.market.maths import FLOAT_MATHS
from tradingbot.market.native.step_source import DETAILS
from tradingbot.market.params import FillAt, SimulatorParams
from tradingbot.market.statistics import account_statistics

ACTION_NAMES = tuple(action.name for action in Action)
DENIAL_NAMES = tuple(denial.name for denial in Denial)
EXIT_NAMES = tuple(reason.name for reason in ExitReason)


class ResetInfo(TypedDict):
    """`info` of `reset`."""

    seed: int
    """Root of this and the following episodes."""
    episode: int
    """Episodes begun with this seed before this one."""
    symbol: str
    bar: int
    """Bar of the world at whose close the first decision is made."""
    closed_at: int
    """Close of that bar, microseconds since 1970 UTC."""
    price: float
    equity: float
    cash: float
    units: float
    label: str
    """Data, period and seed of the world in words."""
    synthetic: bool
    fill_at: FillAt
    """Where orders fill; `this_close` is the close that was seen, and not attainable."""


class EpisodeSummary(TypedDict):
    """What an episode came to."""

    steps: int
    return_frac: float
    """Equity ÷ initial cash − 1."""
    drawdown_frac: float
    """1 − equity ÷ highest equity, at the end."""
    exposure_frac: float
    """Value of the position ÷ equity."""
    sharpe: float
    """Mean ÷ standard deviation of returns per bar; 0 where nothing moved."""
    sortino: float
    """Mean ÷ downside deviation per bar; 0 where nothing was lost."""
    n_trades: int
    win_rate_frac: float
    """Of ended trades; 0 without any."""
    profit_factor: float
    """Gross profit ÷ gross loss; infinite without a loss, 0 without a profit."""
    commission_ccy: float
    slippage_ccy: float
    """Slippage, spread and impact."""
    borrow_ccy: float
    turnover_ccy: float
    violations: int
    """Actions that could not be executed as they were given."""
    denials: int
    """Orders that the risk gate denied."""
    fill_at: FillAt
    """Where orders filled; with `this_close` nothing above is attainable."""


class StepInfo(TypedDict):
    """`info` of `step`: what the bar did."""

    symbol: str
    bar: int
    """Bar of the world at whose close the account stands now."""
    closed_at: int
    """Its close, microseconds since 1970 UTC."""
    price: float
    """Its close; the account is marked at it."""
    equity: float
    cash: float
    units: float
    action: str
    """Name of the executed action, of the seven of `domain.action.Action`."""
    violation: bool
    """The action could not be executed as it was given."""
    denial: str
    """Name of the risk rule that denied the order, or NONE."""
    fill: float
    """Signed units traded at the open; 0 where nothing was."""
    fill_price: float
    """Price paid or received, with slippage, spread and impact; 0 without a fill."""
    exit_fill: float
    """Signed units traded by a stop or take-profit within the bar."""
    exit_price: float
    exit_reason: str
    """Name of the rule that closed the position, or NONE."""
    fees: float
    """Commission of this step."""
    reward_terms: dict[str, float]
    """Weighted terms by name; they sum to the reward."""
    synthetic: bool


class LastStepInfo(StepInfo):
    """`info` of the last step of an episode."""

    summary: EpisodeSummary


def first_info(world: World, rules: SimulatorParams, account: LaneAccount, seed: int) -> ResetInfo:
    """Say where an account begins that holds cash only."""
    symbol, bar = divmod(account.row, world.n_bars)
    return ResetInfo(
        seed=seed,
        episode=account.episode,
        symbol=world.symbols[symbol],
        bar=bar,
        closed_at=int(world.closed_at[bar]),
        price=account.mark,
        equity=account.cash,
        cash=account.cash,
        units=0.0,
        label=world.label,
        synthetic=world.synthetic,
        fill_at=rules.episode.fill_at,
    )


def summarise(rules: SimulatorParams, account: LaneAccount) -> EpisodeSummary:
    """Say what an account has come to, at any time of its episode."""
    statistics = account_statistics(rules, account, FLOAT_MATHS)
    return EpisodeSummary(
        steps=account.steps,
        return_frac=statistics.return_frac,
        drawdown_frac=statistics.drawdown_frac,
        exposure_frac=statistics.exposure_frac,
        sharpe=statistics.sharpe,
        sortino=statistics.sortino,
        n_trades=account.n_trades,
        win_rate_frac=statistics.win_rate_frac,
        profit_factor=statistics.profit_factor,
        commission_ccy=account.commission_paid,
        slippage_ccy=account.slippage_paid,
        borrow_ccy=account.borrow_paid,
        turnover_ccy=account.turnover,
        violations=account.violations,
        denials=account.denials,
        fill_at=rules.episode.fill_at,
    )


def step_info(world: World, terms: Sequence[str], row: int, told: NDArray[np.float64]) -> StepInfo:
    """Say what a step did.

    Args:
        world: What is traded.
        terms: K names of the reward's terms.
        row: Row of the market at which the account is now.
        told: Money (19,), `DETAILS` (10,) and terms (K,) of the step, as `SingleLane` has them.
    """
    money, step = _read(told)
    symbol, bar = divmod(row, world.n_bars)
    weighted = told[len(FLOAT_FIELDS) + len(DETAILS) :].tolist()
    return {
        "symbol": world.symbols[symbol],
        "bar": bar,
        "closed_at": int(world.closed_at[bar]),
        "price": money["mark"],
        "equity": money["cash"] + money["units"] * money["mark"],
        "cash": money["cash"],
        "units": money["units"],
        "action": ACTION_NAMES[int(step["code"])],
        "violation": step["violation"] != 0.0,
        "denial": DENIAL_NAMES[int(step["denial"])],
        "fill": step["fill_units"],
        "fill_price": step["fill_price"],
        "exit_fill": step["exit_units"],
        "exit_price": step["exit_price"],
        "exit_reason": EXIT_NAMES[int(step["exit_reason"])],
        "fees": step["fill_fee"] + step["exit_fee"],
        "reward_terms": dict(zip(terms, weighted, strict=True)),
        "synthetic": world.synthetic,
    }


def read_step(before: LaneAccount, after: LaneAccount, told: NDArray[np.float64]) -> LaneStep:
    """Read what a step did to an account; `told` as for `step_info`."""
    _, step = _read(told)
    return LaneStep(
        before,
        after,
        code=int(step["code"]),
        denial=int(step["denial"]),
        fill=LaneFill(step["fill_units"], step["fill_price"], step["fill_fee"]),
        exit_fill=LaneFill(step["exit_units"], step["exit_price"], step["exit_fee"]),
        exit_reason=int(step["exit_reason"]),
    )


def _read(told: NDArray[np.float64]) -> tuple[dict[str, float], dict[str, float]]:
    """Name the money and the details of a step."""
    numbers = told.tolist()
    n = len(FLOAT_FIELDS)
    return (
        dict(zip(FLOAT_FIELDS, numbers[:n], strict=True)),
        dict(zip(DETAILS, numbers[n : n + len(DETAILS)], strict=True)),
    )
