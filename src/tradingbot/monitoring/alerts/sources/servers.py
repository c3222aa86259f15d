"""Inference servers: what their metrics say, read over HTTP as Prometheus would.

Addresses are the operator's own settings, mostly on loopback; a server that wants a key gets the
one of `$TRADINGBOT_API_KEY`.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta
from http.client import HTTPException
from urllib.parse import urlsplit
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.redaction import split_credentials
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.sources.source import SourceReading

_TIMEOUT_S = 2.0
_WINDOW = timedelta(seconds=60)
_MOST_BYTES = 4_000_000
_LINE = re.compile(r"(?P<name>[a-z_:]+)(\{(?P<labels>[^}]*)\})? (?P<value>\S+)")
_RUNGS = {"fresh": 0.0, "last_good": 1.0, "hold": 2.0, "none": 3.0}
_NOT_FINITE = "model_answers_not_finite_total"


class ServersSource:
    """Measures servers by their `/metrics`.

    Args:
        addresses: e.g. `http://127.0.0.1:8000`.
        api_key: Sent as a bearer token where it is given.

    Raises:
        ConfigError: If an address is none.
    """

    metrics = ("server_answers_not_finite", "server_data_age_s", "server_degraded")

    def __init__(self, addresses: tuple[str, ...], *, api_key: str | None = None) -> None:
        self._addresses = {_subject(each): each for each in addresses}
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._counted: dict[str, deque[tuple[datetime, float]]] = {}
        """Server → (when, total) of the readings of the window and of the last one before it."""

    def measure(self, now: datetime) -> SourceReading:
        """Read every server; one that does not answer is degraded beyond all rungs."""
        samples: list[MetricSample] = []
        for subject, address in self._addresses.items():
            try:
                found = parse_metrics(self._read(address))
            except (OSError, HTTPException, ValueError) as e:
                told = f"it does not answer: {type(e).__name__}"
                samples.append(MetricSample("server_degraded", subject, math.nan, told))
                continue
            samples += self._samples(subject, found, now)
        return SourceReading(tuple(samples))

    def close(self) -> None:
        """Nothing is held."""

    def _samples(
        self, subject: str, found: Mapping[str, float], now: datetime
    ) -> list[MetricSample]:
        samples = []
        total = found.get(_NOT_FINITE, 0.0)
        told = f"{total:g} since the server started"
        new = self._count(subject, total, now)
        samples.append(MetricSample("server_answers_not_finite", subject, new, told))
        rungs = {name: found.get(f'model_serving_state{{state="{name}"}}') for name in _RUNGS}
        rung = next((name for name, value in rungs.items() if value == 1.0), None)
        degraded = math.nan if rung is None else _RUNGS[rung]
        samples.append(MetricSample("server_degraded", subject, degraded, f"it serves: {rung}"))
        age = found.get('market_data_age_seconds{feed="stream"}')
        if age is not None:
            samples.append(MetricSample("server_data_age_s", subject, age))
        return samples

    def _count(self, subject: str, total: float, now: datetime) -> float:
        """Return how much a total rose within the window; a server that restarts begins at 0."""
        known = self._counted.setdefault(subject, deque([(now, total)]))
        if known[-1][0] > now:  # the clock was set back: what was counted ages from now on
            known = self._counted[subject] = deque((min(at, now), n) for at, n in known)
        if total < known[-1][1]:
            known.clear()
            known.append((now, 0.0))
        known.append((now, total))
        while len(known) > 2 and now - known[1][0] >= _WINDOW:
            known.popleft()
        return total - known[0][1]

    def _read(self, address: str) -> str:
        request = HttpRequest(f"{address.rstrip('/')}/metrics", headers=self._headers)  # noqa: S310
        with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - http(s), checked
            return str(answer.read(_MOST_BYTES).decode("utf-8"))


def parse_metrics(text: str) -> dict[str, float]:
    r"""Return `name{labels}` → value of the text format of Prometheus.

    Example:
        >>> parse_metrics('# HELP a b\na_total 2.0\nb{state="x"} 1.0\n')
        {'a_total': 2.0, 'b{state="x"}': 1.0}
    """
    found = {}
    for line in text.splitlines():
        parts = None if line.startswith("#") else _LINE.fullmatch(line)
        if parts is not None:
            labels = f"{{{parts['labels']}}}" if parts["labels"] else ""
            found[f"{parts['name']}{labels}"] = float(parts["value"])
    return found


def _subject(address: str) -> str:
    plain, user, password = split_credentials(address)
    try:
        parts = urlsplit(plain)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of brackets, or of a port
        is_one = False
    if not is_one or user or password:
        rule = "servers must be addresses without a password"
        remedy = "Write e.g. http://127.0.0.1:8000; a key belongs into $TRADINGBOT_API_KEY"
        raise ConfigError(rule, was=repr(plain), remedy=remedy)
    return f"server {parts.netloc}"
