"""What goes between processes, copied: neither side can change, or free, what the other holds."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any, ClassVar


class _ByValue(ForkingPickler):
    """The pickler of multiprocessing without what it was taught in this process.

    Others teach it to move tensors into shared memory, in place, from under native code and arrays
    that point at them; here it forgets that.
    """

    _extra_reducers: ClassVar[dict[type, Callable[[Any], Any]]] = {}


def copied_bytes(value: Any) -> bytes:
    """Return a value as bytes that hold all of it; `Connection.recv` reads them."""
    return bytes(_ByValue.dumps(value))
