"""Reading the action of one account, in each of the three spaces, and the mask of the codes."""

from __future__ import annotations

import math
from typing import NamedTuple

from reference.scalar_simulator.account import ScalarAccount
from reference.scalar_simulator.gate import SLACK
from reference.scalar_simulator.room import ScalarRoom, measure_room
from tradingbot.domain.action import Action
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import SimulatorParams

# Plain integers: looking a member up in its enumeration costs more than the arithmetic around it.
HOLD, SELL_PARTIAL, SELL_ALL, ADD_POSITION = (
    int(code) for code in (Action.HOLD, Action.SELL_PARTIAL, Action.SELL_ALL, Action.ADD_POSITION)
)
N_ACTIONS = len(Action)
ONLY_HOLD = (True, False, False, False, False, False, False)


class ScalarDecision(NamedTuple):
    """An order before forced exits and the gate; `market.actions.Decision` says what each is."""

    order: float
    code: int
    selected: int
    violation: bool
    smoothed: float
    repeats: int


def read_action(
    rules: SimulatorParams, account: ScalarAccount, room: ScalarRoom, action: float
) -> ScalarDecision:
    """Read an action in the space that the rules name."""
    space = rules.action.space
    if space == "discrete":
        return _read_discrete(rules, account, room, action)
    known = math.isfinite(action)
    if not known:
        order, smoothed = 0.0, account.smoothed
    elif space == "target":
        order, smoothed = _read_target(rules, account, room, action)
    else:
        order, smoothed = _read_continuous(rules, account, room, action)
    order = _with_remainder(rules, account, order)
    code = unified_code(account, order, room.largest)
    return ScalarDecision(order, code, code, not known, smoothed, _repeats(account, code))


def scalar_mask(
    rules: SimulatorParams, costs: CostProfile, account: ScalarAccount
) -> tuple[bool, ...]:
    """Return which of the seven discrete actions may be executed; HOLD always may."""
    room = measure_room(rules.limits, costs, account, account.equity)
    return ONLY_HOLD[:1] + tuple(
        _trades(rules, account, room, code) != 0.0 for code in range(1, N_ACTIONS)
    )


def size_class(value: float, largest: float) -> int:
    """Sort an entry into small 1, medium 2, large 3 by its share of the largest position."""
    limit = largest * (1.0 + SLACK)
    if value <= limit / 2.0:
        return 1
    return 2 if value <= 5.0 / 6.0 * limit else 3


def unified_code(account: ScalarAccount, order: float, largest: float) -> int:
    """Say which of the seven actions an order amounts to; a short is the mirror of a long."""
    units = account.units
    if order == 0.0:
        return HOLD
    if units == 0.0:
        return size_class(abs(order) * account.mark, largest)
    if (order > 0.0) == (units > 0.0):
        return ADD_POSITION
    return SELL_ALL if abs(order) >= 0.99 * abs(units) else SELL_PARTIAL


def _with_remainder(rules: SimulatorParams, account: ScalarAccount, order: float) -> float:
    """Sell all of a position of which an order would leave next to nothing."""
    units = account.units
    if order * units >= 0.0 or abs(order) >= abs(units):
        return order
    left_ccy = abs(units + order) * account.mark
    is_rest = left_ccy < rules.limits.min_trade_ccy or abs(order) >= 0.99 * abs(units)
    return -units if is_rest else order


def _read_continuous(
    rules: SimulatorParams, account: ScalarAccount, room: ScalarRoom, action: float
) -> tuple[float, float]:
    smoothed = _smooth(rules, account, -1.0, action)
    hold_zone = rules.action.hold_zone
    share = (abs(smoothed) - hold_zone) / (1.0 - hold_zone)
    if share <= 0.0:
        return 0.0, smoothed
    share = min(share, 1.0)
    buys = smoothed > 0.0
    units = account.units
    if units != 0.0 and (units > 0.0) != buys:
        return -share * units, smoothed
    if buys:
        return share * room.more_long / account.mark, smoothed
    return -share * room.more_short / account.mark, smoothed


def _read_target(
    rules: SimulatorParams, account: ScalarAccount, room: ScalarRoom, action: float
) -> tuple[float, float]:
    lowest = -1.0 if rules.limits.allow_short else 0.0
    smoothed = _smooth(rules, account, lowest, action)
    mark, units = account.mark, account.units
    order = smoothed * room.largest / mark - units
    if abs(order) <= SLACK * abs(units):
        return 0.0, smoothed
    if order > 0.0:
        return min(order, max(-units, 0.0) + room.buy_room / mark), smoothed
    return max(order, -(max(units, 0.0) + room.short_room / mark)), smoothed


def _smooth(rules: SimulatorParams, account: ScalarAccount, lowest: float, action: float) -> float:
    clipped = lowest if action < lowest else min(action, 1.0)
    if rules.action.smoothing_bars == 1:
        return clipped
    return account.smoothed + rules.action.smoothing * (clipped - account.smoothed)


def _read_discrete(
    rules: SimulatorParams, account: ScalarAccount, room: ScalarRoom, action: float
) -> ScalarDecision:
    # NaN compares false with everything, so it does not exist either.
    known = 0 <= action < N_ACTIONS and action == int(action)
    selected = int(action) if known else HOLD
    repeats = _repeats(account, selected)
    order = 0.0
    if selected != HOLD and repeats <= rules.action.max_repeats:
        order = _trades(rules, account, room, selected)
    code = selected if order != 0.0 else HOLD
    violation = code != selected or not known
    return ScalarDecision(order, code, selected, violation, account.smoothed, repeats)


def _trades(rules: SimulatorParams, account: ScalarAccount, room: ScalarRoom, code: int) -> float:
    """Return the signed units that a code other than HOLD trades; 0 where it is masked."""
    units, mark, action = account.units, account.mark, rules.action
    if account.halted:
        return 0.0
    if code == SELL_ALL:
        return -units if units > 0.0 else 0.0
    if code == SELL_PARTIAL:
        value = -action.sell_partial_frac * units * mark if units > 0.0 else 0.0
    elif code == ADD_POSITION:
        may = _may_add(rules, account)
        value = min(action.add_frac * room.largest, room.more_long) if may else 0.0
    else:
        frac = action.entry_fracs[code - 1]
        value = min(frac * room.largest, room.more_long) if units == 0.0 else 0.0
    return value / mark if abs(value) >= rules.limits.min_trade_ccy else 0.0


def _may_add(rules: SimulatorParams, account: ScalarAccount) -> bool:
    action = rules.action
    return (
        account.units > 0.0
        and account.adds < action.max_adds
        and account.mark > account.entry * (1.0 + action.add_min_profit_frac)
    )


def _repeats(account: ScalarAccount, code: int) -> int:
    if code == HOLD:
        return 0
    return account.repeats + 1 if code == account.last_action else 1
