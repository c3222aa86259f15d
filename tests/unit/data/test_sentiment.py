"""Sentiment files: scaled to [0, 1], and never usable before they were known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tradingbot.data.schema import require_covariates
from tradingbot.data.sources.sentiment import read_sentiment
from tradingbot.domain.errors import ConfigError, DataError, SchemaError, UserError

HEADER = "timestamp,symbol,sentiment,available_at"
ROWS = [
    "2024-01-02T00:00:00Z,B,-1,2024-01-03T00:00:00Z",
    "2024-01-03T00:00:00Z,B,0.5,2024-01-04T00:00:00Z",
    "2024-01-02T00:00:00Z,A,1,2024-01-03T00:00:00Z",
]
TEXT = "\n".join([HEADER, *ROWS])
WITHOUT = "\n".join(line.rpartition(",")[0] for line in [HEADER, *ROWS])


@pytest.fixture
def write(tmp_path):
    def write_file(text: str) -> Path:
        path = tmp_path / "scores.csv"
        path.write_text(text)
        return path

    return write_file


def test_read_sentiment_maps_linearly_and_keeps_available_at(write):
    covariates = read_sentiment(write(TEXT))
    require_covariates(covariates, where="test")
    assert covariates["symbol"].to_list() == ["A", "B", "B"]
    assert covariates["value"].to_list() == [1.0, 0.0, 0.75]
    assert covariates["name"].unique().to_list() == ["sentiment"]
    assert covariates["available_at"][0] == datetime(2024, 1, 3, tzinfo=UTC)


def test_read_sentiment_other_column_and_range(write):
    text = TEXT.replace("sentiment", "fear_greed").replace("-1,", "0,").replace("0.5", "50")
    covariates = read_sentiment(write(text), column="fear_greed", low=0, high=100)
    assert covariates["value"].to_list() == [0.01, 0.0, 0.5]


def test_read_sentiment_stamped_only_with_its_day_is_refused_as_look_ahead(write):
    with pytest.raises(SchemaError, match=r"available_at.*look-ahead.*--sentiment-delay"):
        read_sentiment(write(WITHOUT))


def test_read_sentiment_delay_is_added_to_the_stamp(write):
    by_delay = read_sentiment(write(WITHOUT), delay=timedelta(days=1))
    assert by_delay.equals(read_sentiment(write(TEXT)))
    dates_only = read_sentiment(write(WITHOUT.replace("T00:00:00Z", "")), delay=timedelta(days=1))
    assert dates_only.equals(by_delay)


@pytest.mark.parametrize("delay", [timedelta(0), timedelta(hours=-1)])
def test_read_sentiment_delay_that_does_not_delay_is_refused(write, delay):
    with pytest.raises(DataError, match=r"available after the time it is about.*look-ahead"):
        read_sentiment(write(WITHOUT), delay=delay)


def test_read_sentiment_available_on_its_own_midnight_is_refused(write):
    text = TEXT.replace(",2024-01-04T00:00:00Z", ",2024-01-03T00:00:00Z")
    with pytest.raises(DataError, match="in row 2"):
        read_sentiment(write(text))


@pytest.mark.parametrize("delay", [timedelta(minutes=5), timedelta(hours=23, minutes=59)])
def test_read_sentiment_of_days_before_the_day_is_over_is_refused(write, delay):
    for text in (WITHOUT, WITHOUT.replace("T00:00:00Z", "")):
        with pytest.raises(DataError, match=r"a day lasts until midnight.*--sentiment-delay 1d"):
            read_sentiment(write(text), delay=delay)


def test_read_sentiment_of_days_published_on_their_day_is_refused(write):
    text = TEXT.replace(",2024-01-04T00:00:00Z", ",2024-01-03T21:00:00Z")
    with pytest.raises(DataError, match="in row 2"):
        read_sentiment(write(text))


def test_read_sentiment_of_hours_may_be_known_minutes_later_at_midnight_too(write):
    stamps = [datetime(2024, 1, 2, tzinfo=UTC) + timedelta(hours=hour) for hour in range(48)]
    lines = ["timestamp,symbol,sentiment", *(f"{at.isoformat()},A,0" for at in stamps)]
    covariates = read_sentiment(write("\n".join(lines)), delay=timedelta(minutes=5))
    assert covariates["available_at"][0] == stamps[0] + timedelta(minutes=5)


def test_read_sentiment_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(DataError, match=r"must exist, was nothing \(.*gone\.csv\)"):
        read_sentiment(tmp_path / "gone.csv")
    with pytest.raises(DataError, match="must exist, was a folder"):
        read_sentiment(tmp_path)


def test_read_sentiment_moment_stamp_may_be_available_at_once(write):
    moments = "\n".join([HEADER, "2024-01-02T09:15:00Z,A,0,2024-01-02T09:15:00Z",
                         "2024-01-02T10:15:00Z,A,0,2024-01-02T10:15:00Z"])  # fmt: skip
    assert read_sentiment(write(moments)).height == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.5", "1.01", r"scores in \[-1, 1\], was '1.01' in row 2"),
        ("0.5", "nan", "scores in"),
        ("0.5", "", "scores in"),
        ("0.5", "good", "must hold a number, was 'good' in row 2"),
        ("2024-01-04T00:00:00Z", "2024-01-04T00:00:00", "with a zone"),
        ("2024-01-04T00:00:00Z", "", "must hold a time, was empty in row 2"),
        ("sentiment", "score", "must have column 'sentiment'.*--sentiment-column"),
        ("symbol", "name", "must have column 'symbol'"),
        (",A,", ",../A,", "symbol must be"),
        ("2024-01-03T00:00:00Z,B,0.5,2024-01-04", "2024-01-02T00:00:00Z,B,0.5,2024-01-03",
         "one score at a time, was 2 rows"),
    ],
)  # fmt: skip
def test_read_sentiment_bad_content_is_refused(write, old, new, message):
    with pytest.raises(UserError, match=message):
        read_sentiment(write(TEXT.replace(old, new)))


def test_read_sentiment_contradicting_options_are_refused(write):
    with pytest.raises(ConfigError, match="low must be below high"):
        read_sentiment(write(TEXT), low=1, high=1)
    with pytest.raises(ConfigError, match="delay must not be given"):
        read_sentiment(write(TEXT), delay=timedelta(days=1))


def test_read_sentiment_real_file_is_whole_and_in_range(real_data):
    path = real_data / "sentiment_daily_finbert.parquet"
    covariates = read_sentiment(path)
    require_covariates(covariates, where="test")
    original = pl.read_parquet(path).sort("symbol", "available_at")
    assert covariates.height == original.height == 26_971
    expected = (original["sentiment"].cast(pl.Float64) + 1) / 2
    assert covariates["value"].equals(expected, check_names=False)
    assert covariates["value"].is_between(0, 1).all()
