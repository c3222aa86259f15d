"""Who tried too often with a wrong key, and for how long that is not looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

_LOCK_AFTER, _LOCK_S, _REMEMBERED = 10, 60.0, 10_000


class Lockouts:
    """Wrong keys by address and the id that they claim: a neighbour's key goes on."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    def wait_s(self, address: str, key_id: str) -> float:
        """Return the seconds for which a pair is locked out; 0 where it is not."""
        count, since = self._failed.get((address, key_id), (0, 0.0))
        return max(0.0, since + _LOCK_S - self._clock()) if count >= _LOCK_AFTER else 0.0

    def fail(self, address: str, key_id: str) -> bool:
        """Count a wrong key; return whether that locks the pair out."""
        now = self._clock()
        count, since = self._failed.pop((address, key_id), (0, now))
        count = 1 if now - since > _LOCK_S else count + 1
        self._failed[address, key_id] = (count, now)
        while len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)
        return count == _LOCK_AFTER
