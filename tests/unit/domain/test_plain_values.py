"""Records from plain values and back: keys, kinds, short forms, places in messages."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.plain_values import as_plain_values, read_record


@dataclass(frozen=True)
class Rate:
    first: float = 0.0
    last: float = 0.0

    @classmethod
    def from_plain(cls, value: object) -> Rate | None:
        return cls(value, value) if isinstance(value, float) else None


@dataclass(frozen=True)
class Settings:
    count: int = 3
    on: bool = False
    kind: Literal["linear", "cosine"] = "linear"
    sizes: tuple[int, ...] = ()
    pair: tuple[str, float] = ("a", 1.0)
    cap: float | None = None
    rate: Rate = field(default_factory=lambda: Rate(0.1, 0.2))


def test_values_become_what_the_hints_say_and_come_back() -> None:
    values = {"sizes": [1, 2], "pair": ["b", 2], "cap": "inf", "rate": {"last": 1}}

    made = read_record(Settings, values, name="learner")

    # What is left out of a section is as in the section above it, not as in its own class.
    assert made == Settings(sizes=(1, 2), pair=("b", 2.0), cap=math.inf, rate=Rate(0.1, 1.0))
    assert read_record(Settings, as_plain_values(made), name="learner") == made
    assert read_record(Settings, made, name="learner") is made


def test_type_reads_a_short_form_of_itself_and_only_that() -> None:
    assert read_record(Settings, {"rate": 0.5}, name="x").rate == Rate(0.5, 0.5)
    with pytest.raises(ConfigError, match=r"x\.rate must be a mapping of keys to values, was 'a'"):
        read_record(Settings, {"rate": "a"}, name="x")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cout": 1}, "key must be known in section 'x', was 'cout'. Did you mean 'count'?"),
        ({"rate": {"frist": 1.0}}, "key must be known in section 'x.rate'"),
        ({"count": 1.5}, "x.count must be a whole number, was 1.5"),
        ({"count": True}, "x.count must be a whole number, was True"),
        ({"on": 1}, "x.on must be true or false, was 1"),
        ({"kind": "linaer"}, "x.kind must be one of linear, cosine, was 'linaer'. Did you mean"),
        ({"sizes": 3}, "x.sizes must be a list, was 3"),
        ({"sizes": [1, "b"]}, "x.sizes[1] must be a whole number, was 'b'"),
        ({"pair": ["a"]}, "x.pair must be a list of 2, was 1 values"),
        ({"cap": "much"}, "x.cap must be of type"),
        ([], "x must be a mapping of keys to values, was []"),
    ],
)
def test_mistakes_are_named_with_their_place(values: object, message: str) -> None:
    for error in (ConfigError, DataError):
        with pytest.raises(error) as caught:
            read_record(Settings, values, name="x", error=error)
        assert message in str(caught.value)
