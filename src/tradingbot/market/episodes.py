"""Where episodes begin: a function of seed, lane and episode number, with no generator to carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import DataError
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.bars import TensorMarket

BoolArray = NDArray[np.bool_]

_MASK = 0xFFFFFFFF
FIRST_FACTOR, SECOND_FACTOR = 0x7FEB352D, 0x2C1B3C6D
"""Odd and below 2³¹: no product overflows 63 bits."""
_Whole = TypeVar("_Whole", Tensor, int)


class Starts(NamedTuple):
    """Where the episodes of B lanes may begin.

    A lane starts at row `offset + choices[hash(key, episode) · S / 2³²]`. Lanes of one environment
    that must share a clock share a key; lanes that draw their symbol have offset 0 and choices
    over all symbols. Where symbols differ in where they may start, choices are a table, and a lane
    starts at row `choices[offset, hash(key, episode) · S / 2³²]`.
    """

    choices: Tensor
    """(S,) or (N, S) int32"""
    offset: Tensor
    """(B,) int32; with a table of choices, its line."""
    key: Tensor
    """(B,) int64 below 2³²"""


def mix(number: _Whole) -> _Whole:
    """Scramble integers (int64, or one of Python's; taken modulo 2³²) into [0, 2³²)."""
    x = number & _MASK
    x = ((x ^ (x >> 16)) * FIRST_FACTOR) & _MASK
    x = ((x ^ (x >> 15)) * SECOND_FACTOR) & _MASK
    return x ^ (x >> 16)


def lane_key(seed: int, lane: int) -> int:
    """Key of a lane, from which all of its episodes follow."""
    return mix(mix(seed & _MASK) ^ mix((seed >> 32) + 1) ^ (lane + 0x9E3779B9))


def start_rows(starts: Starts, episode: Tensor, needed: Tensor | None = None) -> Tensor:
    """Return the row (B,) int32 at which episode number `episode` (B,) of each lane begins.

    Where `needed` (B,) is False the answer is that of the first choice, and costs nothing.
    """
    # Multiply and shift, not modulo: no division of 64-bit integers is fast.
    n_choices = starts.choices.shape[-1]
    draw = (mix(starts.key + mix(episode.long() + 1)) * n_choices) >> 32
    if needed is not None:
        draw = torch.where(needed, draw, 0)
    if starts.choices.dim() == 2:
        return starts.choices.view(-1)[starts.offset.long() * n_choices + draw]
    return starts.offset + starts.choices[draw]


def start_row(choices: NDArray[np.int32], offset: int, key: int, episode: int) -> int:
    """`start_rows` of one lane, in plain numbers."""
    draw = (mix(key + mix(episode + 1)) * len(choices)) >> 32
    return offset + int(choices[draw])


def begin(starts: Starts, market: TensorMarket, cash_ccy: float, episode: Tensor) -> Account:
    """Open accounts at the beginning of episodes (B,)."""
    return _open(market, cash_ccy, start_rows(starts, episode), episode)


def begin_next(
    starts: Starts, market: TensorMarket, cash_ccy: float, account: Account, ended: Tensor
) -> Account:
    """Open the next episode of every lane that ended (B,); what the others get means nothing."""
    episode = account.episode + 1
    # Lanes that go on would fetch bars from all over memory for nothing: send them to one place.
    row = torch.where(ended, start_rows(starts, episode, ended), 0)
    return _open(market, cash_ccy, row, episode)


def _open(market: TensorMarket, cash_ccy: float, row: Tensor, episode: Tensor) -> Account:
    account = open_accounts(cash_ccy, row, market.rows[row.long(), 3], episode)
    return account._replace(stale_bars=market.stale_bars(row))


def possible_starts(usable: BoolArray, *, window_bars: int, episode_bars: int) -> BoolArray:
    """Mark the bars (N, T) at whose close an episode may begin.

    The bar itself must be usable; a whole window must lie at or before it, a whole episode after.
    """
    length = usable.shape[1]
    bars = np.arange(length)
    fits: BoolArray = (bars >= window_bars - 1) & (bars + episode_bars <= length - 1)
    if not (usable & fits).any():
        raise DataError(
            "the data must hold a window and an episode",
            was=f"{length} bars for a window of {window_bars} and an episode of {episode_bars}",
            remedy="Use more bars, or a shorter window_bars or episode_bars",
        )
    return usable & fits


def drawn_symbols(possible: BoolArray, n_lanes: int, seed: int) -> Starts:
    """Let every lane draw symbol and bar from all possible starts (N, T)."""
    choices = np.flatnonzero(possible.ravel()).astype(np.int32)
    keys = [lane_key(seed, lane) for lane in range(n_lanes)]
    offsets = torch.zeros(n_lanes, dtype=torch.int32)
    return Starts(torch.from_numpy(choices), offsets, torch.tensor(keys))


def fixed_symbols(possible: BoolArray, n_environments: int, seed: int) -> Starts:
    """Give every environment one lane per symbol, all at the same bar: lane = env · N + symbol.

    A bar is possible where it is for any symbol: absent symbols wait for their first bar.
    """
    n_symbols, n_bars = possible.shape
    choices = np.flatnonzero(possible.any(axis=0)).astype(np.int32)
    keys = [lane_key(seed, lane) for lane in range(n_environments) for _ in range(n_symbols)]
    offsets = torch.arange(n_symbols, dtype=torch.int32).mul(n_bars).repeat(n_environments)
    return Starts(torch.from_numpy(choices), offsets, torch.tensor(keys))


def own_symbols(
    possible: BoolArray,
    n_environments: int,
    seed: int,
    *,
    recency: float = 0.0,
    names: Sequence[str] = (),
) -> Starts:
    """Keep every lane in one symbol, at bars of its own choice: lane = symbol · B + environment.

    A symbol with fewer possible starts (N, T) than others has them several times in its line of
    choices, as evenly as can be.

    Args:
        possible: (N, T) starts.
        n_environments: B.
        seed: Root of all draws.
        recency: From the oldest start to the newest the density rises evenly from 1 − this to
            1 + this; in [0, 1].
        names: Of the symbols, for the error; their numbers by default.

    Raises:
        DataError: If a symbol has none.
    """
    counts = possible.sum(axis=1)
    if not counts.all():
        absent = np.flatnonzero(counts == 0).tolist()
        none = [names[at] if names else f"symbol {at}" for at in absent]
        raise DataError(
            "every symbol must have a bar at which an episode may begin",
            was=f"none for {len(none)} of {len(counts)}",
            where=", ".join(none[:5]) + (" …" if len(none) > 5 else ""),
            remedy="Leave such symbols out, or use a shorter window_bars or episode_bars",
        )
    n_symbols, n_choices = len(counts), int(counts.max())
    rows = np.flatnonzero(possible.ravel()).astype(np.int32)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.arange(n_choices) * counts[:, None] // n_choices
    if recency > 0.0:
        place = recent_places(n_choices, recency) * counts[:, None] // n_choices
    keys = [lane_key(seed, lane) for lane in range(n_symbols * n_environments)]
    offset = torch.arange(n_symbols, dtype=torch.int32).repeat_interleave(n_environments)
    return Starts(torch.from_numpy(rows[first[:, None] + place]), offset, torch.tensor(keys))


def recent_places(n_choices: int, recency: float) -> NDArray[np.int64]:
    """Return S places of S choices in order of time, later ones more often; see `own_symbols`.

    Quantiles of a density that rises evenly from 1 − recency to 1 + recency, above 0.
    """
    share, low = (np.arange(n_choices) + 0.5) / n_choices, 1.0 - recency
    age = (np.sqrt(low**2 + 4.0 * recency * share) - low) / (2.0 * recency)
    return np.asarray((age * n_choices).astype(np.int64))
