"""From an action to a signal: which side, how much, by which kind of order."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.action import Action
from tradingbot.market.params import ActionRules

MARKET_STRENGTH = 0.5
"""Strength from which on an order is sent at the market's price."""
_SMALLEST = 1e-9
Direction = Literal["BUY", "SELL", "HOLD"]


class Signal(NamedTuple):
    """What an agent wants, in words that a broker knows."""

    direction: Direction
    size: float
    """Share of what could be bought, or of the position where that is made smaller; of targets the
    way to go, as a share of the largest position; 0 of a HOLD."""
    strength: float
    """In [0, 1]."""

    @property
    def order_type(self) -> Literal["LIMIT", "MARKET"] | None:
        """LIMIT below half the strength, MARKET from there on; None of a HOLD."""
        if self.direction == "HOLD":
            return None
        return "LIMIT" if self.strength < MARKET_STRENGTH else "MARKET"


HOLD = Signal("HOLD", 0.0, 0.0)


def read_signal(rules: ActionRules, action: float, held: float, *, allow_short: bool) -> Signal:
    """Read one action as it came from the model, before smoothing and risk.

    Sizes are those that the simulator orders without smoothing: of continuous actions the share
    beyond the hold zone; targets below 0 are 0 where there are no shorts.

    Args:
        rules: Of the model's run.
        action: Signed share of the buying power, target exposure, or code.
        held: Position ÷ largest position.
        allow_short: Whether a position may be negative.

    Example:
        >>> read_signal(ActionRules(hold_zone=0.5), 0.75, 0.0, allow_short=False)
        Signal(direction='BUY', size=0.5, strength=0.75)
    """
    if rules.space == "discrete":
        return _of_code(rules, int(action))
    is_target = rules.space == "target"
    action = min(max(action, -1.0 if allow_short or not is_target else 0.0), 1.0)
    wanted = action - held if is_target else action
    strength = min(abs(wanted), 1.0)
    if strength <= (_SMALLEST if is_target else rules.hold_zone):
        return HOLD._replace(strength=strength)
    if wanted < 0.0 and held <= 0.0 and not allow_short:
        return HOLD  # nothing to sell
    beyond = (strength - rules.hold_zone) / (1.0 - rules.hold_zone)
    size = abs(wanted) if is_target else beyond
    return Signal("BUY" if wanted > 0.0 else "SELL", size, strength)


def _of_code(rules: ActionRules, code: int) -> Signal:
    small, medium, large = rules.entry_fracs
    known: dict[int, Signal] = {
        Action.BUY_SMALL: Signal("BUY", small, small),
        Action.BUY_MEDIUM: Signal("BUY", medium, medium),
        Action.BUY_LARGE: Signal("BUY", large, large),
        Action.SELL_PARTIAL: Signal("SELL", rules.sell_partial_frac, rules.sell_partial_frac),
        Action.SELL_ALL: Signal("SELL", 1.0, 1.0),
        Action.ADD_POSITION: Signal("BUY", rules.add_frac, rules.add_frac),
    }
    return known.get(code, HOLD)


def neutralise_targets(
    proposed: NDArray[Any], counted: NDArray[np.bool_], gross_frac: float
) -> NDArray[Any]:
    """Turn targets (N,) into ones that add up to 0: `market.actions.neutral` without torch."""
    number = max(int(counted.sum()), 1)
    excess = proposed - np.where(counted, proposed, 0.0).sum() / number
    size = np.where(counted, np.abs(excess), 0.0)
    budget = gross_frac / max(size.sum() / number, gross_frac)
    scaled: NDArray[Any] = excess * min(budget, 1.0 / max(size.max(initial=0.0), 1.0))
    within: NDArray[Any] = np.clip(scaled, -1.0, 1.0)
    return within
