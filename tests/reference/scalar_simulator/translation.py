"""Codes of one agent as continuous actions, in plain Python: the twin of `envs.translator`."""

from __future__ import annotations

import sys
from typing import NamedTuple

from reference.scalar_simulator.account import ScalarAccount
from reference.scalar_simulator.actions import ScalarDecision, read_action
from reference.scalar_simulator.room import measure_room
from tradingbot.envs.translator import is_reached, number_for_share
from tradingbot.market.costs import CostProfile
from tradingbot.market.maths import FLOAT_MATHS
from tradingbot.market.params import SimulatorParams


class ScalarTranslation(NamedTuple):
    """`Translation` of one agent, in plain numbers."""

    number: float
    exact: bool
    decision: ScalarDecision


def scalar_number_of_code(
    rules: SimulatorParams, costs: CostProfile, account: ScalarAccount, code: float
) -> ScalarTranslation:
    """Translate one code, as `number_of_code`; the rules must name the discrete space."""
    room = measure_room(rules.limits, costs, account, account.equity)
    decision = read_action(rules, account, room, code)
    order, share = decision.order, 0.0
    if order < 0.0:
        share = max(order / account.units, -1.0)
    elif order > 0.0:
        share = min(order * account.mark / room.more_long, 1.0)
    number = number_for_share(rules.action, share, account.smoothed, FLOAT_MATHS)
    slack = 16.0 * sys.float_info.epsilon / (1.0 - rules.action.hold_zone)
    reached = is_reached(rules.action, share, account.smoothed, number, FLOAT_MATHS, slack=slack)
    return ScalarTranslation(number, reached > 0.0, decision)
