"""How lanes are laid out over symbols, and what their starts follow from."""

from __future__ import annotations

from typing import Literal, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError
from tradingbot.market.episodes import Starts, drawn_symbols, fixed_symbols

Lanes = Literal["drawn", "per_symbol"]


class EngineOptions(TypedDict, total=False):
    """Options of `BatchSimulator` that its adapters hand on."""

    device: torch.device | str
    dtype: torch.dtype
    compile: bool | Literal["auto"]


def lay_out_starts(
    possible: NDArray[np.bool_], lanes: Lanes, n_environments: int, seed: int
) -> Starts:
    """Return where the episodes of all lanes begin.

    Args:
        possible: (N, T) bars at which an episode may begin.
        lanes: Whether lanes draw their symbol, or each environment has one lane per symbol.
        n_environments: How many.
        seed: Root of all starts.

    Raises:
        ConfigError: If the seed is not one whole number.
    """
    if not is_whole(seed) or seed < 0:
        rule = "seed must be one whole number, 0 or more"
        raise ConfigError(rule, was=repr(seed), where="reset", remedy="All lanes follow from it")
    lay_out = fixed_symbols if lanes == "per_symbol" else drawn_symbols
    return lay_out(possible, n_environments, seed)


def chance_seed() -> int:
    """Draw a seed from the system, for callers that gave none."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def is_whole(number: object) -> bool:
    """Tell whole numbers, NumPy's too, from everything else; a truth value is none."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def require_lanes(n_environments: int, lanes: str) -> None:
    """Refuse a number of environments, or a layout, that is none."""
    if not is_whole(n_environments) or n_environments < 1:
        was = repr(n_environments)
        raise ConfigError("n_environments must be a whole number, 1 or more", was=was)
    if lanes not in ("drawn", "per_symbol"):
        raise ConfigError("lanes must be drawn or per_symbol", was=repr(lanes))
