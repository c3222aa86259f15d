"""What reward terms may look at: the named quantities of one step, taken from what a bar did.

Every quantity is computed here once, the same for a batch of tensors and for one plain number.
Nothing here rewards or punishes; that is the terms' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

import torch
from torch import Tensor

from tradingbot.market.account import ACTION_MEMORY
from tradingbot.market.maths import Maths, T
from tradingbot.market.params import SimulatorParams

RATIO_BOUND = 1000.0
"""Ratios are cut to this, so that no product of a few of them overflows in float32."""
LEAST = 1.0e-12
"""Equity, prices and quantities up to this count as nothing to divide by."""
_SUM_BOUND = 1.0e9


class RewardInputs(NamedTuple, Generic[T]):
    """One step as seen by reward terms; every field one number or (B,).

    Returns are simple. "Largest position" is `max_position_frac` · equity at the decision, so a
    share of it means the same for a sleeve of 15 % and for one of 100 %. Flags are 0 or 1. Ratios
    whose denominator is not above `LEAST` are 0, all are cut to ±`RATIO_BOUND`: finite accounts
    give finite inputs.
    """

    equity_return: T
    """Change of equity ÷ equity at the decision."""
    gain: T
    """Change of equity ÷ largest position."""
    realised: T
    """Change of realised P&L (net of commission and borrow) ÷ largest position."""
    cost: T
    """Commission, slippage, spread, impact and borrow of this step ÷ largest position."""
    drawdown: T
    """1 − equity ÷ peak at the end of the step, 0 or more; above 1 when bankrupt."""
    exposure: T
    """Value of the position at the end ÷ (`max_position_frac` · equity at the end)."""

    open_roi_before: T
    """Return since entry of the position at the decision, in its direction; 0 when flat."""
    roi: T
    """Realised P&L ÷ entry value of what was closed; else the open position's; 0 when flat."""
    closed_frac: T
    """Units closed ÷ (closed + left of that position); 1 for a trade that ended."""
    ended: T
    """Flag: a trade ended (position closed whole, or turned)."""
    staged: T
    """Flag: a trade ended that had partial exits before."""
    pyramided: T
    """Flag: something was closed of a position that had been added to."""
    closed_class: T
    """`entry_class` of the position at the decision: 1, 2, 3; 0 when flat."""
    bars_held: T
    """Bars the position at the decision has been held."""

    held_before: T
    """Flag: there was a position at the decision."""
    code: T
    """Executed action, a code of `domain.action.Action`."""
    voluntary: T
    """Flag: an order of the agent filled, at least in part."""
    novelty: T
    """Steps since the executed action was last executed ÷ `ACTION_MEMORY`, at most 1."""
    distinct_actions: T
    """Different actions executed in the last `ACTION_MEMORY` steps, with this one: 1 to 7."""
    repeats: T
    """Identical actions selected in a row, with this one; 0 for HOLD."""
    violation: T
    """Flag: the action could not be executed as it was given."""

    steps: T
    """Steps of this episode, with this one."""
    return_sum: T
    """Sum of `equity_return` over the episode, with this step."""
    return_squares: T
    """Sum of its squares."""
    return_sum_before: T
    """The sum without this step."""
    return_squares_before: T
    return_mean: T
    """Moving mean of returns before this step."""
    return_power: T
    """Moving mean of squared returns before this step."""


