"""Many environments as one: B lanes of a world, stepped by one call."""

from tradingbot.envs.batch.layout import chance_seed, is_whole
from tradingbot.envs.batch.simulator import BatchSimulator
from tradingbot.envs.batch.step import BatchStep

__all__ = ["BatchSimulator", "BatchStep", "chance_seed", "is_whole"]
