"""The master's environment: capital over sleeves, its accounting and its actions."""

from tradingbot.envs.portfolio.env import PortfolioEnv

__all__ = ["PortfolioEnv"]
