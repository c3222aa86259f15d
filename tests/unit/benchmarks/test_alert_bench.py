"""`bench dashboard`: the latency of alerts, over processes, and that every trip is told once."""

from __future__ import annotations

import pytest

from tradingbot_benchmarks.monitoring import alert_latency
from tradingbot_benchmarks.monitoring.alert_latency import AlertScale, measure_alert_latency


def test_latency_has_its_name_unit_and_target() -> None:
    record = measure_alert_latency(AlertScale(sessions=2, trips=1), lambda *_: None)

    assert (record.name, record.unit, record.reference) == ("alert_latency_s", "s", 5.0)
    assert record.value > 0.0
    assert record.ratio == pytest.approx(5.0 / record.value)
    assert "2 trips" in record.note


def test_trip_that_is_not_told_is_an_error_and_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_latency, "_LOW", 90_000)  # a fall that no rule asks for
    monkeypatch.setattr(alert_latency, "_LONGEST_S", 2.5)

    with pytest.raises(TimeoutError, match="no alert of s0"):
        measure_alert_latency(AlertScale(sessions=1, trips=1), lambda *_: None)
