"""Records survive the way through JSON, and what is no record is refused by name."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Literal

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.dossier.evidence import LeakCheck
from tradingbot.evaluation.statistics.interval import Interval


@dataclass(frozen=True)
class Inner:
    side: Literal["long", "short"]
    count: int


@dataclass(frozen=True)
class Outer:
    interval: Interval
    maybe: Interval | None
    costs: tuple[float | None, ...]
    pairs: tuple[tuple[str, int], ...]
    inner: Inner
    is_good: bool


OUTER = Outer(
    Interval(0.1, -math.inf, 1 / 3),
    None,
    (1.0, None, math.inf),
    (("a", 1), ("b", 2)),
    Inner("short", 3),
    True,
)


def through_json(record: object) -> object:
    return json.loads(json.dumps(to_plain(record), allow_nan=False))


def test_record_through_json_is_the_same() -> None:
    assert from_plain(Outer, through_json(OUTER)) == OUTER


def test_not_a_number_stays_not_a_number() -> None:
    record = Interval(math.nan, -math.inf, math.inf)

    back = from_plain(Interval, through_json(record))

    assert math.isnan(back.estimate)
    assert back[1:] == record[1:]


def test_record_of_the_dossier_keeps_none_and_empty() -> None:
    check = LeakCheck(None, 4, 0, (1.5, math.nan), False, ())

    back = from_plain(LeakCheck, through_json(check))

    assert back.certificate_sha256 is None
    assert back.words == ()
    assert math.isnan(back.delayed_net_bps[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"inner": {"side": "short"}},
            "Outer.inner must have the fields of Inner, was count missing",
        ),
        ({"inner": {"side": "up", "count": 1}}, "Outer.inner.side must be"),
        ({"is_good": 1}, "Outer.is_good must be"),
        ({"costs": ["much"]}, r"Outer.costs\[0\] must be"),
        ({"pairs": [["a"]]}, r"Outer.pairs\[0\] must be"),
        ({"more": 1}, "was more unknown"),
    ],
)
def test_other_content_is_refused_by_name(change: dict[str, object], message: str) -> None:
    values = through_json(OUTER)
    assert isinstance(values, dict)

    with pytest.raises(DataError, match=message):
        from_plain(Outer, {**values, **change})


def test_value_without_plain_form_is_refused() -> None:
    with pytest.raises(TypeError, match="plain values"):
        to_plain({1, 2})
