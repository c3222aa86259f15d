"""The twin's account: plain numbers, as one lane of the simulator has them."""

from __future__ import annotations

from tradingbot.envs.single.account import LaneAccount as ScalarAccount

__all__ = ["ScalarAccount", "open_account"]


def open_account(
    initial_cash_ccy: float, row: int, mark: float, episode: int = 0, *, stale_bars: int = 0
) -> ScalarAccount:
    """Open an account that holds cash only.

    Args:
        initial_cash_ccy: Its cash.
        row: Row of the bar at whose close it begins.
        mark: Close of that bar.
        episode: Number of the episode.
        stale_bars: Bars since the symbol last traded.
    """
    return ScalarAccount(
        cash=initial_cash_ccy,
        peak=initial_cash_ccy,
        mark=mark,
        row=row,
        episode=episode,
        stale_bars=stale_bars,
    )
