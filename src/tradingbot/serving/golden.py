"""Golden vectors: inputs that travel with a bundle, and what it answered when it was exported.

A machine on which the answers are others does not serve it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import StorageError
from tradingbot.features.tensor_files import unpack_tensors
from tradingbot.serving.bundle import GOLDEN_FILE, Bundle

TOLERANCE = 1e-5
"""Of `largest_difference`, to PyTorch at export and to the exported answers later."""
_INPUTS = ("agent", "rows", "private", "allowed")
_ANSWERS = ("embedding", "window_embedding", "output", "action", "confidence")
MASTER_INPUTS, WEIGHTS = "master_inputs", "weights"
"""What a master is asked and answers, in bundles of portfolios."""


class AnsweringModel(Protocol):
    """What is asked; `served_model.ServedModel` is such, and says what each part is."""

    bundle: Bundle

    @property
    def lookback_bars(self) -> int: ...  # noqa: D102

    def begin_stream(self, n_series: int) -> Any: ...  # noqa: D102

    def stream(self, memory: Any, row: Any) -> Any: ...  # noqa: D102

    def embed_windows(self, window: Any) -> Any: ...  # noqa: D102

    def decide(self, agent: Any, embedding: Any, private: Any, allowed: Any) -> Any: ...  # noqa: D102

    def allocate(self, inputs: Any) -> Any: ...  # noqa: D102


class GoldenCheck(NamedTuple):
    """What comparing came to."""

    largest_difference: float
    """See `largest_difference`."""
    is_constant: bool
    """Whether all actions are one number: a model that says nothing."""


def answer_golden(model: AnsweringModel, inputs: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what a model answers.

    Args:
        model: Of N agents.
        inputs: `agent` (G,), `rows` (T, G, F) scaled, T ≥ W, `private` (T, 18, G), `allowed`
            (T, A, G); of a portfolio `master_inputs` (G, I).

    Returns:
        `embedding` (G, D) of the last bar by streaming, `window_embedding` (G, D) of its window,
        and of every bar `output` (T, G, O), `action` and `confidence` (T, G); of a portfolio
        `weights` (G, N + 1).
    """
    agent, rows = inputs["agent"], inputs["rows"]
    memory = model.begin_stream(len(agent))
    made = []
    for bar, row in enumerate(rows):
        memory, embedding = model.stream(memory, row)
        made.append(model.decide(agent, embedding, inputs["private"][bar], inputs["allowed"][bar]))
    window = np.ascontiguousarray(rows[-model.lookback_bars :].swapaxes(0, 1))
    weights = {}
    if MASTER_INPUTS in inputs:
        weights = {WEIGHTS: model.allocate(inputs[MASTER_INPUTS])}
    return {
        **weights,
        "embedding": embedding,
        "window_embedding": model.embed_windows(window),
        "output": np.stack([each.output for each in made]),
        "action": np.stack([each.action for each in made]).astype(np.float32),
        "confidence": np.stack([each.confidence for each in made]),
    }


def check_golden(model: AnsweringModel) -> GoldenCheck:
    """Compare what a model answers now with what it answered at export.

    Raises:
        StorageError: If they differ, or the vectors are not of this model.
    """
    where = model.bundle.path
    stored = unpack_tensors(model.bundle.files[GOLDEN_FILE], where)
    inputs, compared = [*_INPUTS], ["embedding", "window_embedding", "output", "confidence"]
    if model.bundle.manifest.portfolio is not None:
        inputs.append(MASTER_INPUTS)
        compared.append(WEIGHTS)
    if set(stored) != {*inputs, *_ANSWERS, *compared}:
        _refuse("other tensors", where)
    now = answer_golden(model, {name: stored[name] for name in inputs})
    gap = 0.0
    for name in compared:
        if now[name].shape != stored[name].shape:
            _refuse(f"{name} of shape {now[name].shape}", where)
        apart = largest_difference(now[name], stored[name])
        if not apart <= TOLERANCE:  # NaN is not
            _refuse(f"a difference of {apart:.2g}, above {TOLERANCE:g}", where)
        gap = max(gap, apart)
    return GoldenCheck(gap, bool(np.ptp(now["output"], axis=(0, 1)).max() == 0.0))


def largest_difference(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    """Return the largest difference of vectors (…, D), relative to each vector's size; NaN is NaN.

    That is |found − wanted| ÷ max(1, largest |wanted| of the vector): sums of float32 numbers are
    uncertain by a share of their largest terms, not of what is left when they cancel.
    """
    if not found.size:
        return 0.0
    wanted = wanted.astype(np.float64)
    size = np.maximum(1.0, np.abs(wanted).max(axis=-1, keepdims=True))
    return float(np.max(np.abs(found - wanted) / size))


def _refuse(was: str, where: Path) -> None:
    raise StorageError(
        "a bundle must answer its golden vectors as when it was exported",
        was=was,
        where=str(where),
        remedy="Export the run again on this machine",
    )
