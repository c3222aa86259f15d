"""Strategies of one's own: what they see, and how they become a policy."""

from tradingbot.agents.strategies.policy import StrategyPolicy, strategy_policy
from tradingbot.agents.strategies.view import MarketTables, MarketView

__all__ = ["MarketTables", "MarketView", "StrategyPolicy", "strategy_policy"]
