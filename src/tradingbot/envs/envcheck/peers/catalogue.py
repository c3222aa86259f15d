"""The public environments we know how to probe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tradingbot.domain.errors import UserError
from tradingbot.envs.envcheck.peers import anytrading, finrl, trading_env
from tradingbot.envs.envcheck.probe import EnvProbe


@dataclass(frozen=True)
class Absent:
    """A peer that cannot be run here."""

    name: str
    reason: str


PEERS: dict[str, Callable[[], EnvProbe]] = {
    "gym-anytrading StocksEnv": anytrading.stocks_probe,
    "gym-trading-env TradingEnv": trading_env.trading_env_probe,
    "FinRL StockTradingEnv": finrl.pandas_probe,
    "FinRL StockTradingEnv (np)": finrl.numpy_probe,
}
"""Probe makers by name; each raises a `UserError` where its package is missing or unusable."""


def find_peers() -> tuple[list[EnvProbe], list[Absent]]:
    """Return probes of the peers that can be loaded, and why the others cannot."""
    probes: list[EnvProbe] = []
    absent: list[Absent] = []
    for name, make in PEERS.items():
        try:
            probes.append(make())
        except UserError as e:
            absent.append(Absent(name, str(e)))
    return probes, absent
