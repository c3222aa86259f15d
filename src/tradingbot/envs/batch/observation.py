"""Observations of many lanes: one buffer, each number written once; the dict is views into it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.envs.config import EnvConfig
from tradingbot.envs.spaces import flatten_layout
from tradingbot.envs.world import World
from tradingbot.market.windows import window_view

TensorObservation = Tensor | dict[str, Tensor]
ArrayObservation = NDArray[np.float32] | dict[str, NDArray[np.float32]]


class ObservationWriter:
    """Writes flat observations (B, D) float32 for lanes at given rows of the market.

    Columns as `spaces.flatten_layout` says.
    """

    def __init__(self, world: World, config: EnvConfig, device: torch.device | str = "cpu") -> None:
        parts = {part.name: part for part in flatten_layout(world, config)}
        self.window_bars, self.device = config.rules.episode.window_bars, torch.device(device)
        self.width = max(part.stop for part in parts.values())
        self._columns = {name: part.columns for name, part in parts.items()}
        self._places = [(name, (slice(None), part.columns)) for name, part in parts.items()]
        self._private = slice(parts["position"].start, parts["portfolio"].stop)
        self._window_shape = parts["technical"].shape
        features = rows_of(world.features, device)
        self._windows = window_view(features, self.window_bars)
        self._probabilities = rows_of(world.probabilities, device)
        self._regimes = rows_of(world.regimes, device)
        tables = (features, self._probabilities, self._regimes)
        self._arrays = tuple(table.numpy(force=True) for table in tables)

    def write(self, row: Tensor, private: Tensor, out: Tensor | None = None) -> Tensor:
        """Return the flat observation (B, D) at rows (B,) with private numbers (18, B).

        Args:
            row: Current bar of each lane.
            private: `market.observation.observe_accounts`, any floating dtype.
            out: (B, D) float32 to write into; a new tensor by default.
        """
        if out is None:
            out = torch.empty((len(row), self.width), device=self.device)
        at = row.long()
        first = at - (self.window_bars - 1)
        for name, source, index in (
            ("technical", self._windows, first),
            ("probabilities", self._probabilities, at),
            ("regime", self._regimes, at),
        ):
            torch.index_select(source, 0, index, out=out[:, self._columns[name]])
        out[:, self._private].copy_(private.T)
        return out

    def write_row(self, row: int, private: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Write the flat observation (D,) of one lane with private numbers (18,)."""
        columns = self._columns
        out[columns["technical"]] = self._arrays[0][row - self.window_bars + 1 : row + 1].ravel()
        out[columns["probabilities"]] = self._arrays[1][row]
        out[self._private] = private
        out[columns["regime"]] = self._arrays[2][row]

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """See a flat observation (B, D) as the dict of its parts, without copying."""
        parts = {name: flat[:, columns] for name, columns in self._columns.items()}
        return parts | {"technical": parts["technical"].view(-1, *self._window_shape)}

    def named_arrays(self, flat: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """`named` of an array (B, D)."""
        named = {name: flat[place] for name, place in self._places}
        if len(self._window_shape) > 1:
            named["technical"] = named["technical"].reshape(-1, *self._window_shape)
        return named


def as_arrays(observation: Any) -> Any:
    """Turn tensors, or a dict of them, into NumPy; shares memory on the CPU."""
    if isinstance(observation, Tensor):
        return observation.numpy(force=True)
    return {name: part.numpy(force=True) for name, part in observation.items()}


def lane_of(observation: ArrayObservation, lane: int) -> ArrayObservation:
    """Copy the observation of one lane, so that it outlives the batch."""
    if isinstance(observation, dict):
        return {name: part[lane].copy() for name, part in observation.items()}
    return np.array(observation[lane])


def rows_of(values: NDArray[np.float32], device: torch.device | str = "cpu") -> Tensor:
    """See an array (N, T, K) of a world as rows (N·T, K), sharing memory on the CPU: read only."""
    n, t, k = values.shape  # K may be 0
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(n * t, k)
    with warnings.catch_warnings():
        # A world is read-only, and PyTorch cannot promise not to write; a copy would double it.
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(flat).to(device)
