"""A dict that is computed on first access: most infos of a step are never read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
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

    def __bool__(self) -> bool:
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyInfo):
            other = other._filled()
        return dict.__eq__(self._filled(), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

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


def _after_filling(name: str) -> Callable[..., Any]:
    """Return a method of `dict` that makes the items first."""
    method = getattr(dict, name)

    @wraps(method)
    def look(self: LazyInfo, *args: Any) -> Any:
        return method(self._filled(), *args)

    return look


for _name in (
    *("__getitem__", "__contains__", "__iter__", "__reversed__", "__len__", "__repr__"),
    *("__delitem__", "keys", "values", "items", "get", "pop", "popitem", "setdefault", "clear"),
):
    setattr(LazyInfo, _name, _after_filling(_name))
