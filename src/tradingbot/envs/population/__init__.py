"""The trading task of learners: one agent per symbol, each in B environments."""

from tradingbot.envs.population.backtest_task import evaluation_task
from tradingbot.envs.population.task import PRIVATE_NAMES, PopulationTask

__all__ = ["PRIVATE_NAMES", "PopulationTask", "evaluation_task"]
