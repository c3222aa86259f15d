"""What `bench dashboard` measures: one function for each record."""

from __future__ import annotations

from tradingbot.data.sources.source import Progress
from tradingbot_benchmarks.monitoring.alert_latency import AlertScale, measure_alert_latency
from tradingbot_benchmarks.monitoring.screen import ScreenScale, measure_screen
from tradingbot_benchmarks.record import BenchRecord

QUICK_SCREEN = ScreenScale(bars=8, openings=2, with_points=False)
QUICK_ALERTS = AlertScale(sessions=4, trips=3)


def measure_monitoring(progress: Progress, *, quick: bool) -> list[BenchRecord]:
    """Return every record."""
    screen = measure_screen(QUICK_SCREEN if quick else ScreenScale(), progress)
    return [*screen, measure_alert_latency(QUICK_ALERTS if quick else AlertScale(), progress)]
