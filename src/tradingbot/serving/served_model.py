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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError, ModelAnswerError
from tradingbot.features.bar_scaling import REGIME_BOUND, scale_bar
from tradingbot.features.panel import stored_form
from tradingbot.market.goals import GOAL_INPUTS, AskedGoal
from tradingbot.serving.bundle import Bundle, BundleManifest, read_bundle
from tradingbot.serving.bundle_fit import require_fit
from tradingbot.serving.golden import GoldenCheck, check_golden
from tradingbot.serving.graph_contract import HEADS_FILE, STREAM_FILE, WINDOW_FILE
from tradingbot.serving.onnx_runtime import OnnxGraphs

Floats = NDArray[np.float32]
Memory = tuple[NDArray[Any], ...]
_PROBABILITY = "probability_"
"""What the names of columns begin with that come from a model of moves, not from bars."""


class ServedAnswer(NamedTuple):
    """What B accounts are told to do."""

    action: NDArray[Any]
    """(B,) in the space of the rules, of the type of the private numbers."""
    confidence: Floats
    """(B,) in [0, 1]; see `graph_contract.Confidence`."""
    output: Floats
    """(B, O) of the heads, before an action is read of them."""


class ServedModel:
    """The agents of a bundle; N symbols, F columns, W bars of lookback."""

    def __init__(self, bundle: Bundle, *, threads: int = 1) -> None:
        """Build the three graphs of a bundle; its golden vectors are not compared.

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
    def lookback_bars(self) -> int:
        """W: so many bars must be taken before a stream that began in the middle is warm."""
        return self.manifest.sizes.lookback_bars

    @cached_property
    def feature_ids(self) -> tuple[str, ...]:
        """Name and version of the columns that come from bars, in order: what `scale` takes."""
        ids = (feature.id for feature in self.manifest.acting.features)
        return tuple(each for each in ids if not each.startswith(_PROBABILITY))

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
        _require_shape("features", features, (len(names), len(self.feature_ids)))
        _require_shape("present", present, (len(names),))
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
        _require_shape("private numbers", private, (len(names), len(agent)))
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

    def live(self) -> ServedStream:
        """Return all agents one bar at a time, nothing seen yet."""
        return ServedStream(self)

    def _probabilities(self, count: int, given: NDArray[Any] | None) -> Floats:
        n_columns = self.manifest.sizes.n_features - len(self.feature_ids)
        if given is not None:
            _require_shape("probabilities", given, (count, n_columns))
            return given.astype(np.float32)
        if n_columns and self.manifest.acting.probability_model != "none":
            raise ConfigError(
                "probabilities must be given where agents were trained with a model of moves",
                was="none",
                where=self.manifest.acting.probability_model,
            )
        return np.full((count, n_columns), 1.0 / 3.0, dtype=np.float32)


class ServedStream:
    """A served model that sees one bar of all symbols at a time; use it from one thread."""

    def __init__(self, model: ServedModel) -> None:
        self.model = model
        self.bars_taken = 0
        self._memory = model.begin_stream(len(model.symbols))
        self._everyone = np.arange(len(model.symbols))
        self._embedding: Floats | None = None

    @property
    def is_warm(self) -> bool:
        """Whether enough bars were taken for the answers of a stream that began long ago."""
        return self.bars_taken >= self.model.lookback_bars

    def take(
        self,
        features: NDArray[Any],
        present: NDArray[np.bool_],
        *,
        probabilities: NDArray[Any] | None = None,
    ) -> NDArray[np.bool_]:
        """Take the next bar (N, C), raw; return where every number is defined. See `scale`."""
        row, valid = self.model.scale(features, present, probabilities=probabilities)
        self.take_row(row)
        return valid

    def take_row(self, row: Floats) -> None:
        """Take the next bar (N, F) of every agent, scaled, all columns: `LivePolicy.take`."""
        _require_shape("a bar", row, (len(self._everyone), self.model.manifest.sizes.n_features))
        self._memory, self._embedding = self.model.stream(self._memory, row)
        self.bars_taken += 1

    def act(self, private: NDArray[Any], allowed: NDArray[np.bool_] | None = None) -> ServedAnswer:
        """Return what the N agents do at the bar that was taken last; see `ServedModel.decide`."""
        if self._embedding is None:
            raise ConfigError("a bar must be taken before agents act", was="none")
        return self.model.decide(self._everyone, self._embedding, private, allowed)


def _require_shape(word: str, values: Any, shape: tuple[int, ...]) -> None:
    if np.shape(values) != shape:
        raise ConfigError(f"{word} must have shape {shape}", was=np.shape(values))
