"""What a server measures of itself, for Prometheus; labels have few values, and hold no secret."""

from __future__ import annotations

from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)

Rung = Literal["fresh", "last_good", "hold", "none"]
RUNGS: tuple[Rung, ...] = ("fresh", "last_good", "hold", "none")
_SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.006, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class ServerMetrics:
    """The meters of one server."""

    def __init__(self) -> None:
        self.registry = made = CollectorRegistry()
        ProcessCollector(registry=made)
        self.requests = Counter(
            "http_requests", "Answers by route and status.", ["route", "status"], registry=made
        )
        self.inference_seconds = Histogram(
            *("inference_duration_seconds", "From the body of a request to its signals.", ["kind"]),
            buckets=_SECONDS,
            registry=made,
        )
        self.shed = Counter(
            "inference_shed", "Requests that were not taken.", ["reason"], registry=made
        )
        self.in_flight = Gauge(
            "inference_in_flight_requests", "Predictions under way.", registry=made
        )
        self.not_finite = Counter(
            "model_answers_not_finite", "Predictions that were no numbers.", registry=made
        )
        self.swaps = Counter("model_swaps", "Models to serve.", ["outcome"], registry=made)
        self.model = Info("model", "What serves.", registry=made)
        self.rung = Gauge("model_serving_state", "1 at the present rung.", ["state"], registry=made)
        self.refused = Counter("auth_refused", "Keys not taken.", ["reason"], registry=made)
        self.bar_age = Gauge(
            "market_data_age_seconds", "Of the newest bar.", ["feed"], registry=made
        )

    def show_rung(self, now: Rung) -> None:
        """Set the gauges of the ladder."""
        for rung in RUNGS:
            self.rung.labels(rung).set(float(rung == now))

    def text(self) -> bytes:
        """Return everything in the exposition format."""
        return generate_latest(self.registry)
