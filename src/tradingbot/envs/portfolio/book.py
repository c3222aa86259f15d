"""The book of N sleeves: what each does at every bar, as tensors.

Agents of sleeves know nothing of the master: what they want of their symbols depends on the market
and on their own accounts, which run on from the first bar. So all of it is known before the first
portfolio is played, and a portfolio is a program of tensors over the book's rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import DataError
from tradingbot.market.portfolio.inputs import OWN_INPUTS, portfolio_inputs
from tradingbot.market.portfolio.net_orders import SleeveBars
from tradingbot.networks.member_inputs import MemberInputs
from tradingbot.networks.projection import Projection


@dataclass(frozen=True, eq=False)
class SleeveBook:
    """N sleeves over T bars; row t is known at the close of t, or is what follows it."""

    symbols: tuple[str, ...]
    """N names."""
    closed_at: NDArray[np.int64]
    """(T,) microseconds since 1970 UTC."""
    label: str
    """Data, period and what trades, in words."""
    synthetic: bool
    """Generated, not observed."""
    usable: NDArray[np.bool_]
    """(T,) a portfolio may begin at this close."""
    rows: Tensor
    """(T, 7, N) float64, the fields of `SleeveBars`: what the bar after t holds."""
    members: Tensor
    """(T, N, D) float32, what the master sees of each sleeve at the close of t."""
    shared: Tensor
    """(T, S) float32, what it sees of the market."""
    member_names: tuple[str, ...]
    """D names."""
    shared_names: tuple[str, ...]
    """S names."""
    value: NDArray[np.float64]
    """(T, N) what each sleeve alone is worth at the close of t, net of its own costs; 1 first."""
    close: NDArray[np.float64]
    """(T, N) price of each symbol at the close of t, the last one known; 0 before the first."""
    projection: Projection | None = None
    """What embeddings among `members` were seen through; None where they are seen as they are."""

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together, or numbers that are not finite."""
        n_bars, n = len(self.closed_at), len(self.symbols)
        wanted = {
            "rows": (n_bars, len(SleeveBars._fields), n),
            "members": (n_bars, n, len(self.member_names)),
            "shared": (n_bars, len(self.shared_names)),
            "value": (n_bars, n),
            "close": (n_bars, n),
            "usable": (n_bars,),
        }
        for name, shape in wanted.items():
            found = tuple(getattr(self, name).shape)
            if found != shape:
                raise DataError(f"{name} of a book must have shape {shape}", was=found)
        for name in ("rows", "members", "shared"):
            if not bool(torch.isfinite(getattr(self, name)).all()):
                raise DataError(f"{name} of a book must be finite", was="another number")

    @property
    def n_bars(self) -> int:
        """T."""
        return len(self.closed_at)

    @property
    def n_sleeves(self) -> int:
        """N."""
        return len(self.symbols)

    @property
    def table(self) -> Tensor:
        """(1, T, N · D + S) what learners see: all sleeves, then the market."""
        return torch.cat([self.members.flatten(1), self.shared], dim=-1)[None].contiguous()

    @property
    def inputs(self) -> MemberInputs:
        """Which inputs of a master, view and private numbers, are of single sleeves."""
        n, width = self.n_sleeves, len(self.member_names)
        return MemberInputs.beside(n, width, len(self.shared_names), len(OWN_INPUTS))

    @property
    def private_names(self) -> tuple[str, ...]:
        """Names of a portfolio's private numbers, in order."""
        return portfolio_inputs(self.symbols)

    def column(self, name: str) -> Tensor:
        """Return what the master sees under a name, (T, N)."""
        return self.members[..., self.member_names.index(name)]

    def bars(self, row: Tensor) -> SleeveBars:
        """Return what follows the bars (B,)."""
        return SleeveBars(*self.rows.index_select(0, row).unbind(1))

    def overwrite(self, other: SleeveBook) -> None:
        """Take over what other agents of the same sleeves did, in place: tasks see it at once."""
        for name in ("rows", "members", "shared"):
            getattr(self, name).copy_(getattr(other, name))
        self.value[:] = other.value

    def to(self, device: torch.device) -> SleeveBook:
        """Return the book on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("rows", "members", "shared")}
        return replace(self, **moved)
