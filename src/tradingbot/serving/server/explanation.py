"""Why a signal is what it is, and what would change it: by asking the model about changed inputs.

Nothing is estimated: a feature's contribution is the model's output less its output where the
feature stands at its training mean (0, scaled) at every bar of the window; what would change a
signal is found by shifting single features of the last bar until the model says something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.registry import regime_features
from tradingbot.serving.served_stream import Floats
from tradingbot.serving.server.prediction import SeenWindows, ServingModel
from tradingbot.serving.server.problems import invalid
from tradingbot.serving.server.schemas import Explanation, FeatureContribution, SignalChange

MAX_EXPLAINED = 8
"""Symbols of one request that are explained."""
N_SHOWN = 8
"""Contributions, and features that are shifted."""
SHIFTS = (0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
"""Of a scaled value, the smallest first."""
_BATCH = 32


class _Asker:
    """One agent and its account; asked about many windows."""

    def __init__(self, serving: ServingModel, seen: SeenWindows, lane: int) -> None:
        self.serving, self.window = serving, seen.window[lane]
        self._agent, self._known = seen.agent[lane], seen.known[lane]
        self._private = seen.private[:, lane : lane + 1]
        self._code: int | None = None

    def ask(self, windows: Floats) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return what contributions are of, and actions, of windows (B, W, F)."""
        scores, actions = [], []
        for begin in range(0, len(windows), _BATCH):
            part = windows[begin : begin + _BATCH]
            count = len(part)
            private = np.repeat(self._private, count, axis=1)
            embedding = self.serving.model.embed_windows(part, np.repeat(self._known, count))
            answer = self.serving.model.decide(
                np.repeat(self._agent, count), embedding, private, self.serving.allowed(private)
            )
            actions.append(np.asarray(answer.action, dtype=np.float64))
            scores.append(self._score(answer.output, actions[-1]))
        return np.concatenate(scores), np.concatenate(actions)

    def _score(self, output: Floats, action: NDArray[Any]) -> NDArray[Any]:
        """Return the action, or of codes the output of the code that was chosen first."""
        if not self.serving.model.manifest.sizes.has_codes:
            return action
        if self._code is None:
            self._code = int(action[0])
        return np.asarray(output[:, self._code], dtype=np.float64)

    def direction(self, action: float) -> str:
        held = float(self.serving.held(self._private)[0])
        return self.serving.read(action, held).direction


def explain(serving: ServingModel, seen: SeenWindows, lane: int) -> Explanation:
    """Explain the signal of one of the windows.

    Args:
        serving: The model that answered.
        seen: What it was asked about.
        lane: Which of the B windows.

    Raises:
        Problem: 422, if the model is market-neutral.
    """
    if serving.rules.neutral_gross_frac:
        message = "signals of a market-neutral model follow from all symbols, not from one's inputs"
        raise invalid(message, "explain", code="neutral")
    asker = _Asker(serving, seen, lane)
    ids = [feature.id for feature in serving.model.manifest.acting.features]
    (score,), (action,) = asker.ask(asker.window[None])
    without, _ = asker.ask(np.stack(list(_without_each(asker.window))))
    contribution = score - without
    largest = np.argsort(-np.abs(contribution), kind="stable")[:N_SHOWN]
    last, names = asker.window[-1], [each.rpartition("-v")[0] for each in ids]
    regimes = {spec.name for spec in regime_features()}
    return Explanation(
        of="score of the code" if serving.model.manifest.sizes.has_codes else "action",
        contributions=[
            FeatureContribution(
                feature=ids[place],
                contribution=float(contribution[place]),
                value=float(last[place]),
            )
            for place in largest
        ],
        regime={name: float(last[at]) for at, name in enumerate(names) if name in regimes},
        changes=_changes(asker, largest.tolist(), ids, asker.direction(float(action))),
    )


def _without_each(window: Floats) -> Iterator[Floats]:
    for column in range(window.shape[1]):
        changed = window.copy()
        changed[:, column] = 0.0
        yield changed


def _changes(
    asker: _Asker, columns: list[int], ids: list[str], direction: str
) -> list[SignalChange]:
    """Return the smallest shift of each feature that changes the direction, smallest first."""
    windows = []
    for column in columns:
        for shift in SHIFTS:
            changed = asker.window.copy()
            changed[-1, column] += shift
            windows.append(changed)
    _, actions = asker.ask(np.stack(windows))
    found: list[SignalChange] = []
    for row, column in zip(actions.reshape(len(columns), -1), columns, strict=True):
        directions = [asker.direction(float(each)) for each in row]
        told = zip(SHIFTS, directions, strict=True)
        other = next(((shift, new) for shift, new in told if new != direction), None)
        if other is not None:
            change = {"feature": ids[column], "shift": other[0], "signal": other[1]}
            found.append(SignalChange.model_validate(change))
    return sorted(found, key=lambda each: abs(each.shift))
