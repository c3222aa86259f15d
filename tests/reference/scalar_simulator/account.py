"""One account of the reference simulator: the record that environments read."""

from __future__ import annotations

from tradingbot.envs.single.account import LaneAccount as ScalarAccount
from tradingbot.envs.single.account import open_account

__all__ = ["ScalarAccount", "open_account"]
