"""Scalers: statistics fitted on training rows only, frozen. Storing them is in `scaler_files`.

Statistics are float64. Pooled scalers have one centre and scale per feature, per-symbol scalers
one per symbol and feature.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError, suggest

ScalerKind = Literal["standard", "minmax", "robust"]
SCALER_KINDS: tuple[ScalerKind, ...] = ("standard", "minmax", "robust")
Pooling = Literal["pooled", "per_symbol"]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Real = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ScalerOptions:
    """What else a fit may be told."""

    pooling: Pooling = "pooled"
    constant: Literal["centre", "refuse"] = "centre"
    """A feature without spread in training: shift it to 0 and leave its scale, or refuse it."""
    clip: float | None = None
    """Bound of |scaled value|; by default values outside the training range stay outside."""


@dataclass(frozen=True)
class Scaler:
    """A fitted scaler: scaled = (value - centre) / scale.

    `standard`: mean and population standard deviation. `minmax`: minimum and range, so training
    values lie in [0, 1]. `robust`: median and interquartile range (linear interpolation).
    """

    kind: ScalerKind
    feature_names: tuple[str, ...]  # F, in order
    symbols: tuple[str, ...] | None  # N where per symbol, None where pooled
    centre: FloatArray  # (F,) or (N, F)
    scale: FloatArray  # (F,) or (N, F), never 0
    rows: FloatArray  # (F,) or (N, F) how many training values were used
    train_first: int  # first and last training row on the time axis
    train_last: int
    clip: float | None = None

    @property
    def sha256(self) -> str:
        """Hash of every statistic and name."""
        text = repr((self.kind, self.feature_names, self.symbols, self.train_first))
        digest = hashlib.sha256(f"{text}{self.train_last}{self.clip}".encode())
        for values in (self.centre, self.scale, self.rows):
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
        return digest.hexdigest()

    @property
    def fitted_on(self) -> str:
        """What was fitted on which rows, in words: equal where two fits were asked the same."""
        pooling: Pooling = "pooled" if self.symbols is None else "per_symbol"
        rows = (self.train_first, self.train_last)
        return self.describe_fit(self.kind, pooling, rows, self.clip, self.feature_names)

    @staticmethod
    def describe_fit(
        kind: ScalerKind,
        pooling: Pooling,
        rows: tuple[int, int],
        clip: float | None,
        names: Sequence[str],
    ) -> str:
        """Say what is to be fitted on which rows (first and last), before it is."""
        columns = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
        span = f"rows {rows[0]} to {rows[1]}"
        return f"{kind}, {pooling}, {span}, clip {clip}, {len(names)} columns {columns}"

    def of_symbols(self, symbols: Sequence[str]) -> Scaler:
        """Return it for some of its symbols, in another order; itself where pooled.

        Raises:
            DataError: If it was not fitted on one of them.
        """
        if self.symbols is None or self.symbols == tuple(symbols):
            return self
        unknown = [name for name in symbols if name not in self.symbols]
        if unknown:
            rule = "symbols must be among those the scaler was fitted on"
            where = f"{self.kind} scaler of {len(self.symbols)} symbols"
            remedy = suggest(unknown[0], self.symbols)
            raise DataError(rule, was=unknown[0], where=where, remedy=remedy)
        places = [self.symbols.index(name) for name in symbols]
        centre, scale, rows = (each[places] for each in (self.centre, self.scale, self.rows))
        return replace(self, symbols=tuple(symbols), centre=centre, scale=scale, rows=rows)

    def transform(
        self, features: Real, valid: BoolArray | None = None, *, feature_names: Sequence[str]
    ) -> Real:
        """Scale features.

        Args:
            features: (N, T, F) or, where pooled, (…, F). NaN stays NaN.
            valid: (N, T); where given, cells that are not valid become 0.
            feature_names: What the last axis holds; must be what was fitted, in that order.

        Returns:
            Same shape and dtype as `features`; computed in float64.
        """
        self._require_names(feature_names)
        centre, scale = self.centre, self.scale
        if self.symbols is not None:
            if features.ndim != 3 or features.shape[0] != len(self.symbols):
                rule = "features of a per-symbol scaler must have shape (N, T, F)"
                raise DataError(rule, was=features.shape, where=f"N = {len(self.symbols)}")
            centre, scale = centre[:, None, :], scale[:, None, :]
        scaled = features.astype(np.float64)
        scaled -= centre
        scaled /= scale
        if self.clip is not None:
            np.clip(scaled, -self.clip, self.clip, out=scaled)
        if valid is not None:
            scaled[~valid] = 0.0
        return scaled.astype(features.dtype)

    def inverse(self, scaled: Real, *, feature_names: Sequence[str]) -> Real:
        """Undo `transform` (but for clipping); (…, F) where pooled, (N, T, F) per symbol."""
        self._require_names(feature_names)
        centre, scale = self.centre, self.scale
        if self.symbols is not None:
            centre, scale = centre[:, None, :], scale[:, None, :]
        return (scaled.astype(np.float64) * scale + centre).astype(scaled.dtype)

    def _require_names(self, feature_names: Sequence[str]) -> None:
        if tuple(feature_names) != self.feature_names:
            wrong = [
                f"{i}: {got}"
                for i, got in enumerate(feature_names)
                if i >= len(self.feature_names) or got != self.feature_names[i]
            ]
            raise DataError(
                "features must be those the scaler was fitted on, in that order",
                was=", ".join(wrong[:3]) or f"{len(feature_names)} features",
                where=f"{self.kind} scaler of {len(self.feature_names)} features",
                remedy="Use the panel the scaler belongs to or fit a new scaler",
            )


def fit_scaler(
    kind: ScalerKind,
    features: Real,
    valid: BoolArray,
    train: slice | NDArray[np.integer[Any]],
    *,
    feature_names: Sequence[str],
    symbols: Sequence[str],
    options: ScalerOptions | None = None,
) -> Scaler:
    """Fit on training rows, looking at no other.

    Args:
        kind: `standard`, `minmax` or `robust`.
        features: (N, T, F).
        valid: (N, T); cells that are not valid are left out. Valid cells must be finite.
        train: Rows of the time axis: a slice or row numbers.
        feature_names: F names.
        symbols: N names.
        options: Pooling, constant features, clipping.

    Raises:
        DataError: If shapes disagree, a valid training value is not finite, or nothing is left
            to fit on.
    """
    options = options or ScalerOptions()
    _require_fit(kind, features, valid, feature_names, symbols)
    rows = np.arange(features.shape[1])[train]
    if not rows.size:
        raise DataError("training must have a row", was="none")
    # Only the training rows go further: nothing below can see another one.
    seen, kept = features[:, rows], valid[:, rows]
    if options.pooling == "per_symbol":
        groups = [(seen[n][kept[n]], symbol) for n, symbol in enumerate(symbols)]
    else:
        groups = [(seen[kept], "all symbols")]
    statistics = [_statistics(kind, values, feature_names, where) for values, where in groups]
    centre, spread, count = (np.stack(column) for column in zip(*statistics, strict=True))
    if options.pooling == "pooled":
        centre, spread, count = centre[0], spread[0], count[0]
    if options.constant == "refuse" and (spread == 0.0).any():
        raise DataError(
            "features must vary in training",
            was=", ".join(np.array(feature_names)[np.atleast_2d(spread == 0.0).any(axis=0)][:5]),
            remedy="Leave them out or choose constant='centre'",
        )
    return Scaler(
        kind=kind,
        feature_names=tuple(feature_names),
        symbols=tuple(symbols) if options.pooling == "per_symbol" else None,
        centre=centre,
        scale=np.where(spread == 0.0, 1.0, spread),
        rows=count,
        train_first=int(rows.min()),
        train_last=int(rows.max()),
        clip=options.clip,
    )


def _require_fit(
    kind: str,
    features: Real,
    valid: BoolArray,
    feature_names: Sequence[str],
    symbols: Sequence[str],
) -> None:
    if kind not in SCALER_KINDS:
        rule = f"scaler must be one of {', '.join(SCALER_KINDS)}"
        raise DataError(rule, was=repr(kind), remedy=suggest(kind, SCALER_KINDS))
    if features.shape != (*valid.shape, len(feature_names)) or len(valid) != len(symbols):
        rule = "features must have shape (N, T, F) and valid (N, T)"
        where = f"{len(symbols)} symbols, {len(feature_names)} features"
        raise DataError(rule, was=f"{features.shape} and {valid.shape}", where=where)


def _statistics(
    kind: ScalerKind, values: Real, names: Sequence[str], where: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre, spread (0 where constant) and count of each column of (rows, F)."""
    if not len(values):
        rule = "scaler must have a valid training row"
        remedy = "Lengthen the training period, or leave out symbols without history in it"
        raise DataError(rule, was="none", where=where, remedy=remedy)
    values = values.astype(np.float64)
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        raise DataError(
            "valid training values must be finite",
            was=", ".join(np.array(names)[~finite][:5]),
            where=where,
            remedy="Mark such cells as not valid",
        )
    low, high = values.min(axis=0), values.max(axis=0)
    if kind == "standard":
        centre, spread = values.mean(axis=0), values.std(axis=0)
    elif kind == "minmax":
        centre, spread = low, high - low
    else:
        lower, centre, upper = np.percentile(values, [25, 50, 75], axis=0)
        spread = upper - lower
    # Rounding can leave a spread of 1e-17 in a constant column: equal bounds decide.
    spread = np.where(low == high, 0.0, spread)
    return centre, spread, np.full(values.shape[1], float(len(values)))


@cache
def scaler_code_sha256() -> str:
    """Hash what this module does: its statements, without comments and docstrings.

    A certificate and a stored scaler are those of one way to fit and to scale.
    """
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
