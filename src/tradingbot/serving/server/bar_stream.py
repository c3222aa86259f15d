"""Bars that clients send, as features: of a history, or of the server's own stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import suggest
from tradingbot.features.inputs import BAR_FIELDS
from tradingbot.features.registry import feature_of_id
from tradingbot.features.streaming import FeatureStream
from tradingbot.features.time_fields import TIME_FIELDS
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.served_stream import Floats, ServedAnswer
from tradingbot.serving.server.portfolios import RunningSleeves
from tradingbot.serving.server.problems import Problem, invalid
from tradingbot.serving.server.schemas import ClosedBars

UNDEFINED = "features of the last bar are undefined"
NO_BAR = "no bar of the symbol"


class PushedBar(NamedTuple):
    """The bars of M symbols that closed at one moment, as they are kept."""

    closed_at: datetime
    """UTC."""
    symbols: tuple[str, ...]
    values: NDArray[np.float64]
    """(M, 6) of `BAR_FIELDS`."""
    covariates: tuple[Mapping[str, float], ...]
    """M mappings."""

    @classmethod
    def of(cls, sent: ClosedBars) -> PushedBar:
        """Keep what a client sent."""
        values = np.array(
            [
                (bar.open, bar.high, bar.low, bar.close, bar.volume, bar.mean_price)
                for bar in sent.bars.values()
            ],
            dtype=np.float64,
        )
        told = tuple(bar.covariates for bar in sent.bars.values())
        return cls(sent.closed_at.astimezone(UTC), tuple(sent.bars), values, told)


def name_undefined(feature_ids: Sequence[str], row: NDArray[Any]) -> str:
    """Return the first few columns of a row (C,) that are no numbers, and how many there are."""
    names = [each for each, value in zip(feature_ids, row, strict=True) if not np.isfinite(value)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class BarFeatures:
    """Raw features of a model's N symbols, bar by bar."""

    def __init__(self, model: ServedModel, *, time_zone: str) -> None:
        specs = [feature_of_id(each) for each in model.feature_ids]
        self.symbols, self._ids = model.symbols, model.feature_ids
        self._n_bars, self._made = 0, np.full((len(model.symbols), len(specs)), np.nan)
        self.warm_up_bars = max(spec.lookback_bars for spec in specs)
        """Bars, the newest included, until every feature of them is defined."""
        self.closed_at: datetime | None = None
        self.present = np.zeros(len(self.symbols), dtype=bool)
        self.fields: Mapping[str, NDArray[np.float64]] = {}
        """Field → (N,) of the newest bar."""
        self._places = {symbol: place for place, symbol in enumerate(self.symbols)}
        read = {name for spec in specs for name in spec.inputs}
        self._told = {
            name: np.full(len(self.symbols), np.nan)
            for name in sorted(read.difference(BAR_FIELDS, TIME_FIELDS))
        }
        self._stream = FeatureStream(self.symbols, specs, time_zone=time_zone)

    def push(self, bar: PushedBar) -> NDArray[np.float64]:
        """Take the next bar; return raw features (N, C).

        Raises:
            Problem: 409, if it did not close after the last one; 422, if a symbol is unknown.
        """
        if self.closed_at is not None and bar.closed_at <= self.closed_at:
            message = f"bars must arrive in order of their close, after {self.closed_at}"
            raise Problem(409, "out_of_order", message, field="closed_at")
        places = [self._place(symbol) for symbol in bar.symbols]
        told = self._carry_forward(places, bar.covariates)
        values = np.full((len(BAR_FIELDS), len(self.symbols)), np.nan)
        values[:, places] = bar.values.T
        present = np.zeros(len(self.symbols), dtype=bool)
        present[places] = True
        moment = np.datetime64(bar.closed_at.replace(tzinfo=None), "us")
        fields = dict(zip(BAR_FIELDS, values, strict=True))
        made = self._stream.push(moment, present, fields, told)
        self.present, self.closed_at, self._told = present, bar.closed_at, told
        self.fields, self._made = fields, made
        self._n_bars += 1
        return made

    def tell_reason(self, place: int) -> str:
        """Say which features of a symbol are undefined at the newest bar, and what they lack."""
        if not self.present[place]:
            return NO_BAR
        names = name_undefined(self._ids, self._made[place])
        told = f"{UNDEFINED}: {names}; {self._n_bars} bars were seen"
        if self._n_bars < self.warm_up_bars:
            told += f", {self.warm_up_bars} are needed"
        lacking = [name for name, values in self._told.items() if np.isnan(values[place])]
        return f"{told}; no value was sent of {', '.join(lacking[:5])}" if lacking else told

    @property
    def covariates(self) -> Mapping[str, NDArray[np.float64]]:
        """Name → (N,) the last values that are known by now."""
        return self._told

    def _carry_forward(
        self, places: Sequence[int], sent: Sequence[Mapping[str, float]]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the last values of covariates that are known by now."""
        told = {name: values.copy() for name, values in self._told.items()}
        for place, numbers in zip(places, sent, strict=True):
            for name, number in numbers.items():
                if name not in told:
                    known = suggest(name[:64], told) if told else "It takes none"
                    raise invalid(f"a covariate must be one of the model. {known}", "covariates")
                told[name][place] = number
        return told

    def _place(self, symbol: str) -> int:
        place = self._places.get(symbol)
        if place is None:
            message = f"a symbol must be one of the model. {suggest(symbol, self.symbols)}"
            raise invalid(message, f"bars.{symbol}", code="unknown_symbol")
        return place


class ModelStream:
    """One model on the server's own stream of bars; used by one thread at a time."""

    def __init__(
        self,
        model: ServedModel,
        history: Iterable[PushedBar],
        *,
        time_zone: str,
        sleeves: RunningSleeves | None = None,
    ) -> None:
        """Begin with the bars that the server kept; the model remembers the last W.

        Args:
            model: What decides.
            history: In order of their close.
            time_zone: Of the exchange.
            sleeves: Of a portfolio, which trade every bar.
        """
        self.model, self.sleeves = model, sleeves
        self.features = BarFeatures(model, time_zone=time_zone)
        self.live = model.live()
        self.valid = np.zeros(len(model.symbols), dtype=bool)
        self.rows: deque[Floats] = deque(maxlen=model.lookback_bars)
        known = [bar for bar in history if self._knows(bar)]
        for place, bar in enumerate(known):
            self.take(bar, is_remembered=place >= len(known) - model.lookback_bars)

    @property
    def closed_at(self) -> datetime | None:
        """Of the newest bar, UTC."""
        return self.features.closed_at

    def take(self, bar: PushedBar, *, is_remembered: bool = True) -> None:
        """Take the next bar; bars before the model's lookback need not be remembered by it."""
        raw, told = self.features.push(bar), self.features
        if self.sleeves is not None:
            self.sleeves.take(bar.closed_at, told.present, told.fields, told.covariates)
        if not is_remembered:
            return
        row, self.valid = self.model.scale(raw, self.features.present)
        self.live.take_row(row)
        self.rows.append(row)

    def take_known(self, bar: PushedBar) -> None:
        """Take the next bar of another model's stream; one of symbols that are not ours is not."""
        if self._knows(bar):
            self.take(bar)

    def act(self, private: NDArray[Any], allowed: NDArray[np.bool_] | None) -> ServedAnswer:
        """Return what the N agents want at the newest bar."""
        return self.live.act(private, allowed)

    def _knows(self, bar: PushedBar) -> bool:
        return not {*bar.symbols} - {*self.model.symbols}

    def window(self, place: int) -> tuple[Floats, int]:
        """Return the scaled rows (W, F) that the agent of a symbol saw, and how many there are."""
        return padded([row[place] for row in self.rows], self.model)


def padded(rows: Sequence[Floats], model: ServedModel) -> tuple[Floats, int]:
    """Return a window (W, F) that ends with rows (T, F), zeros before them, and min(T, W)."""
    sizes = model.manifest.sizes
    window = np.zeros((sizes.lookback_bars, sizes.n_features), dtype=np.float32)
    last = list(rows)[-sizes.lookback_bars :]
    window[len(window) - len(last) :] = last
    return window, len(last)
