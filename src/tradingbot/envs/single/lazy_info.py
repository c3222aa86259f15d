"""A dict that is computed on first access: most infos of a step are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class LazyInfo(dict[str, Any]):
    """`info` of a step: the same keys and values as a plain dict, made at the first look.

    What is written into it before stays. Copies and pickles are plain dicts.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Any], known: Mapping[str, Any]) -> None:
        """Take the function that makes the items, and some that are known already.

        One is enough, and needed: C code that asks for the size alone must not find 0.
        """
        super().__init__(known)
        self._make: Callable[[], Any] | None = make

    def _filled(self) -> LazyInfo:
        make = self._make
        if make is not None:
            self._make = None
            own = dict(dict.items(self))
            dict.clear(self)
            dict.update(self, make())
            dict.update(self, own)
        return self

    def __getitem__(self, key: str) -> Any:
        return dict.__getitem__(self._filled(), key)

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self._filled(), key)

    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self._filled())

    def __reversed__(self) -> Iterator[str]:
        return dict.__reversed__(self._filled())

    def __len__(self) -> int:
        return dict.__len__(self._filled())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyInfo):
            other = other._filled()
        return dict.__eq__(self._filled(), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return dict.__repr__(self._filled())

    def __delitem__(self, key: str) -> None:
        dict.__delitem__(self._filled(), key)

    def __or__(self, other: Any) -> Any:
        return dict(self._filled()) | dict(other)

    def __ror__(self, other: Any) -> Any:
        return dict(other) | dict(self._filled())

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (list(self.items()),)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def __copy__(self) -> dict[str, Any]:
        return dict(self.items())

    def copy(self) -> dict[str, Any]:
        """Return a plain dict."""
        return dict(self.items())

    def keys(self) -> Any:
        """Return the keys."""
        return dict.keys(self._filled())

    def values(self) -> Any:
        """Return the values."""
        return dict.values(self._filled())

    def items(self) -> Any:
        """Return the items."""
        return dict.items(self._filled())

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        return dict.get(self._filled(), key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Take a value out."""
        return dict.pop(self._filled(), key, *default)

    def popitem(self) -> tuple[str, Any]:
        """Take the last item out."""
        return dict.popitem(self._filled())

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a value, which is the default from now on if there was none."""
        return dict.setdefault(self._filled(), key, default)

    def clear(self) -> None:
        """Take everything out."""
        dict.clear(self._filled())
