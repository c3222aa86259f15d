"""The flight recorder: what agents do is measured at every update, judged and told in words.

Measures are pure functions (`measures.py`), warning signs a class each (`detectors/`), decisions
pure as well (`interventions.py`). Nothing here changes a learner or writes a file.
"""

import typing

from tradingbot.domain.lazy_names import lazy_names as _lazy_names

if typing.TYPE_CHECKING:
    from tradingbot.learning.guards.config import GuardConfig
    from tradingbot.learning.guards.detector import AlarmLevel, Diagnosis
    from tradingbot.learning.guards.interventions import Intervention
    from tradingbot.learning.guards.recorder import FlightRecorder

__all__ = ["AlarmLevel", "Diagnosis", "FlightRecorder", "GuardConfig", "Intervention"]

__getattr__ = _lazy_names(
    __name__,
    {
        "AlarmLevel": "detector",
        "Diagnosis": "detector",
        "FlightRecorder": "recorder",
        "GuardConfig": "config",
        "Intervention": "interventions",
    },
)