def reward_inputs(rules: SimulatorParams, advanced: Any, xp: Maths[T]) -> RewardInputs[T]:
    """Measure one step.

    Args:
        rules: Constants of the simulator.
        advanced: `market.advance.Advanced` with (B,) tensors, or its twin of plain numbers, whose
            fields have the same names.
        xp: The arithmetic that goes with it.
    """
    before, after = advanced.before, advanced.after
    equity, equity_after = before.equity, after.equity
    largest_frac = rules.limits.max_position_frac
    per_equity = _reciprocal(equity, xp)
    per_largest = per_equity / largest_frac
    change = equity_after - equity
    zero: T = before.cash * 0.0  # carries the number format: flags and counts take it on
    side = xp.sign(before.units)
    commission = after.commission_paid - before.commission_paid
    slippage = after.slippage_paid - before.slippage_paid
    cost = commission + slippage + (after.borrow_paid - before.borrow_paid)
    roi, closed_frac, ended = _closing(advanced, side, zero, xp)
    filled_as_asked = xp.sign(advanced.decision.order) * advanced.fill.units > 0.0
    age = _age(before.action_ages, advanced.decision.code)
    return RewardInputs(
        equity_return=_cut(change * per_equity, xp),
        gain=_cut(change * per_largest, xp),
        realised=_cut((after.realised - before.realised) * per_largest, xp),
        cost=_cut(cost * per_largest, xp),
        drawdown=xp.maximum(_ratio(after.peak - equity_after, after.peak, xp), 0.0),
        exposure=_ratio(xp.absolute(after.units) * after.mark, largest_frac * equity_after, xp),
        open_roi_before=_ratio(side * (before.mark - before.entry), before.entry, xp),
        roi=roi,
        closed_frac=closed_frac,
        ended=ended,
        staged=xp.where(before.partial_exits > 0, ended, zero),
        pyramided=xp.where((before.adds > 0) & (closed_frac > 0.0), 1.0, zero),
        closed_class=before.entry_class + zero,
        bars_held=before.holding_bars + zero,
        held_before=xp.absolute(side),
        code=advanced.decision.code + zero,
        voluntary=xp.where(filled_as_asked, 1.0, zero),
        novelty=(age + zero) / ACTION_MEMORY,
        distinct_actions=_n_recent(after.action_ages) + zero,
        repeats=advanced.decision.repeats + zero,
        violation=xp.where(advanced.decision.violation, 1.0, zero),
        steps=after.steps + zero,
        return_sum=xp.clip(after.return_sum, -_SUM_BOUND, _SUM_BOUND),
        return_squares=xp.clip(after.return_squares, 0.0, _SUM_BOUND),
        return_sum_before=xp.clip(before.return_sum, -_SUM_BOUND, _SUM_BOUND),
        return_squares_before=xp.clip(before.return_squares, 0.0, _SUM_BOUND),
        return_mean=xp.clip(before.return_mean, -RATIO_BOUND, RATIO_BOUND),
        return_power=xp.clip(before.return_power, 0.0, RATIO_BOUND * RATIO_BOUND),
    )


def _closing(advanced: Any, side: T, zero: T, xp: Maths[T]) -> tuple[T, T, T]:
    """Measure what the fill at the open and a stop within the bar closed.

    Returns:
        `roi`, `closed_frac` and `ended` of `RewardInputs`.
    """
    before, after, fill, stop = advanced.before, advanced.after, advanced.fill, advanced.exit_fill
    open_roi = _ratio(xp.sign(after.units) * (after.mark - after.entry), after.entry, xp)
    if isinstance(zero, float) and fill.units == 0.0 and stop.units == 0.0:
        # One account that did not trade, as in most steps: the rest would come to the same.
        return open_roi, zero, zero
    reduced = xp.minimum(xp.absolute(fill.units), xp.absolute(before.units))
    at_open = xp.where(side * fill.units < 0.0, reduced, zero)
    within_bar = xp.absolute(stop.units)
    closed = at_open + within_bar
    # The entry price of what a stop closed is not kept once the account is flat (it may have been
    # bought, or averaged, at this very open): it follows from the P&L that the stop realised.
    realised = after.realised - before.realised
    commission = after.commission_paid - before.commission_paid
    paid = commission + (after.borrow_paid - before.borrow_paid)
    open_gain = at_open * side * (fill.price - before.entry)
    stop_gain = realised + paid - open_gain
    stop_basis = within_bar * stop.price + xp.sign(stop.units) * stop_gain
    basis = at_open * before.entry + xp.where(within_bar > 0.0, stop_basis, zero)
    ended = xp.where(after.n_trades > before.n_trades, 1.0, zero)
    left = _ratio(closed, closed + xp.absolute(after.units), xp)
    roi = xp.where(closed > 0.0, _ratio(realised, basis, xp), open_roi)
    return roi, xp.where(ended > 0.0, 1.0, left), ended


def _ratio(top: T, bottom: T, xp: Maths[T]) -> T:
    return _cut(top * _reciprocal(bottom, xp), xp)


def _reciprocal(bottom: T, xp: Maths[T]) -> T:
    """Return 1 ÷ bottom, 0 where that is not above `LEAST`: times 0 it stays a number."""
    usable = bottom > LEAST
    return xp.where(usable, 1.0 / xp.where(usable, bottom, 1.0), 0.0)


def _cut(ratio: T, xp: Maths[T]) -> T:
    return xp.clip(ratio, -RATIO_BOUND, RATIO_BOUND)


def _n_recent(ages: Tensor | Sequence[int]) -> Any:
    """Count the actions executed lately: (B,) of ages (7, B), or one number of 7 ages."""
    if isinstance(ages, Tensor):
        return (ages < ACTION_MEMORY).sum(0, dtype=torch.int32)
    return len(ages) - ages.count(ACTION_MEMORY)


def _age(ages: Tensor | Sequence[int], code: Any) -> Any:
    """Return the age of one action each."""
    if isinstance(ages, Tensor):
        # A sum over seven rows rather than a gather: it fuses with everything around it.
        codes = torch.arange(ages.shape[0], dtype=torch.int32, device=ages.device)[:, None]
        return torch.where(codes == code, ages, 0).sum(0, dtype=torch.int32)
    return ages[code]
