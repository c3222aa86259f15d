"""What a session decides by: a model that sees one bar after another.

`serving.ServedModel` is one; sessions know no more of it than this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray


@dataclass(frozen=True)
class ModelReference:
    """Which model, and where it lies."""

    path: str
    sha256: str


def read_reference(plain: Mapping[str, Any] | None) -> ModelReference | None:
    """Read a reference that a state holds; None where it holds none."""
    return None if plain is None else ModelReference(**plain)


class ModelAnswer(Protocol):
    """What N accounts are told to do."""

    @property
    def action(self) -> NDArray[Any]:
        """(N,) in the space of the rules."""
        ...

    @property
    def confidence(self) -> NDArray[Any]:
        """(N,) in [0, 1]."""
        ...


class LiveModel(Protocol):
    """A model with the memory of the bars that it took."""

    def take(self, features: NDArray[Any], present: NDArray[Any]) -> NDArray[Any]:
        """Take the next bar (N, C), raw; return where every number is defined."""
        ...

    def act(self, private: NDArray[Any], allowed: NDArray[Any] | None = None) -> ModelAnswer:
        """Return what to do at the bar that was taken last."""
        ...

    def look(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return what a master sees of the bar that was taken last: of each symbol, and of all."""
        ...


class SleeveTerms(Protocol):
    """What a master adds to its agents."""

    @property
    def sleeve_rules(self) -> Mapping[str, Any]:
        """Fields of `market.params.SimulatorParams`, of the sleeves' own accounts."""
        ...


class DecidingModel(Protocol):
    """N agents, one symbol each."""

    @property
    def sha256(self) -> str:
        """Of everything that decides."""
        ...

    @property
    def symbols(self) -> tuple[str, ...]:
        """N names, in order."""
        ...

    @property
    def feature_ids(self) -> tuple[str, ...]:
        """Name and version of the C columns that come from bars."""
        ...

    @property
    def lookback_bars(self) -> int:
        """Bars that must be taken before the first decision."""
        ...

    @property
    def portfolio(self) -> SleeveTerms | None:
        """What a master divides one account by; None where every symbol has an account."""
        ...

    def check(self) -> object:
        """Compare with what it answered when it was exported.

        Raises:
            StorageError: If an answer is another.
        """
        ...

    def live(self) -> LiveModel:
        """Return it without any memory."""
        ...

    def allocate(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """Return weights (1, N + 1) that a master wants of what it sees, (1, I)."""
        ...
