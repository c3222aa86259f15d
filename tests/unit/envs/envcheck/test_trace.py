"""What a trace keeps, and how two are compared."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tradingbot.envs.envcheck import CannotTell
from tradingbot.envs.envcheck.bars import (
    alternate,
    dictate,
    flat,
    gap,
    stairs,
    with_other_close,
    with_other_future,
)
from tradingbot.envs.envcheck.probe import Intent, cannot_be_told, generic_probe
from tradingbot.envs.envcheck.reference import ReferenceEnv, reference_probe
from tradingbot.envs.envcheck.trace import build, first_difference, flatten, mark, play, same

RIDE = (Intent.BUY, Intent.HOLD, Intent.SELL)


class HandsOutItsBuffer(ReferenceEnv):
    """Returns the same array every time and writes into it."""

    buffer: Any = None

    def observe(self) -> Any:
        fresh = super().observe()
        self.buffer = fresh if self.buffer is None else self.buffer
        self.buffer[:] = fresh
        return self.buffer


def test_observations_are_copies() -> None:
    probe = reference_probe(HandsOutItsBuffer)

    trace = play(build(probe, stairs()), probe, RIDE)

    assert not same(trace.moments[0].observation, trace.moments[1].observation)


def test_number_that_is_not_told_is_not_read() -> None:
    probe = replace(reference_probe(), fees_paid=cannot_be_told)
    trace = play(build(probe, flat()), probe, RIDE)

    assert not trace.knows("fees_paid")
    assert trace.knows("cash")
    with pytest.raises(CannotTell, match="does not tell its fees paid"):
        trace.read("fees_paid")


def test_flatten_takes_dictionaries_by_sorted_key() -> None:
    observation = {"b": np.array([[3.0, 4.0]]), "a": (1.0, [2.0])}

    assert flatten(observation).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert flatten({}).shape == (0,)


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, 2.0], [1.0, 2.0000001], False),
        ([1.0], [1.0, 1.0], False),
        ({"a": 1.0}, {"a": 1.0}, True),
    ],
)
def test_same_compares_every_number(first: Any, second: Any, equal: bool) -> None:
    assert same(first, second) is equal


def test_first_difference_names_the_moment() -> None:
    probe = reference_probe()
    env = build(probe, stairs())
    ride = play(env, probe, RIDE)
    other = play(env, probe, (Intent.BUY, Intent.SELL, Intent.HOLD))

    assert first_difference(ride, play(env, probe, RIDE)) is None
    assert first_difference(ride, other) == 2
    assert first_difference(ride, play(env, probe, RIDE[:2])) == 3


def test_mark_is_the_close_of_the_moment_and_stays_at_the_last() -> None:
    probe = reference_probe()
    bars = dictate([10.0, 11.0, 12.0], lead_bars=probe.lead_bars)

    assert [mark(bars, probe, moment) for moment in range(4)] == [10.0, 11.0, 12.0, 12.0]


def test_action_that_does_not_exist_cannot_be_told() -> None:
    env = build(reference_probe(), flat())

    with pytest.raises(CannotTell, match="'short'"):
        replace(reference_probe(), short=None).action(Intent.SHORT, env)
    with pytest.raises(CannotTell, match="'buy'"):
        generic_probe("any", lambda: env).action(Intent.BUY, env)
    assert replace(reference_probe(), hold=lambda _: 3).action(Intent.HOLD, env) == 3


def test_dictated_markets_have_the_shape_they_promise() -> None:
    assert len(set(flat())) == 1
    assert gap(3, 8) == [100.0] * 4 + [200.0] * 4
    assert np.all(np.diff(stairs()) > 0)
    assert len(set(np.diff(stairs()))) > 1
    assert alternate(4) == pytest.approx([100.0, 110.0, 100.0, 110.0])
    bars = dictate([5.0, 6.0], lead_bars=2)
    assert bars.closes.tolist() == [5.0, 5.0, 5.0, 6.0]
    assert np.array_equal(bars.opens[:3], bars.closes[:3])  # it has not moved yet
    assert bars.lows[3] < bars.opens[3] < bars.closes[3] < bars.highs[3]
    assert len(bars) == 4


def test_other_markets_differ_where_they_say_and_nowhere_else() -> None:
    bars = dictate(stairs(8), lead_bars=2)

    later, nearer = with_other_future(bars, 4, 0.5), with_other_close(bars, 4)

    for each in fields(bars):
        before, after = getattr(bars, each.name), getattr(later, each.name)
        assert np.array_equal(before[:5], after[:5])
        assert np.array_equal(0.5 * before[5:], after[5:])
    assert np.flatnonzero(nearer.closes != bars.closes).tolist() == [4]
    assert nearer.opens[4] < nearer.closes[4] < bars.closes[4]
