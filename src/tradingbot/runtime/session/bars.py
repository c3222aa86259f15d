"""Where a session's bars come from: a stored dataset that is replayed, or a folder that grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.inputs import BAR_FIELDS, FloatArray, MarketInputs, join_as_of


@dataclass(frozen=True, eq=False)
class MarketBar:
    """The bars of M symbols that closed at one moment."""

    number: int
    """Place among all bars of the source, from 0."""
    closed_at: datetime
    """UTC."""
    present: NDArray[np.bool_]
    """(M,) the symbol has this bar; late and missing ones do not."""
    fields: Mapping[str, FloatArray]
    """Field → (M,); see `features.inputs.BAR_FIELDS`."""
    covariates: Mapping[str, FloatArray]
    """Name → (M,) last value available by now, NaN where there is none."""
    is_last: bool = False
    """Whether the source ends with it: nothing can fill any more."""

    def prices(self, places: Sequence[int]) -> FloatArray:
        """Return open, high, low, close and volume of some symbols, (N, 5)."""
        rows = list(places)
        return np.stack([self.fields[name][rows] for name in BAR_FIELDS[:5]], axis=-1)


class BarFeed(Protocol):
    """Bars in order of their close, history first."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """M names, of which a model may trade some."""
        ...

    @property
    def time_zone(self) -> str:
        """IANA name of the exchange's zone."""
        ...

    @property
    def problem(self) -> str | None:
        """Why the next bars cannot be asked for at present; None where they can."""
        ...

    def bars(self, after: int = -1) -> Iterator[MarketBar | None]:
        """Yield every bar whose number is larger; None as often as it is asked before one closes.

        Bars that were yielded once are yielded again to the last digit, in another process too.
        """
        ...

    def known_bars(self, last: int) -> Iterator[MarketBar]:
        """Yield bars up to a number, as far as they closed."""
        ...


class DatasetBars:
    """A stored dataset, replayed: every bar up to one, as fast as they are asked for."""

    problem: str | None = None

    def __init__(self, inputs: MarketInputs, *, stop: int | None = None, ends: bool = True) -> None:
        """Replay the bars before number `stop`; all by default.

        Args:
            inputs: The bars.
            stop: Number after the last one.
            ends: Whether no bar follows the last one.
        """
        self._inputs, self._ends = inputs, ends
        self.stop = inputs.shape[0] if stop is None else stop
        n_symbols = len(inputs.symbols)
        self._covariates = {
            name: join_as_of(events, inputs.closed_at, n_symbols)
            for name, events in inputs.covariates.items()
        }

    @property
    def symbols(self) -> tuple[str, ...]:
        """M names."""
        return self._inputs.symbols

    @property
    def time_zone(self) -> str:
        """IANA name of the exchange's zone."""
        return self._inputs.time_zone

    def bars(self, after: int = -1) -> Iterator[MarketBar]:
        """Yield the bars after a number."""
        inputs = self._inputs
        for number in range(after + 1, self.stop):
            yield MarketBar(
                number,
                as_datetime(inputs.closed_at[number]),
                inputs.present[number],
                {name: values[number] for name, values in inputs.bars.items()},
                {name: values[number] for name, values in self._covariates.items()},
                is_last=self._ends and number == self.stop - 1,
            )

    def known_bars(self, last: int) -> Iterator[MarketBar]:
        """Yield bars up to a number."""
        return takewhile(lambda bar: bar.number <= last, self.bars())


def as_datetime(moment: np.datetime64) -> datetime:
    """Return a time of the grid as one with its zone, UTC."""
    plain: datetime = moment.astype("datetime64[us]").item()
    return plain.replace(tzinfo=UTC)


def as_datetime64(moment: datetime) -> np.datetime64:
    """Return a time as the grid has it."""
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")
