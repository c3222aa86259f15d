"""A served model with the memory of the bars that it took: one bar of all symbols at a time."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError
from tradingbot.serving.bundle import BundleManifest, PortfolioPart

Floats = NDArray[np.float32]
Memory = tuple[NDArray[Any], ...]


class ServedAnswer(NamedTuple):
    """What B accounts are told to do."""

    action: NDArray[Any]
    """(B,) in the space of the rules, of the type of the private numbers."""
    confidence: Floats
    """(B,) in [0, 1]; see `graph_contract.Confidence`."""
    output: Floats
    """(B, O) of the heads, before an action is read of them."""


class StreamedModel(Protocol):
    """What is streamed; `served_model.ServedModel` is such, and says what each part is."""

    @property
    def manifest(self) -> BundleManifest: ...  # noqa: D102

    @property
    def symbols(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def portfolio(self) -> PortfolioPart | None: ...  # noqa: D102

    @property
    def lookback_bars(self) -> int: ...  # noqa: D102

    @property
    def shared_columns(self) -> slice: ...  # noqa: D102

    def scale(  # noqa: D102
        self, features: Any, present: Any, *, probabilities: Any = None
    ) -> tuple[Floats, NDArray[np.bool_]]: ...

    def begin_stream(self, n_series: int) -> Memory: ...  # noqa: D102

    def stream(self, memory: Memory, row: Floats) -> tuple[Memory, Floats]: ...  # noqa: D102

    def decide(self, agent: Any, embedding: Any, private: Any, allowed: Any) -> ServedAnswer: ...  # noqa: D102


class ServedStream:
    """A served model that sees one bar of all symbols at a time; use it from one thread."""

    def __init__(self, model: StreamedModel) -> None:
        self.model = model
        self.bars_taken = 0
        self._memory = model.begin_stream(len(model.symbols))
        self._everyone = np.arange(len(model.symbols))
        self._embedding: Floats | None = None
        self._row: Floats | None = None

    @property
    def is_warm(self) -> bool:
        """Whether enough bars were taken for the answers of a stream that began long ago."""
        return self.bars_taken >= self.model.lookback_bars

    def take(
        self,
        features: NDArray[Any],
        present: NDArray[np.bool_],
        *,
        probabilities: NDArray[Any] | None = None,
    ) -> NDArray[np.bool_]:
        """Take the next bar (N, C), raw; return where every number is defined. See `scale`."""
        row, valid = self.model.scale(features, present, probabilities=probabilities)
        self.take_row(row)
        return valid

    def take_row(self, row: Floats) -> None:
        """Take the next bar (N, F) of every agent, scaled, all columns: `LivePolicy.take`."""
        require_shape("a bar", row, (len(self._everyone), self.model.manifest.sizes.n_features))
        self._memory, self._embedding = self.model.stream(self._memory, row)
        self._row = row
        self.bars_taken += 1

    def look(self) -> tuple[Floats, Floats]:
        """Return what a master sees of the bar that was taken last.

        Returns:
            Embeddings (N, C), through the projection where there is one, and the mean over symbols
            of the market's columns, (S,).
        """
        part = self.model.portfolio
        if part is None or self._row is None or self._embedding is None:
            raise ConfigError("a master must have taken a bar to look at", was="none")
        seen: NDArray[Any] = self._embedding
        if part.projection is not None:
            seen = (seen - np.array(part.projection.mean)) @ np.array(part.projection.directions)
        shared = self._row[:, self.model.shared_columns].mean(axis=0)
        return seen.astype(np.float32), shared.astype(np.float32)

    def act(self, private: NDArray[Any], allowed: NDArray[np.bool_] | None = None) -> ServedAnswer:
        """Return what the N agents do at the bar that was taken last; see `ServedModel.decide`."""
        if self._embedding is None:
            raise ConfigError("a bar must be taken before agents act", was="none")
        return self.model.decide(self._everyone, self._embedding, private, allowed)


def require_shape(word: str, values: Any, shape: tuple[int, ...]) -> None:
    """Refuse values of another shape.

    Raises:
        ConfigError: Naming both.
    """
    if np.shape(values) != shape:
        raise ConfigError(f"{word} must have shape {shape}", was=np.shape(values))
