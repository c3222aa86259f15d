"""The flight recorder: what agents do is measured at every update, judged and told in words.

Measures are pure functions (`measures.py`), warning signs one file each (`rules/`), decisions pure
as well (`interventions.py`). Nothing here changes a learner or writes a file.
"""

from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.config import GuardConfig, InterventionConfig
from tradingbot.learning.guards.diagnosis import AlarmLevel, Diagnosis
from tradingbot.learning.guards.history import MEASURES, History
from tradingbot.learning.guards.interventions import Intervention, Memory, decide
from tradingbot.learning.guards.recorder import FlightRecorder, RecorderReport

__all__ = [
    "MEASURES",
    "RULES",
    "AlarmLevel",
    "Diagnosis",
    "FlightRecorder",
    "GuardConfig",
    "History",
    "Intervention",
    "InterventionConfig",
    "Memory",
    "RecorderReport",
    "decide",
]
