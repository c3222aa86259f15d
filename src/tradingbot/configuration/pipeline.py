"""The configuration of the pipeline: frozen models; every field has a unit, a range, a default.

Reading, merging and error messages are in `tradingbot.configuration.files`.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, Strict

from tradingbot.configuration.conflicts import KeyConflict
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.domain.timeframe import BarGrid, Timeframe

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
CostFrac = Annotated[float, Field(ge=0.0, le=0.1)]
ParamValue = bool | int | float | str


class ConfigSection(BaseModel):
    """Base of every section: strict, frozen, without unknown keys."""

    # strict: true is not 1 and "5" is not 5; frozen: a running pipeline's limits cannot change.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_default=True,
    )


class MarketConfig(ConfigSection):
    """Which synthetic market to generate, for which symbols and days."""

    name: Name = "regimes"
    """Synthetic market to generate: `tradingbot market list` shows them."""
    universe: Name = "us143"
    """Universe by name, or path of a universe CSV file; it also says which calendar."""
    start: date = date(2023, 10, 2)
    """First day, included."""
    end: date = date(2025, 10, 1)
    """Last day, included; after `start`."""
    timeframe: Name = "1h"
    """Length of a bar: a count and m, h or d."""
    grid: Annotated[BarGrid, Strict(False)] = BarGrid.SESSION
    """Where bars begin: `session` (from the open) or `clock` (on whole units)."""
    seed: Seed = 7
    """Root of every random stream of the market."""
    params: dict[str, ParamValue] = {}
    """Parameters of that market; what is left out has the market's default."""

    @pydantic.field_validator("timeframe")
    @classmethod
    def _parse_timeframe(cls, text: str) -> str:
        try:
            return str(Timeframe.parse(text))
        except ConfigError as e:
            raise ValueError(f"{e.rule}, was {e.was}") from e

    @pydantic.model_validator(mode="after")
    def _check_order(self) -> MarketConfig:
        if self.end <= self.start:
            was = f"{self.start} … {self.end}"
            raise KeyConflict(f"end must be after start, was {was}", "end", "start")
        return self


class QualityConfig(ConfigSection):
    """How strictly bars are judged."""

    strict: bool = False
    """Refuse a dataset for warnings too, not only for errors."""
    trailing_bars: Annotated[int, Field(ge=1, le=1_000_000)] = 168
    """Bars at the end that must be complete for every symbol."""


class ScalingConfig(ConfigSection):
    """How features are scaled; always fitted on the training part alone."""

    kind: Literal["standard", "minmax", "robust"] = "robust"
    """Mean and deviation, minimum and maximum, or median and quartiles."""
    pooling: Literal["pooled", "per_symbol"] = "pooled"
    """One scaler over all symbols, or one for each."""


_SPLIT_KEYS = ("train", "validation", "test", "by")


