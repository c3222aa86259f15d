"""Compiled lanes: the C of `lane_source`, one program for each set of rules and reward."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tradingbot.evaluation.backtest.lane_source import lane_source
from tradingbot.market.native.library import code_sha256, load_library
from tradingbot.market.params import SimulatorParams, endless
from tradingbot.market.simulation import Reward
from tradingbot.rewards import reward_identity

Trade = Callable[..., None]
"""The C function `trade` of the address of a call; see `lane_source`."""
_SOURCES = ("domain", "market", "rewards", "risk", "agents/policy.py", "evaluation/backtest")
"""What a program is made from, below the package."""
_LOADED: dict[tuple[SimulatorParams, Any], Trade | None] = {}


def native_trade(rules: SimulatorParams, reward: Reward) -> Trade | None:
    """Return the compiled simulation of some rules and reward; None where it cannot be made.

    The first call takes some seconds, others nothing; another process finds the program on disk.
    Length of the period is no part of it. Without a C compiler there is none, and callers use the
    tensors themselves, which is slower and comes to the same.
    """
    key = (endless(rules), reward)
    if key not in _LOADED:
        _LOADED[key] = _make(*key)
    return _LOADED[key]


def _make(rules: SimulatorParams, reward: Reward) -> Trade | None:
    terms = reward_identity(reward)
    identity = repr(("trade", rules, terms, code_sha256(*_SOURCES))) if terms else ""
    library = load_library(identity, lambda: lane_source(rules, reward))
    if library is None:
        return None
    trade: Trade = library.trade
    library.trade.restype = None
    library.trade.argtypes = [ctypes.c_void_p]
    return trade
