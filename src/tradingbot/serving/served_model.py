"""A bundle that acts, through ONNX Runtime: no torch, no learning, no file but the bundle.

    model = ServedModel.open(Path("workspace/models/bundles/first.zip"))
    live = model.live()                              # its own memory; the model has none
    live.take(features, present)                     # one bar of all symbols, as streams give it
    decision = live.act(private)                     # .action, .confidence

A model never changes and may be used by several threads at once; what a stream remembers is the
`ServedStream`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError, ModelAnswerError
from tradingbot.features.bar_scaling import REGIME_BOUND, scale_bar
from tradingbot.features.panel import stored_form
from tradingbot.market.goals import GOAL_INPUTS, AskedGoal
from tradingbot.serving.bundle import Bundle, BundleManifest, PortfolioPart, read_bundle
from tradingbot.serving.bundle_fit import require_fit
from tradingbot.serving.golden import GoldenCheck, check_golden
from tradingbot.serving.graph_contract import HEADS_FILE, MASTER_FILE, STREAM_FILE, WINDOW_FILE
from tradingbot.serving.onnx_runtime import OnnxGraphs
from tradingbot.serving.served_stream import (
    Floats,
    Memory,
    ServedAnswer,
    ServedStream,
    require_shape,
)


class ServedModel:
    """The agents of a bundle; N symbols, F columns, W bars of lookback."""

    def __init__(self, bundle: Bundle, *, threads: int = 1) -> None:
        """Build the graphs of a bundle; its golden vectors are not compared.

        Args:
            bundle: Every hash checked.
            threads: Of ONNX Runtime; 1 gives the same bits whatever else runs.

        Raises:
            StorageError: If a graph breaks a rule, or the manifest contradicts itself.
            ConfigError: If this version computes a feature by another formula.
        """
        self.bundle = bundle
        manifest = bundle.manifest
        require_fit(manifest, where=str(bundle.path))
        self._graphs = OnnxGraphs(bundle.files, manifest.sizes, threads=threads)
        self._scalers = tuple(record.scaler() for record in manifest.acting.scalers)
        own = [each for each in manifest.acting.actor.private if each not in GOAL_INPUTS]
        self._places = [manifest.account_numbers.index(name) for name in own]
        goal = manifest.acting.goal
        self._goal = None if goal is None else AskedGoal(**goal.model_dump())

    @classmethod
    def open(cls, path: Path, *, sha256: str | None = None, threads: int = 1) -> ServedModel:
        """Open a bundle: hashes, rules, features of this version, and its golden vectors.

        Args:
            path: Of the file.
            sha256: What it must hash to; None: whatever it is.
            threads: Of ONNX Runtime.

        Raises:
            StorageError: If it is damaged, another one, or does not answer as it was exported.
            ConfigError: If this version computes a feature by another formula.
        """
        model = cls(read_bundle(path, sha256=sha256), threads=threads)
        model.check()
        return model

    @property
    def manifest(self) -> BundleManifest:
        """What the bundle says of itself."""
        return self.bundle.manifest

    @property
    def sha256(self) -> str:
        """Of the bundle."""
        return self.bundle.sha256

    @property
    def symbols(self) -> tuple[str, ...]:
        """N names, one agent each, in order."""
        return self.manifest.symbols

    @property
    def portfolio(self) -> PortfolioPart | None:
        """What a master divides one account by; None where every symbol has an account."""
        return self.manifest.portfolio

    @property
    def lookback_bars(self) -> int:
        """W: so many bars must be taken before a stream that began in the middle is warm."""
        return self.manifest.sizes.lookback_bars

    @cached_property
    def feature_ids(self) -> tuple[str, ...]:
        """Name and version of the columns that come from bars, in order: what `scale` takes."""
        return self.manifest.feature_ids

    @cached_property
    def shared_columns(self) -> slice:
        """Columns of a row that a master sees as means over symbols: those after the scaled."""
        n_scaled = sum(len(scaler.feature_names) for scaler in self._scalers)
        part = self.portfolio
        return slice(n_scaled, n_scaled + (0 if part is None else len(part.shared_names)))

    def check(self) -> GoldenCheck:
        """Compare with the golden vectors.

        Raises:
            StorageError: If an answer is another than when it was exported.
        """
        return check_golden(self)

    def scale(
        self,
        features: NDArray[Any],
        present: NDArray[np.bool_],
        *,
        symbols: Sequence[str] | None = None,
        probabilities: NDArray[Any] | None = None,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Make rows of one bar, as the table of the run has them.

        Args:
            features: (B, C) the columns of `feature_ids`, raw; NaN where undefined.
            present: (B,) the symbol has this bar.
            symbols: B names; None: all N, in order.
            probabilities: (B, P) of the model that the run was trained with; None: equal ones,
                where there was no model.

        Returns:
            Rows (B, F) float32, and where every number is defined, (B,).

        Raises:
            ConfigError: If shapes are others, or probabilities are missing.
        """
        names = self.symbols if symbols is None else tuple(symbols)
        require_shape("features", features, (len(names), len(self.feature_ids)))
        require_shape("present", present, (len(names),))
        values, defined = stored_form(np.asarray(features))
        valid = np.asarray(present, dtype=bool) & defined.all(axis=-1)
        n_scaled = sum(len(scaler.feature_names) for scaler in self._scalers)
        bound = self.manifest.acting.feature_bound
        scaled = scale_bar(self._scalers, names, values[:, :n_scaled], valid, bound=bound)
        regimes = np.clip(values[:, n_scaled:], -REGIME_BOUND, REGIME_BOUND)
        chances = self._probabilities(len(names), probabilities)
        return np.concatenate([scaled, regimes, chances], axis=-1, dtype=np.float32), valid

    def embed_windows(self, window: Floats, known: NDArray[np.int64] | None = None) -> Floats:
        """Return embeddings (B, D) of windows (B, W, F), scaled.

        Args:
            window: (B, W, F) float32.
            known: (B,) how many of the last bars exist, 1 … W; None: all of them.
        """
        if known is None:
            known = np.full(len(window), self.lookback_bars, dtype=np.int64)
        (embedding,) = self._graphs.run(WINDOW_FILE, {"window": window, "known": known})
        return embedding

    def begin_stream(self, n_series: int) -> Memory:
        """Return the memory of B series of which nothing was seen yet."""
        return tuple(
            np.zeros((n_series, *each.shape), dtype=each.dtype)
            for each in self.manifest.sizes.memory
        )

    def stream(self, memory: Memory, row: Floats) -> tuple[Memory, Floats]:
        """Take the next bar (B, F), scaled; return the memory and embeddings (B, D)."""
        names = (each.name for each in self.manifest.sizes.memory)
        given: dict[str, NDArray[Any]] = {"row": row, **dict(zip(names, memory, strict=True))}
        embedding, *after = self._graphs.run(STREAM_FILE, given)
        return tuple(after), embedding

    def decide(
        self,
        agent: NDArray[np.int64],
        embedding: Floats,
        private: NDArray[Any],
        allowed: NDArray[np.bool_] | None = None,
    ) -> ServedAnswer:
        """Return what agents want to do.

        Args:
            agent: (B,) which of the N agents decides for each account.
            embedding: (B, D).
            private: (18, B) what the accounts know of themselves, as `market.observation` writes
                it.
            allowed: (A, B) codes that may be executed; None unless actions are codes.

        Raises:
            ConfigError: If shapes are others, or codes are asked for without what is allowed.
            ModelAnswerError: If an answer is not finite: nothing may be done by it.
        """
        names = self.manifest.account_numbers
        require_shape("private numbers", private, (len(names), len(agent)))
        own = private[self._places]
        if self._goal is not None:
            asked: Any = self._goal  # arrays serve as tensors do
            now = (private[names.index(name)] for name in ("total_return", "drawdown"))
            own = np.concatenate([own, asked.inputs(*now)])
        given: dict[str, NDArray[Any]] = {
            "agent": agent,
            "embedding": embedding,
            "private": np.ascontiguousarray(own.T, dtype=np.float32),
        }
        if self.manifest.sizes.has_codes:
            if allowed is None:
                rule = "agents that choose codes must be told which are allowed"
                raise ConfigError(rule, was="nothing", where=str(self.bundle.path))
            given["allowed"] = np.ascontiguousarray(allowed.T, dtype=bool)
        output, action, confidence = self._graphs.run(HEADS_FILE, given)
        is_finite = np.isfinite(output).all(axis=-1) & np.isfinite(confidence)
        if not is_finite.all():
            odd = [self.symbols[place] for place in agent[~is_finite][:5]]
            rule, remedy = "a model must answer in finite numbers", "Hold; check what it was given"
            raise ModelAnswerError(rule, was=", ".join(odd), where=self.sha256[:12], remedy=remedy)
        return ServedAnswer(action.astype(private.dtype), confidence, output)

    def allocate(self, inputs: Floats) -> Floats:
        """Return the weights (B, N + 1) of sleeves and cash that a master wants.

        Args:
            inputs: (B, I) what it sees: all sleeves one after another, the market, what the
                portfolio has in each sleeve, and what it knows of itself; see `PortfolioPart`.

        Raises:
            ConfigError: If shapes are others, or the bundle has no master.
            ModelAnswerError: If a weight is not finite: nothing may be done by it.
        """
        if self.manifest.portfolio is None:
            rule = "a bundle must have a master to divide capital"
            raise ConfigError(rule, was="agents alone", where=str(self.bundle.path))
        (weights,) = self._graphs.run(MASTER_FILE, {"inputs": inputs})
        if not np.isfinite(weights).all():
            rule, remedy = "a master must answer in finite numbers", "Hold; check what it was given"
            where = self.sha256[:12]
            raise ModelAnswerError(rule, was="another weight", where=where, remedy=remedy)
        return weights

    def live(self) -> ServedStream:
        """Return all agents one bar at a time, nothing seen yet."""
        return ServedStream(self)

    def _probabilities(self, count: int, given: NDArray[Any] | None) -> Floats:
        n_columns = self.manifest.sizes.n_features - len(self.feature_ids)
        if given is not None:
            require_shape("probabilities", given, (count, n_columns))
            return given.astype(np.float32)
        if n_columns and self.manifest.acting.probability_model != "none":
            raise ConfigError(
                "probabilities must be given where agents were trained with a model of moves",
                was="none",
                where=self.manifest.acting.probability_model,
            )
        return np.full((count, n_columns), 1.0 / 3.0, dtype=np.float32)
