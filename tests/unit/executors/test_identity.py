"""A worker works only on what was asked for: one digit of a hash is enough to refuse."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.executors.identity import require_same

WANTED = sha256(b"run, data, configuration and sources").hexdigest()


@pytest.mark.parametrize("place", [0, 11, 12, 31, 32, 63])
def test_a_hash_that_differs_in_one_digit_is_refused(place: int) -> None:
    other = "0" if WANTED[place] != "0" else "1"
    found = WANTED[:place] + other + WANTED[place + 1 :]

    require_same(WANTED, WANTED, "run")
    with pytest.raises(DataError, match=rf"was {found} \(run, asked for {WANTED}\)"):
        require_same(found, WANTED, "run")
