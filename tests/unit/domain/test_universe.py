"""Membership over time."""

from __future__ import annotations

from datetime import date

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.domain.universe import Member, Universe

JOIN, LEAVE = date(2020, 1, 1), date(2021, 1, 1)


def test_member_stay_is_half_open():
    member = Member("A", joined_on=JOIN, left_on=LEAVE)
    days = [date(2019, 12, 31), JOIN, date(2020, 12, 31), LEAVE]
    assert [member.is_member(day) for day in days] == [False, True, True, False]


def test_member_without_dates_is_always_in():
    assert Member("A").is_member(date.min)
    assert Member("A").is_member(date.max)


@pytest.mark.parametrize("left_on", [JOIN, date(2019, 1, 1)])
def test_member_leaving_before_joining_is_refused(left_on):
    with pytest.raises(DataError, match="left_on must be after"):
        Member("A", joined_on=JOIN, left_on=left_on)


def test_member_with_an_unsafe_symbol_is_refused():
    with pytest.raises(DataError, match="symbol must be"):
        Member("../A")


def test_universe_keeps_order_and_lists_a_returning_symbol_once():
    stays = (
        Member("B", left_on=JOIN),
        Member("A"),
        Member("B", joined_on=LEAVE),
    )
    universe = Universe("u", stays)
    assert universe.symbols == ("B", "A")
    assert universe.as_of(date(2019, 1, 1)) == ("B", "A")
    assert universe.as_of(date(2020, 6, 1)) == ("A",)
    assert universe.as_of(LEAVE) == ("A", "B")


@pytest.mark.parametrize(
    "stays",
    [
        (Member("A"), Member("A")),
        (Member("A", joined_on=JOIN), Member("A", joined_on=LEAVE)),
        (Member("A", left_on=LEAVE), Member("A", joined_on=JOIN)),
        (Member("A", joined_on=LEAVE), Member("A", left_on=JOIN)),
    ],
)
def test_universe_overlapping_or_unordered_stays_are_refused(stays):
    with pytest.raises(DataError, match="must not overlap"):
        Universe("u", stays)


def test_universe_without_members_is_refused():
    with pytest.raises(DataError, match="must have a member"):
        Universe("u", ())
