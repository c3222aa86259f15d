"""Functions written at run time that survive pickling: they travel as what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")


class Remade(Generic[A, R]):
    """A pure function of one argument, made by `make(*parts)`; unpickling makes it again."""

    __slots__ = ("_function", "_make", "_parts")

    def __init__(self, make: Callable[..., Callable[[A], R]], *parts: Any) -> None:
        """Make the function; `make` must be found by its name, `parts` must be picklable."""
        self._make, self._parts = make, parts
        self._function = make(*parts)

    def __call__(self, argument: A) -> R:
        """Call the function."""
        return self._function(argument)

    def __reduce__(self) -> tuple[type[Remade[A, R]], tuple[Any, ...]]:
        """Leave the function behind: a closure cannot be pickled."""
        return Remade, (self._make, *self._parts)

    def __deepcopy__(self, memo: object) -> Remade[A, R]:
        """Return the function itself: it has no state."""
        return self
