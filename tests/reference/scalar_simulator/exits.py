"""Positions of one account closed by rule: at the next open (forced) and within the bar (stops)."""

from __future__ import annotations

from reference.scalar_simulator.account import ScalarAccount
from reference.scalar_simulator.bar import ScalarBar
from reference.scalar_simulator.book import Book
from reference.scalar_simulator.fill import NO_FILL, ScalarFill
from tradingbot.domain.denial import ExitReason
from tradingbot.market.params import AccountRules

NONE = int(ExitReason.NONE)
_EMERGENCY, _MARGIN_CALL, _POSITION_LOSS, _MAX_HOLDING, _STOP_LOSS, _TAKE_PROFIT, DELISTED = (
    int(reason) for reason in list(ExitReason)[1:]
)


def forced_exit(rules: AccountRules, account: ScalarAccount) -> int:
    """Say why a position must be closed at the next open: an `ExitReason`, 0 where it need not."""
    units, entry, mark = account.units, account.entry, account.mark
    if units == 0.0:
        return NONE
    if account.halted:
        return _EMERGENCY
    if units < 0.0 and account.cash < rules.maintenance_frac * -units * mark:
        return _MARGIN_CALL
    lost = entry - mark if units > 0.0 else mark - entry
    if lost >= rules.position_loss_frac * entry:
        return _POSITION_LOSS
    return _MAX_HOLDING if account.holding_bars >= rules.max_holding_bars else NONE


def close_delisted(rules: AccountRules, book: Book, bar: ScalarBar, stale_bars: int) -> ScalarFill:
    """Close a position whose symbol has had no bar for too long; `stale_bars` before this bar."""
    if book.units == 0.0 or bar.tradable > 0.0 or stale_bars + 1 < rules.delisted_after_bars:
        return NO_FILL
    loss = rules.delisting_haircut_frac if book.units > 0.0 else -rules.delisting_haircut_frac
    return ScalarFill(-book.units, bar.close * (1.0 - loss), bar.close, 0.0)


def stop_within_bar(rules: AccountRules, book: Book, bar: ScalarBar) -> tuple[int, float]:
    """Find the stop or take-profit that a bar touches; where both, the stop.

    Returns:
        An `ExitReason`, 0 for neither, and the price before costs at which the position leaves.
    """
    units, entry = book.units, book.entry
    if units > 0.0:
        stop = entry * (1.0 - rules.stop_loss_frac)
        if bar.low <= stop:
            return _STOP_LOSS, min(bar.open, stop)
        target = entry * (1.0 + rules.take_profit_frac)
        if bar.high >= target:
            return _TAKE_PROFIT, max(bar.open, target)
    elif units < 0.0:
        stop = entry * (1.0 + rules.stop_loss_frac)
        if bar.high >= stop:
            return _STOP_LOSS, max(bar.open, stop)
        target = entry * (1.0 - rules.take_profit_frac)
        if bar.low <= target:
            return _TAKE_PROFIT, min(bar.open, target)
    return NONE, 0.0
