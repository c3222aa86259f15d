"""What rules may ask for: every metric with its unit, its source and where it is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

SourceName = Literal["journal", "run", "server", "disk", "alerter"]


class AlertMetric(NamedTuple):
    """A number that is measured of every subject of its source."""

    name: str
    unit: str
    source: SourceName
    words: str
    """What it says, and of what it is read."""


@dataclass(frozen=True)
class MetricSample:
    """One metric of one subject as it is now."""

    metric: str
    subject: str
    """Of what: `session NAME`, `run ID`, `server HOST:PORT`, `disk` …; short and on one line."""
    value: float
    """NaN is a breach of every rule: what cannot be read is not fine."""
    text: str = ""
    """What a person wants to know beside the number, e.g. names of tripped breakers."""


_FRACTION, _COUNT, _SECONDS = "fraction", "count", "seconds"
_ALL = (
    AlertMetric(
        "drawdown_frac",
        _FRACTION,
        "journal",
        "fall of a session's equity from its highest, as its last saved state has it",
    ),
    AlertMetric(
        "breakers_tripped",
        _COUNT,
        "journal",
        "breakers of a session that tripped and were not armed again; 1 where it may not trade",
    ),
    AlertMetric(
        "streams_down",
        _COUNT,
        "journal",
        "of venue and bars of a running session, how many cannot be asked",
    ),
    AlertMetric(
        "positions_drifted",
        _COUNT,
        "journal",
        "differences between a session's positions and the venue's that were not adopted",
    ),
    AlertMetric(
        "critical_events",
        _COUNT,
        "journal",
        "critical alerts that the session's process wrote itself since it started, but for those "
        "that have a metric of their own",
    ),
    AlertMetric(
        "decisions_not_finite",
        _COUNT,
        "journal",
        "1 where the last answer of a running session's model was no number",
    ),
    AlertMetric(
        "data_age_s",
        _SECONDS,
        "journal",
        "seconds since a bar was due that a running live session has not got yet",
    ),
    AlertMetric(
        "journal_full_frac",
        _FRACTION,
        "journal",
        "share of the buffer beside a journal that is taken by events its database did not confirm",
    ),
    AlertMetric(
        "session_dead",
        _COUNT,
        "journal",
        "1 where a live session has no process and was not stopped by a person",
    ),
    AlertMetric(
        "policy_entropy",
        _FRACTION,
        "run",
        "lowest normalised entropy of an agent after the last update of a run that trains now",
    ),
    AlertMetric(
        "server_answers_not_finite",
        _COUNT,
        "server",
        "predictions of an inference server that were no numbers, within a minute",
    ),
    AlertMetric(
        "server_data_age_s", _SECONDS, "server", "age of the newest bar of an inference server"
    ),
    AlertMetric(
        "server_degraded",
        _COUNT,
        "server",
        "0 where the newest model serves, 1 the last good one, 2 it only holds, 3 none; "
        "NaN where the server does not answer",
    ),
    AlertMetric("disk_free_frac", _FRACTION, "disk", "free share of the workspace's disk"),
    AlertMetric("disk_free_bytes", "bytes", "disk", "free bytes of the workspace's disk"),
    AlertMetric(
        "source_failed", _COUNT, "alerter", "1 where something that is watched cannot be read"
    ),
    AlertMetric(
        "guard_down", _COUNT, "alerter", "1 where the process that watches the alerter has ended"
    ),
)
METRICS: Mapping[str, AlertMetric] = MappingProxyType({each.name: each for each in _ALL})
"""Name → metric."""
