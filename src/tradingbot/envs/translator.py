"""Between the action spaces: numbers that make the continuous simulator do what codes ask.

Pure functions of an account. Environments that use them belong in `hybrid`.

A code is read by the discrete rules first (mask, sizes, limit on repeats), so what is translated is
an order, not a name. The continuous simulator then gives that same order, to within rounding (a few
ε of the order; a sale of everything is exact), if

* the number that undoes the smoothing lies in [−1, 1]: always where `smoothing_bars` is 1, and said
  by `Translation.exact`;
* limits, costs and account are those that the discrete simulator has. An order of HOLD under
  smoothing also needs a hold zone above 0 to rest in.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.actions.continuous import decode_continuous
from tradingbot.market.actions.decision import Decision
from tradingbot.market.actions.discrete import decode_discrete
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.costs import CostRates
from tradingbot.market.maths import TENSOR_MATHS, Maths, T
from tradingbot.market.params import ActionRules, SimulatorParams

REST_SHARE = 0.9
"""Part of the hold zone where a smoothed HOLD comes to rest: rounding must not leave the zone."""


class Translation(NamedTuple):
    """Codes of B agents as continuous actions."""

    number: Tensor
    """(B,) in [−1, 1], in the account's number format."""
    exact: Tensor
    """(B,) bool: the continuous simulator gives the order of the discrete one."""
    decision: Decision
    """How the discrete simulator reads the code: order, executed code, violation, repeats."""


def number_for_share(rules: ActionRules, signed_share: T, smoothed: T, xp: Maths[T]) -> T:
    """Return the action in [−1, 1] that comes nearest to trading a share, after smoothing.

    Args:
        rules: Hold zone and smoothing.
        signed_share: In [−1, 1]: of the room (an increase) or of the position (a reduction), with
            the sign of the order; 0 is no order.
        smoothed: Smoothed action before this one.
        xp: Arithmetic of one number or of a batch.
    """
    weight, zone = rules.smoothing, rules.hold_zone
    edge = zone + xp.absolute(signed_share) * (1.0 - zone)
    rest = xp.clip(smoothed * (1.0 - weight), -REST_SHARE * zone, REST_SHARE * zone)
    wanted = xp.where(signed_share == 0.0, rest, xp.sign(signed_share) * edge)
    if weight == 1.0:
        return xp.clip(wanted, -1.0, 1.0)
    return xp.clip(smoothed + (wanted - smoothed) / weight, -1.0, 1.0)


def is_reached(
    rules: ActionRules, signed_share: T, smoothed: T, number: T, xp: Maths[T], *, slack: float
) -> T:
    """Return 1 where the smoothed number trades the share to within `slack`, else 0."""
    after = smoothed + rules.smoothing * (number - smoothed)
    got = (xp.absolute(after) - rules.hold_zone) / (1.0 - rules.hold_zone)
    got = xp.sign(after) * xp.clip(got, 0.0, 1.0)
    return xp.where(xp.absolute(got - signed_share) <= slack, 1.0 + 0.0 * smoothed, 0.0)


def share_of_order(
    rules: SimulatorParams, rates: CostRates, account: Account, order: Tensor
) -> Tensor:
    """Express orders (B,) in units as signed shares (B,) of the room, or of the position."""
    room = buying_power_of(rules.limits, rates, account, account.equity)
    side = torch.sign(order)
    beyond = torch.where(side > 0.0, room.buy_room, room.short_room)
    increase = torch.minimum(room.place, beyond) / account.mark
    whole = torch.where(order * account.units < 0.0, account.units.abs(), increase)
    share = torch.where(whole > 0.0, order.abs() / torch.where(whole > 0.0, whole, 1.0), 0.0)
    return side * share.clamp(0.0, 1.0)


def number_of_order(
    rules: SimulatorParams, rates: CostRates, account: Account, order: Tensor
) -> Tensor:
    """Return the continuous actions (B,) that give orders (B,) of signed units."""
    share = share_of_order(rules, rates, account, order)
    return number_for_share(rules.action, share, account.smoothed, TENSOR_MATHS)


def number_of_code(
    rules: SimulatorParams, rates: CostRates, account: Account, code: Tensor
) -> Translation:
    """Translate discrete codes into continuous actions.

    Args:
        rules: Those of the continuous simulator; sizes, mask and limit on repeats of the discrete
            one are in them.
        rates: Costs, () or (B,).
        account: B accounts in the continuous simulator, whose `last_action` and `repeats` are the
            agent's: `remember` every step.
        code: (B,) codes of `domain.action.Action`; unknown ones are HOLD and a violation.
    """
    room = buying_power_of(rules.limits, rates, account, account.equity)
    decision = decode_discrete(rules.action, rules.limits, account, room, code)
    share = share_of_order(rules, rates, account, decision.order)
    number = number_for_share(rules.action, share, account.smoothed, TENSOR_MATHS)
    slack = _slack(rules.action, torch.finfo(number.dtype).eps)
    reached = is_reached(rules.action, share, account.smoothed, number, TENSOR_MATHS, slack=slack)
    return Translation(number, reached.bool(), decision)


def remember(account: Account, decision: Decision) -> Account:
    """Write what discrete agents selected into their accounts (B,) after a continuous step.

    A continuous account counts what its orders amount to; the limit on repeats counts what was
    selected, executed or not.
    """
    return account._replace(
        last_action=decision.selected,
        repeats=decision.repeats,
        violations=account.violations + decision.violation.int(),
    )


def _slack(rules: ActionRules, epsilon: float) -> float:
    """Distance of shares that rounding explains."""
    return 16.0 * epsilon / (1.0 - rules.hold_zone)


def code_of_number(
    rules: SimulatorParams, rates: CostRates, account: Account, number: Tensor
) -> Tensor:
    """Say which of the seven codes continuous actions (B,) amount to: the unified action, int32.

    Sizes are lost: every entry up to half of the largest position is BUY_SMALL, every sale of less
    than 99 % of the position SELL_PARTIAL. A NaN is HOLD. The discrete mask is not asked; a code it
    forbids (an add without profit, say) is a violation there.
    """
    room = buying_power_of(rules.limits, rates, account, account.equity)
    return decode_continuous(rules.action, account, room, number).code
