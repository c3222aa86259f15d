"""One account behind Gymnasium's interface."""

from tradingbot.envs.single.env import ObservationRow, RenderMode, TradingEnv

__all__ = ["ObservationRow", "RenderMode", "TradingEnv"]
