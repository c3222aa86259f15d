from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tradingbot.data.sources.pacing import TransientFailure
from tradingbot.data.sources.replies import Vendor, read_json, require_base_url, require_success
from tradingbot.domain.errors import ConfigError, SourceError

NOW = datetime(2025, 6, 2, 15, 0, tzinfo=UTC)
VENDOR = Vendor("V", "Let us in", "Ask better", secrets=("hush",))


@dataclass
class Answer:
    status_code: int = 200
    text: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)


def judge(answer: Answer) -> None:
    require_success(answer, VENDOR, where="here", now=NOW)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"Retry-After": "12"}, 12.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "Mon, 02 Jun 2025 15:01:30 GMT"}, 90.0),
        ({"Retry-After": "Mon, 02 Jun 2025 14:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp()) + 41)}, 41.0),
        ({"X-RateLimit-Reset": "17"}, None),
    ],
)
def test_asked_wait_is_read_in_each_of_its_forms(
    headers: dict[str, str], wait_s: float | None
) -> None:
    with pytest.raises(TransientFailure) as caught:
        judge(Answer(429, headers=headers))
    assert caught.value.retry_after_s == wait_s


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 520])
def test_status_that_may_pass_is_transient(status: int) -> None:
    with pytest.raises(TransientFailure, match=f"HTTP {status}"):
        judge(Answer(status))


@pytest.mark.parametrize("status", [204, 301, 302, 400, 404, 410, 422])
def test_every_other_status_is_refused(status: int) -> None:
    with pytest.raises(SourceError, match=rf"HTTP {status} \(here\)\. Ask better"):
        judge(Answer(status, text="<html>"))


def test_vendors_words_are_short_on_one_line_and_without_secrets() -> None:
    text = '{"message": "key hush\\nis bad ' + "x" * 500 + '"}'
    with pytest.raises(SourceError) as caught:
        judge(Answer(403, text=text))
    assert "key *** is bad" in str(caught.value)
    assert "hush" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert "hush" not in repr(VENDOR)


@pytest.mark.parametrize(
    "text", ["", "<!doctype html>", '{"a": 1', "[]", "null", "plain words", '{"a": 1} trailing']
)
def test_body_that_is_no_json_object_is_transient(text: str) -> None:
    with pytest.raises(TransientFailure, match="instead of data"):
        read_json(Answer(text=text))


@pytest.mark.parametrize(
    "url", ["https://data.example", "http://127.0.0.1:8080/", "http://localhost:1"]
)
def test_safe_address_is_accepted(url: str) -> None:
    assert require_base_url(url) == url.rstrip("/")


@pytest.mark.parametrize("url", ["http://data.example", "ftp://x", "data.example", "", "https://"])
def test_unsafe_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="https://"):
        require_base_url(url)