class SplitsConfig(ConfigSection):
    """How time is divided into training, validation and test."""

    by: Literal["ratio", "date"] = "ratio"
    """What the next three are: fractions of the bars, or last days."""
    train: float | date = 0.7
    """Fraction in (0, 1), or last day of training."""
    validation: float | date = 0.15
    """Fraction in (0, 1), or last day of validation."""
    test: float | date = 0.15
    """Fraction in (0, 1), or last day of the test."""
    train_from: date | None = None
    """First day of training where `by` is date; earlier bars are in no part. None: all of them."""
    purge_bars: Annotated[int, Field(ge=1, le=100_000)] = 7
    """Bars dropped before each boundary, so that no label reaches across."""
    embargo_bars: Annotated[int, Field(ge=0, le=100_000)] = 7
    """Bars dropped after each boundary."""

    @pydantic.model_validator(mode="after")
    def _check_parts(self) -> SplitsConfig:
        parts = (self.train, self.validation, self.test)
        if self.by == "date":
            days = [part for part in parts if isinstance(part, date)]
            if len(days) != 3 or not days[0] < days[1] < days[2]:
                raise KeyConflict(
                    "train, validation and test must be three rising dates where by is date, "
                    f"was {_listed(parts)}",
                    *_SPLIT_KEYS,
                )
            if self.train_from is not None and self.train_from >= days[0]:
                rule = f"train_from must be before train, was {self.train_from}"
                raise KeyConflict(rule, "train_from", "train")
            return self
        if self.train_from is not None:
            rule = f"train_from needs by: date, was {self.train_from} where by is ratio"
            raise KeyConflict(rule, "train_from", "by")
        fractions = [part for part in parts if isinstance(part, float) and 0.0 < part < 1.0]
        if len(fractions) != 3 or abs(sum(fractions) - 1.0) > 1e-9:
            raise KeyConflict(
                "train, validation and test must be fractions in (0, 1) that sum to 1 "
                f"(0.70 is 70 %) where by is ratio, was {_listed(parts)}",
                *_SPLIT_KEYS,
            )
        return self

    @pydantic.model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave an unused first day out, so that hashes of older configurations stay."""
        content: dict[str, Any] = write(self)
        if self.train_from is None:
            content.pop("train_from", None)
        return content


class ProofConfig(ConfigSection):
    """How hard the causality prover tries."""

    common_rounds: Annotated[int, Field(ge=1, le=10_000)] = 13
    """Cut points at which every symbol's future is changed at once; natural edges come on top."""
    staggered_rounds: Annotated[int, Field(ge=1, le=10_000)] = 12
    """Rounds in which each symbol's future is changed at a cut point of its own."""
    seed: Seed = 11
    """Root of the stream that draws cut points."""


class CostsConfig(ConfigSection):
    """What trading costs, one way, as fractions of traded notional (0.0001 is 1 bp)."""

    commission_frac: CostFrac = 0.00002
    """Commission; a fraction, not a percentage."""
    slippage_frac: CostFrac = 0.0001
    """Fill price against decision price; a fraction, not a percentage."""


class PipelineConfig(ConfigSection):
    """Everything the pipeline needs to know.

    Example:
        >>> PipelineConfig().market.universe
        'us143'
    """

    workspace: Name | None = None
    """Folder for results, `~` allowed; --workspace and TRADINGBOT_WORKSPACE go before it."""
    market: MarketConfig = MarketConfig()
    """The market to generate."""
    quality: QualityConfig = QualityConfig()
    """How bars are judged."""
    features: FeatureSet = "default"
    """Features per bar: the 23 of `default`, or with nine of a symbol's own (`relative`)."""
    scaling: ScalingConfig = ScalingConfig()
    """How it is scaled."""
    splits: SplitsConfig = SplitsConfig()
    """How time is divided."""
    proof: ProofConfig = ProofConfig()
    """How causality is proved."""
    costs: CostsConfig = CostsConfig()
    """What trading costs."""

    @pydantic.model_validator(mode="after")
    def _check_split_days(self) -> PipelineConfig:
        first, last = self.splits.train, self.splits.test
        if not (isinstance(first, date) and isinstance(last, date)):
            return self
        if first < self.market.start or last > self.market.end:
            raise KeyConflict(
                "splits must lie between market.start and market.end "
                f"({self.market.start} … {self.market.end}), was {first} … {last}",
                *("splits.train", "splits.test", "market.start", "market.end"),
            )
        return self

    @property
    def config_hash(self) -> str:
        """SHA-256 of everything that can move a result; where files lie cannot."""
        content = self.model_dump(mode="json", exclude={"workspace"})
        if self.features == "default":  # as hashes of older configurations were taken
            del content["features"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def as_mapping(self) -> dict[str, Any]:
        """The configuration as plain values; written as YAML it reads back the same."""
        content = self.model_dump()
        content["market"]["grid"] = str(self.market.grid)
        return content

    def workspace_path(self) -> Path | None:
        """The workspace with `~` expanded; relative to the working directory."""
        return None if self.workspace is None else Path(self.workspace).expanduser()


def _listed(parts: tuple[object, ...]) -> str:
    return ", ".join(str(part) for part in parts)
