from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tradingbot.configuration.yaml_reader import read_document
from tradingbot.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("-7", -7), ("1_000", 1000), ("0", 0),
        ("0.20", 0.2), (".5", 0.5), ("1.0e+9", 1e9),
        ("true", True), ("false", False), ("null", None), ("~", None), ("", None),
        ("2023-10-02", date(2023, 10, 2)), ("yes", "yes"), ("NO", "NO"), ("on", "on"),
        ("1e9", "1e9"), ("007", "007"), ("0x1F", "0x1F"), ("12:30", "12:30"), ("'7'", "7"),
        ("True", "True"), ("<<", "<<"), ("2023-10-02T00:00:00", "2023-10-02T00:00:00"),
    ],
)  # fmt: skip
def test_read_document_scalar_means_what_it_looks_like(
    tmp_path: Path, text: str, value: object
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"a: {text}\n")

    read = read_document(file).values["a"]

    assert read == value
    assert type(read) is type(value)


def test_read_document_does_not_change_yaml_for_others() -> None:
    assert yaml.safe_load("a: yes") == {"a": True}


def test_read_document_accepts_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: 2\r\n")

    document = read_document(file)

    assert document.values == {"a": 1, "b": {"c": 2}}
    assert str(document.places[("b", "c")]) == f"{file}:3"


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.binary(max_size=80)
    | st.text(alphabet="ab:-[]{}#&*!|>'\"%@` \n\t,?0", max_size=60).map(str.encode)
)
def test_read_document_any_bytes_give_a_document_or_a_config_error(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(content)

    try:
        outcome: object = read_document(file).values
    except ConfigError as e:
        outcome = str(e)

    assert isinstance(outcome, dict) or (str(file) in str(outcome) and "\n" not in str(outcome))
