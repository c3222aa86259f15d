"""Does a trading environment keep its promises? Known answers on dictated prices, for any of them.

Checks live in `checks/`, by what they are about; how to talk to an environment in `probe.py`.
Nothing here trains or trades.
"""

from tradingbot.envs.envcheck.bars import DictatedBars
from tradingbot.envs.envcheck.catalogue import CHECKS
from tradingbot.envs.envcheck.check import CheckVerdict, EnvCheck
from tradingbot.envs.envcheck.loading import load_subject
from tradingbot.envs.envcheck.probe import CannotTell, EnvProbe
from tradingbot.envs.envcheck.scorecard import Scorecard, ScorecardEntry
from tradingbot.envs.envcheck.suite import run_checks

__all__ = [
    "CHECKS",
    "CannotTell",
    "CheckVerdict",
    "DictatedBars",
    "EnvCheck",
    "EnvProbe",
    "Scorecard",
    "ScorecardEntry",
    "load_subject",
    "run_checks",
]
