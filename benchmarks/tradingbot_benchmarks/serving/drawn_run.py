"""Finished runs of weights that were drawn and never trained: only what they cost is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.day_range import DayRange
from tradingbot.features.panel import formula_hashes, panel_specs
from tradingbot.features.scaler_files import ScalerRecord
from tradingbot.features.scaling import ScalerOptions, fit_scaler
from tradingbot.features.spec import FeatureSpec
from tradingbot.market.goals import GOAL_INPUTS
from tradingbot.market.params import ActionRules, ActionSpace
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.encoders.catalogue import build_encoder
from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.risk.limits import RiskLimits
from tradingbot.runs import (
    CheckpointContent,
    DataIdentity,
    RunDirectory,
    RunPlan,
    acting,
    save_checkpoint,
)

AT = datetime(2026, 1, 5, 12, 30, tzinfo=UTC)
PERIODS = {
    "train": DayRange("2024-01-02", "2024-06-28", 868),
    "validation": DayRange("2024-07-01", "2024-08-30", 300),
    "test": DayRange("2024-09-03", "2024-12-31", 580),
}
_CHANCES = ("probability_down-v1", "probability_flat-v1", "probability_up-v1")


@dataclass(frozen=True)
class DrawnModel:
    """What a drawn run is made of."""

    symbols: tuple[str, ...]
    encoder: EncoderConfig | None = None
    """None sees rows as they are."""
    head: HeadConfig = field(default_factory=HeadConfig)
    squash: Squash | None = field(default_factory=lambda: Squash("tanh", low=-1.0))
    """None chooses codes."""
    n_outputs: int = 2
    trades: torch.Tensor | None = None
    n_features: int | None = None
    """How many technical features, and one regime; None: the default set of both."""
    seed: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    """Of the run."""
    more: dict[str, Any] = field(default_factory=dict)
    """Fields of the record of acting."""


def draw_run(root: Path, name: str, model: DrawnModel) -> RunDirectory:
    """Write a finished run with one checkpoint, `selected`."""
    specs = feature_specs(model.n_features)
    ids = (*(spec.id for spec in specs), *_CHANCES)
    generator = torch.Generator().manual_seed(model.seed)
    weights: dict[str, torch.Tensor] = {} if model.trades is None else {"trades": model.trades}
    width, encoder = len(ids), None
    if model.encoder is not None:
        built = build_encoder(model.encoder, len(ids), generator)
        stir(built, generator)
        weights |= {f"encoder.{each}": value for each, value in built.state_dict().items()}
        width = built.width
        encoder = acting.EncoderRecord(
            preset="drawn",
            config=asdict(model.encoder),
            n_features=len(ids),
            learned=False,
            prefix="encoder.",
        )
    private = tuple(feature.name for feature in PRIVATE_FEATURES)
    private += GOAL_INPUTS if model.more.get("goal") else ()
    actor = StackedHead(
        len(model.symbols), width + len(private), model.n_outputs, model.head, generator
    )
    stir(actor, generator)
    weights |= {f"actor.{each}": value for each, value in actor.state_dict().items()}
    described = _describe(model, specs, ids, private).model_copy(
        update={"encoder": encoder, **model.more}
    )
    data = DataIdentity(
        label="drawn, synthetic",
        synthetic=True,
        data_sha256="d" * 64,
        feature_ids=ids,
        agents=model.symbols,
    )
    plan = RunPlan("drawn", model.config, data, code_sha256="c" * 64, seed=7, periods=PERIODS)
    run = RunDirectory.create(root, plan, created_at=AT, name=name)
    with run.hold():
        save_checkpoint(run, "selected", 4, CheckpointContent(agent=weights, acting=described))
        run.write_status("finished", at=AT, update=4, steps=100)
    return run


def draw_bars(
    n_bars: int, n_symbols: int, n_features: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """Return raw numbers (T, N, C) as they could be of features."""
    generator = np.random.default_rng(seed)
    return generator.normal(0.3, 2.0, size=(n_bars, n_symbols, n_features)).astype(np.float32)


def feature_specs(n_features: int | None) -> list[FeatureSpec]:
    """Return technical features, then regimes, as the columns of a run stand."""
    known = panel_specs(())
    technical = [spec for spec in known if spec.family == "technical"]
    regimes = [spec for spec in known if spec.family == "regime"]
    if n_features is None:
        return technical + regimes
    return technical[:n_features] + regimes[:1]


def _describe(
    model: DrawnModel, specs: Sequence[FeatureSpec], ids: Sequence[str], private: tuple[str, ...]
) -> acting.ActingRecord:
    space: ActionSpace = "discrete" if model.squash is None else "continuous"
    return acting.ActingRecord(
        actor=acting.ActorRecord(
            prefix="actor.",
            head=asdict(model.head),
            n_outputs=model.n_outputs,
            squash=None if model.squash is None else asdict(model.squash),
            private=private,
        ),
        action=acting.ActionRecord(
            rules=asdict(ActionRules(space=space)), limits=asdict(RiskLimits())
        ),
        encoder=None,
        features=tuple(
            acting.FeatureRecord(id=each, sha256=digest)
            for each, digest in zip(ids, formula_hashes(ids), strict=True)
        ),
        scalers=_fit_scalers(model, [spec.name for spec in specs if spec.family == "technical"]),
        feature_bound=10.0,
        probability_model="none",
        threads=1,
    )


def _fit_scalers(model: DrawnModel, names: list[str]) -> tuple[ScalerRecord, ...]:
    """Return one scaler for all symbols, and one per symbol of the last columns."""
    n_shared = 2 * len(names) // 3
    bars = draw_bars(50, len(model.symbols), len(names), seed=model.seed + 1).swapaxes(0, 1)
    valid, scalers = np.ones(bars.shape[:2], bool), []
    for columns, is_shared in ((slice(0, n_shared), True), (slice(n_shared, None), False)):
        scaler = fit_scaler(
            "standard",
            bars[..., columns],
            valid,
            slice(0, 40),
            feature_names=names[columns],
            symbols=model.symbols,
            options=ScalerOptions(pooling="pooled" if is_shared else "per_symbol"),
        )
        scalers.append(ScalerRecord.of(scaler))
    return tuple(scalers)


def stir(module: torch.nn.Module, generator: torch.Generator) -> None:
    """Give every parameter some noise: biases and gains begin as zeros and ones."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
