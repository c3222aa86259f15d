"""A worker works only on what was asked for: one digit of a hash is enough to refuse."""

from __future__ import annotations

import pytest

from tradingbot.domain.errors import DataError
from tradingbot.executors.identity import require_same


def test_a_hash_that_differs_in_its_last_digit_is_refused() -> None:
    require_same("ab12", "ab12", "run")
    with pytest.raises(DataError, match=r"was ab13 \(run, asked for ab12\)"):
        require_same("ab13", "ab12", "run")
