"""Bar lengths as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.timeframe import BarGrid, Timeframe


@pytest.mark.parametrize(
    ("text", "duration"),
    [("1m", timedelta(minutes=1)), ("15m", timedelta(minutes=15)), ("1h", timedelta(hours=1)),
     ("4h", timedelta(hours=4)), ("1d", timedelta(days=1))],
)  # fmt: skip
def test_parse_and_print_are_inverse(text, duration):
    frame = Timeframe.parse(text)
    assert frame.duration == duration
    assert str(frame) == text
    assert frame.is_daily == (text == "1d")


@pytest.mark.parametrize("text", ["", "0h", "1", "1H", "-1h", "1.5h", "01h", "2d", "1w", " 1h"])
def test_parse_bad_text_is_refused(text):
    with pytest.raises(ConfigError, match="must be"):
        Timeframe.parse(text)


def test_grids_are_read_from_their_names():
    assert BarGrid("session") is BarGrid.SESSION
    assert BarGrid("clock") is BarGrid.CLOCK
