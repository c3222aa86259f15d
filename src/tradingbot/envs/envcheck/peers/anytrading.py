"""gym-anytrading's StocksEnv: two actions, a position that is either flat or all in."""

from __future__ import annotations

from typing import Any

from tradingbot.envs.envcheck.bars import DictatedBars
from tradingbot.envs.envcheck.peers.installed import frame, load_module, version_of
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, AnyEnv, EnvProbe, Info

_PACKAGE = "gym-anytrading"
_WINDOW_BARS = 2
_SELL, _BUY = 0, 1
_FLAT = 0  # its position "Short" earns nothing in StocksEnv, so it is no position


def stocks_probe() -> EnvProbe:
    """Make the probe.

    Its account is a profit factor that moves when a position is closed, so equity is told while
    flat; units, cash and fees never. It cannot go short for money.

    Raises:
        MissingExtraError: If gym-anytrading is not installed.
    """
    environment = load_module(_PACKAGE, "gym_anytrading.envs").StocksEnv

    def build(bars: DictatedBars, **costs: float) -> AnyEnv:
        market = frame(bars, Close=bars.closes)
        env: Any = environment(market, _WINDOW_BARS, (_WINDOW_BARS, len(bars)))
        env.trade_fee_bid_percent = env.trade_fee_ask_percent = costs["fee_frac"]
        made: AnyEnv = env
        return made

    return EnvProbe(
        name="gym-anytrading StocksEnv",
        version=version_of(_PACKAGE),
        build=build,
        lead_bars=_WINDOW_BARS,
        hold=lambda env: _SELL if _is_flat(env) else _BUY,
        buy=_BUY,
        sell=_SELL,
        equity=_equity,
    )


def _is_flat(env: AnyEnv) -> bool:
    position: Any = env.unwrapped
    return bool(position._position.value == _FLAT)


def _equity(env: AnyEnv, info: Info) -> float | None:
    if info["position"].value != _FLAT:
        return None
    return float(info["total_profit"]) * INITIAL_CASH_CCY
