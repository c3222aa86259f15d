"""Fields are held to their types, choices and bounds when a configuration is built."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from tradingbot.domain.checks import CheckedFields, bounded, read_bounds
from tradingbot.domain.errors import ConfigError

Speed = Literal["slow", "fast"]


@dataclass(frozen=True)
class Settings(CheckedFields):
    """One field of every kind."""

    count: int = bounded(1, ">= 1")
    share: float = bounded(0.5, "[0, 1)")
    gain: float = bounded(2.0, "(0, inf)")
    levels: int = bounded(0, "0 or >= 2")
    offset: float = bounded(0.0, "(-inf, inf)")
    is_on: bool = False
    speed: Speed = "slow"
    place: Literal["here", "there"] = "here"


@dataclass(frozen=True)
class MoreSettings(Settings):
    """Of another class, with the fields of the first."""

    more: int = bounded(3, "> 2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 0}, r"count must be 1 or more, was 0 \(.*Settings.count\)"),
        ({"count": 1.5}, "count must be of type int, was 1.5"),
        ({"count": True}, "count must be of type int, was True"),
        ({"share": 1.0}, r"share must lie in \[0, 1\), was 1.0"),
        ({"share": -0.1}, r"share must lie in \[0, 1\)"),
        ({"share": math.nan}, r"share must lie in \[0, 1\)"),
        ({"gain": 0.0}, "gain must be above 0"),
        ({"gain": math.inf}, "gain must be above 0, was inf"),
        ({"levels": 1}, "levels must be 0, or 2 or more"),
        ({"offset": -math.inf}, "offset must be a finite number"),
        ({"is_on": 1}, "is_on must be of type bool"),
        ({"speed": "quick"}, "speed must be slow or fast, was 'quick'"),
        ({"place": "ther"}, "place must be here or there, .* Did you mean 'there'?"),
    ],
)
@pytest.mark.parametrize("kind", [Settings, MoreSettings])
def test_field_that_breaks_its_rule_is_refused(
    kind: type[Settings], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        kind(**changes)


def test_ends_of_bounds_are_allowed() -> None:
    settings = MoreSettings(count=1, share=0.0, levels=2, speed="fast", place="there", more=3)

    assert (settings.count, settings.share, settings.levels, settings.more) == (1, 0.0, 2, 3)
    with pytest.raises(ConfigError, match="more must be above 2, was 2"):
        MoreSettings(more=2)


def test_lower_bound_alone_allows_infinity() -> None:
    assert read_bounds(">= 0").hold(math.inf)
    assert not read_bounds(">= 0").hold(math.nan)
    assert not read_bounds("[0, inf)").hold(math.inf)
