"""Names of a dashboard: its address, every one of the machine, and those that are allowed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.monitoring.dashboard.served_hosts import hosts_of
from tradingbot.monitoring.dashboard.server import require_dashboard
from tradingbot.monitoring.dashboard.settings import DashboardSettings, read_settings

NOW = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("address", "host", "arrived_at", "expected"),
    [
        ("127.0.0.1", "localhost:8501", "127.0.0.1", True),
        ("127.0.0.2", "127.0.0.2:8501", "127.0.0.2", True),
        ("::1", "[::1]:8501", "::1", True),
        ("192.168.1.5", "192.168.1.5:8501", "192.168.1.5", True),
        ("192.168.1.5", "localhost:8501", "192.168.1.5", False),
        ("fd00::5", "[fd00::5]:8501", "fd00::5", True),
        ("0.0.0.0", "192.168.1.5:8501", "192.168.1.5", True),
        ("0.0.0.0", "localhost:8501", "127.0.0.1", True),
        ("0.0.0.0", "192.168.1.6:8501", "192.168.1.5", False),
        ("0.0.0.0", "0.0.0.0:8501", "127.0.0.1", False),
        ("0.0.0.0", "evil.test:8501", "192.168.1.5", False),
        ("::", "192.168.1.5:8501", "::ffff:192.168.1.5", True),
        ("::", "[fe80::5]:8501", "fe80::5%eth0", True),
        ("::", "evil.test:8501", None, False),
    ],
)
def test_dashboard_is_served_under_its_addresses_alone(
    address: str, host: str, arrived_at: str | None, *, expected: bool
) -> None:
    assert hosts_of(address, 8501).has([host], arrived_at) is expected


def test_port_of_http_may_be_left_out_and_no_other() -> None:
    assert hosts_of("127.0.0.1", 80).has(["localhost"], None)
    assert not hosts_of("127.0.0.1", 8501).has(["localhost"], None)


def test_allowed_name_stands_for_itself_and_with_a_port_for_that_alone() -> None:
    served = hosts_of("127.0.0.1", 8501, ("Desk.example.com", "localhost:9999"))

    known = ("desk.example.com", "DESK.example.com:8501", "localhost:9999")
    assert all(served.has([each], None) for each in known)
    for each in ("desk.example.com:9999", "localhost", "x.desk.example.com", "desk.example.com."):
        assert not served.has([each], None)


@pytest.mark.parametrize("name", ["", "*", "http://desk", "desk/x", "desk:0", "desk:99999", "a b"])
def test_allowed_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="host must be a name") as caught:
        DashboardSettings(allow_hosts=(name,))

    assert "--allow-host" in str(caught.value)


def test_name_of_elsewhere_asks_for_a_key_as_an_address_of_elsewhere_does(tmp_path: Path) -> None:
    near = DashboardSettings(str(tmp_path), allow_hosts=("localhost:9999", "[::1]:1"))
    far = DashboardSettings(str(tmp_path), allow_hosts=("desk.example.com",))

    assert near.is_loopback
    assert not far.is_loopback
    assert read_settings(far.as_text()) == far
    with pytest.raises(ConfigError, match=r"API key of scope read.*desk\.example\.com"):
        require_dashboard(far, NOW)
