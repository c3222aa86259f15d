"""Named streams: reproducible, independent, stable across processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tradingbot.domain.seeding import stream


def test_stream_same_names_same_numbers():
    assert np.array_equal(stream(7, "a", 1).random(100), stream(7, "a", 1).random(100))


@pytest.mark.parametrize("other", [(8, "a", "b"), (7, "b", "a"), (7, "a"), (7, "a", "c")])
def test_stream_other_root_or_names_other_numbers(other):
    root, *names = other
    assert not np.array_equal(stream(7, "a", "b").random(100), stream(root, *names).random(100))


def test_stream_numbers_do_not_depend_on_other_streams():
    alone = stream(7, "a").random(10)
    stream(7, "b").random(1000)
    assert np.array_equal(stream(7, "a").random(10), alone)


def test_stream_is_the_same_in_another_process():
    code = "from tradingbot.domain.seeding import stream; print(stream(7, 'a').integers(2**62))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) == stream(7, "a").integers(2**62)


def test_streams_are_not_correlated():
    draws = np.stack([stream(7, "symbol", i).standard_normal(2000) for i in range(30)])
    off_diagonal = np.corrcoef(draws)[~np.eye(30, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.12  # 5 standard errors


def test_stream_leaves_global_randomness_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    stream(7, "a").random(10)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
